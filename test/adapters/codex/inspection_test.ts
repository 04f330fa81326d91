/** The closer look at a program: drift of its protocol is named, a login is seen but not read. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { codexAdapter } from "../../../adapters/codex/mod.ts";
import {
  ASKED,
  NOTIFIED,
  SENT,
} from "../../../adapters/codex/native_contract.ts";
import type { Finding } from "../../../src/harness/finding.ts";
import { spawnChild } from "../../../src/harness/supervised_child.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemIds } from "../../../src/platform/ids.ts";
import { RecordingLog } from "../../support/recording_log.ts";
import { withDirectory } from "../../support/responses_fake_codex.ts";

type Methods = Readonly<
  Record<string, Readonly<Record<string, string | readonly string[]>>>
>;

/** A schema file that holds exactly these methods. */
function schemaOf(methods: Methods): string {
  return JSON.stringify({
    oneOf: Object.entries(methods).map(([method, fields]) => ({
      properties: {
        method: { enum: [method] },
        params: {
          properties: Object.fromEntries(
            Object.entries(fields).map(([name, type]) => [
              name.replace(/\?$/, ""),
              type === "any" ? {} : { type },
            ]),
          ),
          required: Object.keys(fields).filter((name) => !name.endsWith("?")),
        },
      },
    })),
  });
}

/** Inspects a program that generates these schemas and does `first` before it. */
async function inspect(
  directory: string,
  schemas: Readonly<Record<string, string>>,
  first = "",
): Promise<readonly Finding[]> {
  const state = join(directory, "state");
  const home = join(directory, "home");
  await Deno.mkdir(join(home, ".codex"), { recursive: true });
  await Deno.mkdir(state);
  for (const [name, text] of Object.entries(schemas)) {
    await Deno.writeTextFile(join(directory, `${name}.json`), text);
  }
  const program = join(directory, "codex");
  await Deno.writeTextFile(
    program,
    `#!/bin/sh
if [ "$1" = --version ]; then echo codex-cli 0.172.0; exit; fi
[ "$1 $2 $3 $5" = 'app-server generate-json-schema --out --experimental' ] || exit 9
[ "$CODEX_HOME" = "$4" ] && [ "$HOME" = "$4" ] || exit 8
${first}
cp '${directory}'/*.json "$4"
`,
    { mode: 0o755 },
  );
  const found = await codexAdapter.discover({
    program,
    environment: { PATH: "/usr/bin:/bin", HOME: home },
    stateDirectory: state,
    bound: false,
    permissions: "unattended",
    operatingSystem: "linux",
    clock: systemClock,
    ids: systemIds,
    log: new RecordingLog(),
    spawn: spawnChild,
  });
  assert(found?.inspect, found?.reason);
  const findings = await found.inspect();
  assertEquals([...Deno.readDirSync(state)], []);
  return findings;
}

const GOOD = {
  ClientRequest: schemaOf(SENT),
  ServerNotification: schemaOf(NOTIFIED),
  ServerRequest: schemaOf(ASKED),
};

Deno.test("a protocol that holds what was tested is in order, whatever it adds", () =>
  withDirectory(async (directory) => {
    const [schema] = await inspect(directory, {
      ...GOOD,
      ServerNotification: schemaOf({ ...NOTIFIED, "new/thing": { a: "null" } }),
    });
    assertEquals(schema, {
      subject: "schema",
      result: "ok",
      found: "the protocol of 0.172.0 holds all that was tested with 0.171.0",
    });
  }));

Deno.test("drift is named with both versions, three differences at most", () =>
  withDirectory(async (directory) => {
    const { "turn/steer": _gone, ...sent } = SENT;
    const [schema] = await inspect(directory, {
      ...GOOD,
      ClientRequest: schemaOf(sent),
      ServerNotification: schemaOf({
        ...NOTIFIED,
        "turn/started": { threadId: "integer", "turn?": "object" },
        "turn/completed": { threadId: "string" },
      }),
    });
    assertEquals(schema, {
      subject: "schema",
      result: "warn",
      found:
        "the protocol of 0.172.0 differs from the tested 0.171.0: turn/steer missing, " +
        "turn/started.threadId type, turn/started.turn optional and 1 more",
      remedy: "install 0.171.0, or a newer agent-daemon",
    });
  }));

for (
  const [name, schemas, first] of [
    ["fails", GOOD, "trap 'exit 1' EXIT"],
    ["writes no JSON", { ...GOOD, ServerRequest: "{" }, ""],
    ["writes nothing", {}, "exit 0"],
  ] as const
) {
  Deno.test(`a program that ${name} when asked for its schema is a warning`, () =>
    withDirectory(async (directory) => {
      const [schema] = await inspect(directory, schemas, first);
      assertEquals(schema?.result, "warn");
      assert(schema?.found.includes("drift cannot be seen"));
      assert(schema?.remedy);
    }));
}

Deno.test("a login is seen by its file, which may be unreadable", () =>
  withDirectory(async (directory) => {
    const [, absent] = await inspect(directory, GOOD);
    assertEquals([absent?.subject, absent?.result], ["login", "skip"]);
  }).then(() =>
    withDirectory(async (directory) => {
      await Deno.mkdir(join(directory, "home/.codex"), { recursive: true });
      // A directory in its place is none, a file without any right is one.
      const login = join(directory, "home/.codex/auth.json");
      await Deno.writeTextFile(login, "canary-login", { mode: 0o000 });
      const [, present] = await inspect(directory, GOOD);
      assertEquals([present?.subject, present?.result], ["login", "ok"]);
      assert(!JSON.stringify(present).includes("canary"));
    })
  ));
