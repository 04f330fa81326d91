/** What the adapter relies on, against the schema that the installed program generates. */
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { codexAdapter } from "../../../adapters/codex/adapter.ts";
import {
  compareNativeSchema,
  type GeneratedSchemas,
} from "../../../adapters/codex/native_contract.ts";
import { spawnChild } from "../../../src/harness/supervised_child.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemIds } from "../../../src/platform/ids.ts";
import { silentLog } from "../../../src/platform/log.ts";
import { ensureNativePrograms } from "../../support/native_programs.ts";

async function generated(): Promise<GeneratedSchemas> {
  const { codex } = await ensureNativePrograms();
  const scratch = fromFileUrl(
    new URL("../../../.harness/tmp", import.meta.url),
  );
  await Deno.mkdir(scratch, { recursive: true });
  const directory = await Deno.makeTempDir({ dir: scratch });
  try {
    const output = await new Deno.Command(codex, {
      args: [
        "app-server",
        "generate-json-schema",
        "--out",
        directory,
        "--experimental",
      ],
      env: { CODEX_HOME: directory },
    }).output();
    assert(output.success);
    const read = async (name: string) =>
      JSON.parse(await Deno.readTextFile(join(directory, `${name}.json`)));
    return {
      clientRequest: await read("ClientRequest"),
      serverNotification: await read("ServerNotification"),
      serverRequest: await read("ServerRequest"),
    };
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("the installed program offers everything the adapter relies on", async () => {
  assertEquals(compareNativeSchema(await generated()), []);
});

Deno.test("each kind of drift is named, and additions are none", async () => {
  const schemas = JSON.stringify(await generated());
  const changed = (edit: (text: string) => string) =>
    compareNativeSchema(JSON.parse(edit(schemas)));
  assertEquals(
    changed((text) => text.replaceAll('"turn/steer"', '"turn/nudge"')),
    [{ method: "turn/steer", kind: "missing" }],
  );
  const renamed = changed((text) =>
    text.replaceAll('"expectedTurnId"', '"expectedTurn"')
  );
  assertEquals(renamed, [
    { method: "turn/steer", member: "expectedTurnId", kind: "missing" },
    { method: "turn/steer", member: "expectedTurn", kind: "newly_required" },
  ]);
  const optional = changed((text) =>
    text.replace(
      /"required":\["delta","itemId","threadId","turnId"\]/,
      '"required":["itemId","threadId","turnId"]',
    )
  );
  assert(optional.every(({ kind }) => kind === "optional"));
  assert(optional.length > 0);
  assertEquals(
    changed((text) =>
      text.replaceAll('"turnId":{', '"surprise":{"type":"string"},"turnId":{')
    ),
    [],
  );
});

Deno.test("doctor's closer look finds no drift in the installed program", async () => {
  const { codex } = await ensureNativePrograms();
  const state = await Deno.makeTempDir();
  try {
    const found = await codexAdapter.discover({
      program: codex,
      environment: { PATH: "/usr/bin:/bin" },
      stateDirectory: state,
      bound: false,
      permissions: "unattended",
      operatingSystem: Deno.build.os === "darwin" ? "darwin" : "linux",
      clock: systemClock,
      ids: systemIds,
      log: silentLog,
      spawn: spawnChild,
    });
    assert(found?.inspect);
    const [schema] = await found.inspect();
    assertEquals([schema?.subject, schema?.result], ["schema", "ok"]);
  } finally {
    await Deno.remove(state, { recursive: true });
  }
});
