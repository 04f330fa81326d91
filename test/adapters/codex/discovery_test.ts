/** Discovery against programs that are missing, old, new or silent; each declaration is complete. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { codexAdapter } from "../../../adapters/codex/mod.ts";
import { nativeBinary } from "../../../adapters/codex/native_binary.ts";
import type { DiscoveredHarness } from "../../../src/harness/contract.ts";
import { spawnChild } from "../../../src/harness/supervised_child.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemIds } from "../../../src/platform/ids.ts";
import { validateDeclaration } from "../../../src/protocol/capabilities.ts";
import { RecordingLog } from "../../support/recording_log.ts";
import { withDirectory } from "../../support/responses_fake_codex.ts";

async function discover(
  directory: string,
  script: string | undefined,
): Promise<DiscoveredHarness> {
  const program = join(directory, "codex");
  if (script !== undefined) {
    await Deno.writeTextFile(program, `#!/bin/sh\n${script}\n`, {
      mode: 0o755,
    });
  }
  const found = await codexAdapter.discover({
    program,
    environment: { PATH: "/usr/bin:/bin" },
    stateDirectory: directory,
    bound: false,
    permissions: "unattended",
    operatingSystem: "linux",
    clock: systemClock,
    ids: systemIds,
    log: new RecordingLog(),
    spawn: spawnChild,
  });
  assert(found);
  assertEquals(found.kind, "codex");
  assertEquals(validateDeclaration(found.declaration).ok, true);
  assertEquals(found.available, found.factory !== undefined);
  return found;
}

const PROGRAMS: readonly [string, string | undefined, boolean][] = [
  ["missing", undefined, false],
  ["too old", "echo codex-cli 0.170.9", false],
  ["a pre-release of the minimum", "echo codex-cli 0.171.0-alpha.1", false],
  ["without a version", "echo hello", false],
  ["silent", "exit 1", false],
  ["the tested version", "echo codex-cli 0.171.0", true],
  ["newer than tested", "echo codex-cli 0.172.0", true],
];

for (const [name, script, available] of PROGRAMS) {
  const not = available ? "" : "not ";
  Deno.test(`a program that is ${name} is ${not}available`, () =>
    withDirectory(async (directory) => {
      const found = await discover(directory, script);
      assertEquals(found.available, available);
      if (!available) assert(found.reason);
    }));
}

Deno.test("an untested version keeps all but what depends on its insides", () =>
  withDirectory(async (directory) => {
    const tested = await discover(directory, "echo codex-cli 0.171.0");
    const newer = await discover(directory, "echo codex-cli 1.0.0");
    assert(newer.reason?.includes("0.171.0"));
    assertEquals([tested.version, newer.version], ["0.171.0", "1.0.0"]);
    const changed = Object.entries(tested.declaration).flatMap((
      [name, support],
    ) =>
      support ===
          newer.declaration[name as keyof typeof newer.declaration]
        ? []
        : [name]
    );
    assertEquals(changed.sort(), [
      "mcp_http_required",
      "native_session_recovery",
    ]);
  }));

Deno.test("the native program behind npm's script is found, linked or nested", () =>
  withDirectory(async (directory) => {
    const packageRoot = join(directory, "node_modules", "@openai", "codex");
    const script = join(packageRoot, "bin", "codex.js");
    await Deno.mkdir(join(packageRoot, "bin"), { recursive: true });
    await Deno.writeTextFile(script, "");
    const link = join(directory, "codex");
    await Deno.symlink(script, link);
    const look = () => nativeBinary(link, "linux", "x86_64");
    assertEquals(await look(), undefined);
    const inside = ["vendor", "x86_64-unknown-linux-musl", "bin"];
    for (
      const root of [
        join(directory, "node_modules", "@openai", "codex-linux-x64"),
        join(packageRoot, "node_modules", "@openai", "codex-linux-x64"),
      ]
    ) {
      const folder = join(root, ...inside);
      await Deno.mkdir(folder, { recursive: true });
      await Deno.writeTextFile(join(folder, "codex"), "");
      assertEquals(await look(), join(folder, "codex"));
    }
    assertEquals(await nativeBinary("/bin/sh", "linux", "x86_64"), undefined);
    assertEquals(await nativeBinary(link, "plan9", "x86_64"), undefined);
  }));
