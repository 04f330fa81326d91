/** The real Codex behind the whole daemon, in a workspace that Core initialised over the wire. */
import { assert, assertEquals } from "@std/assert";
import { codexAdapter } from "../../../adapters/codex/mod.ts";
import {
  answers,
  callAnswer,
  ResponsesProvider,
  textAnswer,
} from "../../../src/loopback/responses_provider.ts";
import { untar } from "../../workspace/untar.ts";
import { BoundRig, INSTALLED_VALUE, WORK } from "../../support/bound_rig.ts";
import { ensureNativePrograms } from "../../support/native_programs.ts";

Deno.test("an initialised workspace: the engine sees the Skill, the variable, the server and the files, and Core gets the outputs", async () => {
  const { codex } = await ensureNativePrograms();
  await using provider = ResponsesProvider.start(answers(
    callAnswer("call-1", "exec_command", {
      cmd: WORK,
      yield_time_ms: 30_000,
    }),
    callAnswer("call-2", "say", {}, "mcp__speaker"),
    textAnswer("m1", "done"),
  ));
  await using bound = await BoundRig.open(codexAdapter, codex);
  const sources = await bound.initialize();
  const given = new TextEncoder().encode("given by Core, ");
  assertEquals(await bound.client.write("given.txt", given), {
    kind: "completed",
  });
  const { outcome } = await bound.turn("go", {
    model: "gpt-5.5",
    model_provider: {
      protocol: "responses",
      base_url: provider.baseUrl,
      api_key: "sk-canary-provider",
    },
  }, sources);
  assertEquals(outcome.kind, "completed");
  const first = provider.requests[0]?.text ?? "";
  assert(first.includes("installed-skill"), "the Skill is not offered");
  assert(first.includes("Knows the canary"), "its description is not offered");
  const last = provider.requests.at(-1)?.text ?? "";
  assert(
    last.includes(`mcp-says-${INSTALLED_VALUE}`),
    "no answer of the server",
  );
  const archive = await bound.client.exportOutputs();
  assert(archive.kind === "data", archive.kind);
  const result = untar(archive.value).get("outputs/result.txt");
  assertEquals(
    new TextDecoder().decode(result),
    `given by Core, ${INSTALLED_VALUE}`,
  );
  assert(!bound.log.text.includes(INSTALLED_VALUE), "a value is in the log");
});
