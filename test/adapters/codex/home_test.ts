/** The private directories of a Session: modes, what is removed, whose login is used. */
import { assertEquals, assertNotEquals } from "@std/assert";
import { join } from "@std/path";
import {
  linkLogin,
  openSessionHome,
  recordedTools,
  recordTools,
  toolFingerprint,
  unlinkLogin,
} from "../../../adapters/codex/home.ts";
import { withDirectory } from "../../support/responses_fake_codex.ts";

Deno.test("every directory of a Session is the owner's alone, and no two Sessions share one", () =>
  withDirectory(async (directory) => {
    const one = await openSessionHome(directory, "agents-api-1");
    const two = await openSessionHome(directory, "agents-api-2");
    for (const path of [...Object.values(one), ...Object.values(two)]) {
      assertEquals(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o700);
    }
    const paths = new Set([...Object.values(one), ...Object.values(two)]);
    assertEquals(paths.size, 8);
  }));

Deno.test("a state directory behind a link is named by its real path", () =>
  withDirectory(async (directory) => {
    const real = await Deno.realPath(directory);
    const link = join(directory, "link");
    await Deno.symlink(real, link);
    const home = await openSessionHome(link, "key");
    assertEquals(home.codex, join(real, "codex", "key", "codex"));
  }));

Deno.test("an engine configuration in the home is removed, the history stays", () =>
  withDirectory(async (directory) => {
    const home = await openSessionHome(directory, "key");
    await Deno.writeTextFile(join(home.codex, "config.toml"), "x = 1");
    await Deno.mkdir(join(home.codex, "sessions"));
    await openSessionHome(directory, "key");
    const names = [...Deno.readDirSync(home.codex)].map(({ name }) => name);
    assertEquals(names, ["sessions"]);
  }));

Deno.test("a link in the place of the configuration is removed, not followed", () =>
  withDirectory(async (directory) => {
    const outside = join(directory, "outside");
    await Deno.writeTextFile(outside, "kept");
    const home = await openSessionHome(directory, "key");
    await Deno.symlink(outside, join(home.codex, "config.toml"));
    await openSessionHome(directory, "key");
    assertEquals(await Deno.readTextFile(outside), "kept");
  }));

Deno.test("the user's login is linked, never copied, and gone with a provider", () =>
  withDirectory(async (directory) => {
    const user = join(directory, "user");
    await Deno.mkdir(join(user, ".codex"), { recursive: true });
    const login = join(user, ".codex", "auth.json");
    await Deno.writeTextFile(login, "login");
    const home = await openSessionHome(directory, "key");
    const own = join(home.codex, "auth.json");
    await linkLogin(home, { HOME: user });
    await linkLogin(home, { HOME: user });
    assertEquals(await Deno.readLink(own), login);
    await unlinkLogin(home);
    assertEquals([...Deno.readDirSync(home.codex)], []);
    assertEquals(await Deno.readTextFile(login), "login");
    await linkLogin(home, { HOME: join(directory, "nobody") });
    await linkLogin(home, {});
    assertEquals([...Deno.readDirSync(home.codex)], []);
  }));

Deno.test("each part of a tool changes its fingerprint, and only a thread that ran has one", () =>
  withDirectory(async (directory) => {
    const tool = {
      name: "f",
      description: "d",
      parameters: { type: "object" },
    };
    const plain = toolFingerprint([tool]);
    assertEquals(toolFingerprint([{ ...tool }]), plain);
    for (
      const changed of [
        { name: "g" },
        { description: "e" },
        { parameters: { type: "object", required: [] } },
      ]
    ) assertNotEquals(toolFingerprint([{ ...tool, ...changed }]), plain);
    const home = await openSessionHome(directory, "key");
    assertEquals(await recordedTools(home, "thread"), undefined);
    await recordTools(home, "thread", plain);
    assertEquals(await recordedTools(home, "thread"), plain);
    assertEquals(await recordedTools(home, "../thread"), undefined);
  }));
