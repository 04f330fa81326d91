/** The spine on the real program: prepare, start, stream, end, reuse, cancel, close. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  answers,
  textAnswer,
} from "../../../src/loopback/responses_provider.ts";
import { deferred } from "../../../src/platform/deferred.ts";
import { killCodex } from "../../support/responses_processes.ts";
import { CodexRig, textInput, unbounded } from "../../support/responses_rig.ts";

Deno.test("a preparation writes no input and asks no provider", async () => {
  await using rig = await CodexRig.start();
  const executor = await rig.prepare();
  await rig.close(executor);
  assertEquals(rig.provider.requests.length, 0);
  assertEquals(rig.provider.strays.length, 0);
});

Deno.test("deltas arrive before the message is whole, in order", async () => {
  const gate = deferred();
  await using rig = await CodexRig.start({
    script: answers(textAnswer("m1", "one ", "two ", gate.promise, "three")),
  });
  const executor = await rig.prepare();
  const { turn, sink } = await rig.start(executor, "count");
  await sink.next("delta", ({ payload }) => payload.delta === "two ");
  assertEquals(sink.all("done"), []);
  gate.resolve();
  assertEquals(await turn.awaitSettlement(unbounded), { reusable: true });
  assertEquals(sink.text, "one two three");
  const [done] = sink.all("done");
  assertEquals(done?.payload.content, "one two three");
  assertEquals(sink.events.at(-1)?.type, "done");
  assertEquals(sink.closes, 1);
  assertEquals(done?.payload.metadata?.agent_session_type, "codex_thread");
});

Deno.test("two Turns share one process and one history", async () => {
  await using rig = await CodexRig.start({
    script: answers(textAnswer("m1", "first"), textAnswer("m2", "second")),
  });
  const executor = await rig.prepare();
  const one = await rig.run(executor, "alpha", "run-1");
  const two = await rig.run(executor, "beta", "run-2");
  const id = one.all("done")[0]?.payload.metadata?.agent_session_id;
  assert(typeof id === "string" && id !== "");
  assertEquals(two.all("done")[0]?.payload.metadata?.agent_session_id, id);
  const history = JSON.stringify(rig.provider.requests[1]?.body?.input);
  assert(history.includes("alpha") && history.includes("first"));
  assertEquals(two.text, "second");
});

Deno.test("a cancelled Turn settles from the native terminal and the next one runs", async () => {
  const never = deferred();
  await using rig = await CodexRig.start({
    script: answers(
      textAnswer("m1", "part", never.promise),
      textAnswer("m2", "again"),
    ),
  });
  const executor = await rig.prepare();
  const first = await rig.start(executor, "go", "run-1");
  await first.sink.next("delta");
  await Promise.all([
    first.turn.cancel(unbounded),
    first.turn.cancel(unbounded),
  ]);
  assertEquals(await first.turn.awaitSettlement(unbounded), { reusable: true });
  assertEquals(first.sink.all("error"), []);
  assertEquals(first.turn.cancellationOutcome().content, "part");
  const second = await rig.run(executor, "more", "run-2");
  assertEquals(second.text, "again");
  await first.turn.cancel(unbounded);
  never.resolve();
});

Deno.test("a start beside a running Turn is refused and leaves it untouched", async () => {
  const gate = deferred();
  await using rig = await CodexRig.start({
    script: answers(textAnswer("m1", gate.promise, "whole")),
  });
  const executor = await rig.prepare();
  const first = await rig.start(executor, "go", "run-1");
  await rig.provider.request(0);
  const refused = await executor.startTurn({
    runId: "run-2",
    input: textInput("second"),
    sink: first.sink,
    signal: unbounded,
  });
  assertEquals(refused.turn, undefined);
  gate.resolve();
  await first.turn.awaitSettlement(unbounded);
  assertEquals(first.sink.text, "whole");
  assertEquals(rig.provider.requests.length, 1);
});

Deno.test("close ends a running Turn and no later Turn starts", async () => {
  const never = deferred();
  await using rig = await CodexRig.start({
    script: answers(textAnswer("m1", "part", never.promise)),
  });
  const executor = await rig.prepare();
  const { turn, sink } = await rig.start(executor, "go");
  await sink.next("delta");
  await rig.close(executor);
  await executor.close(unbounded);
  assertEquals(sink.closes, 1);
  assertEquals(sink.all("done").length, 1);
  assertEquals(await turn.awaitSettlement(unbounded), { reusable: true });
  const refused = await executor.startTurn({
    runId: "late",
    input: textInput("late"),
    sink,
    signal: unbounded,
  });
  assert(refused.error && !refused.turn);
  never.resolve();
});

Deno.test("a process that dies in a Turn gives an error, one done and no settlement", async () => {
  const never = deferred();
  await using rig = await CodexRig.start({
    script: answers(textAnswer("m1", "part", never.promise)),
  });
  const executor = await rig.prepare();
  const { turn, sink } = await rig.start(executor, "go");
  await sink.next("delta");
  await killCodex(rig.stateDirectory);
  await sink.closed;
  assertEquals(sink.all("error").length, 1);
  assertEquals(sink.all("done").length, 1);
  assertEquals(sink.events.at(-1)?.type, "done");
  await assertRejects(() => turn.awaitSettlement(unbounded));
  assertEquals(await executor.retired, "native_execution_unavailable");
  never.resolve();
});
