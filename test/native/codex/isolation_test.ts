/** Sessions beside each other, secrets, and a provider that says nothing. */
import { assert, assertEquals } from "@std/assert";
import {
  answers,
  callAnswer,
  textAnswer,
} from "../../../src/loopback/responses_provider.ts";
import { findBelow } from "../../support/responses_inspection.ts";
import { codexProcesses } from "../../support/responses_processes.ts";
import {
  CodexRig,
  TEST_LIMITS,
  unbounded,
} from "../../support/responses_rig.ts";

Deno.test("two Sessions with different keys see nothing of each other", async () => {
  const look =
    "env; for f in /proc/[0-9]*/environ /proc/[0-9]*/cmdline; do tr '\\0' '\\n' < $f; done 2>/dev/null; true";
  await using rig = await CodexRig.start({
    bound: true,
    environment: {
      PATH: Deno.env.get("PATH") ?? "",
      OPENAI_API_KEY: "sk-canary-daemon",
      AGENT_DAEMON_TOKEN: "canary-token",
    },
    script: (request) =>
      request.text.includes("function_call_output")
        ? textAnswer("m1", "done")
        : callAnswer("call-1", "exec_command", { cmd: look }),
  });
  const session = (name: string) =>
    rig.local({
      agentStateKey: `agents-api-${name}`,
      modelProvider: {
        protocol: "responses",
        base_url: rig.provider.baseUrl,
        api_key: `sk-canary-${name}`,
      },
    });
  const [one, two] = await Promise.all([
    rig.prepare(session("one")),
    rig.prepare(session("two")),
  ]);
  assertEquals((await codexProcesses(rig.stateDirectory)).length, 2);
  const sinks = await Promise.all([
    rig.run(one, "I am one", "run-1"),
    rig.run(two, "I am two", "run-2"),
  ]);
  const keys = ["sk-canary-one", "sk-canary-two", "sk-canary-daemon"];
  for (const sink of sinks) {
    const shown = JSON.stringify(sink.events);
    for (const key of [...keys, "canary-token"]) assert(!shown.includes(key));
  }
  for (const request of rig.provider.requests) {
    const owner = request.text.includes("I am one") ? "one" : "two";
    assertEquals(request.headers.authorization, `Bearer sk-canary-${owner}`);
    for (const key of keys) assert(!request.text.includes(key));
  }
  const logged = JSON.stringify(rig.log.events);
  for (const key of keys) {
    assert(!logged.includes(key));
    assertEquals(await findBelow(rig.root, key), []);
  }
});

Deno.test("a provider that never answers is interrupted after a bound", async () => {
  await using rig = await CodexRig.start({
    limits: { ...TEST_LIMITS, silentProvider: 400 },
    script: answers({ type: "hang" }, textAnswer("m1", "fine")),
  });
  const executor = await rig.prepare();
  const { turn, sink } = await rig.start(executor, "go", "run-1");
  assertEquals(await turn.awaitSettlement(unbounded), { reusable: true });
  const [error] = sink.all("error");
  assert(error?.payload.error.includes("silent"));
  assertEquals(error?.payload.code, undefined);
  assertEquals(sink.all("done").length, 1);
  assertEquals((await rig.run(executor, "again", "run-2")).text, "fine");
});

Deno.test("a closed Executor leaves no process, whatever its tools started", async () => {
  await using rig = await CodexRig.start({
    bound: true,
    script: answers(
      callAnswer("call-1", "exec_command", {
        cmd: "setsid sleep 304 & sleep 304",
        yield_time_ms: 300,
      }),
      textAnswer("m1", "done"),
    ),
  });
  const executor = await rig.prepare(rig.local());
  const sink = await rig.run(executor, "go");
  const last = sink.all("tool_call").at(-1)?.payload.observation;
  assertEquals(last?.status, "incomplete");
  assert((await sleepers()) >= 1);
  await rig.close(executor);
  assertEquals(await codexProcesses(rig.stateDirectory), []);
  assertEquals(await sleepers(), 0);
});

async function sleepers(): Promise<number> {
  let count = 0;
  for await (const entry of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(entry.name)) continue;
    const command = await Deno.readTextFile(`/proc/${entry.name}/cmdline`)
      .catch(() => "");
    if (command.startsWith("sleep\x00304")) count++;
  }
  return count;
}
