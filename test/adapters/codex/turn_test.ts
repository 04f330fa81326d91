/** The life of one Turn where the engine does not answer as it should. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { BrokenStream } from "../../../src/harness/json_lines.ts";
import { settleEvents } from "../../support/virtual_clock.ts";
import { fakeCodex, never, terminal, THREAD, TURN } from "./fake_app_server.ts";

const STARTED = { turn: { id: TURN, status: "inProgress" } };
const ANSWER = {
  item: { type: "agentMessage", id: "m1", text: "whole" },
} as const;

const BEGINNINGS: Readonly<Record<string, readonly string[]>> = {
  "the reply before turn/started": ["reply", "started"],
  "turn/started before the reply": ["started", "reply"],
  "a reply without an id": ["started", "bare reply"],
  "a reply without an id before turn/started": ["bare reply", "started"],
  "output before the reply": ["started", "output", "reply"],
};
for (const [name, steps] of Object.entries(BEGINNINGS)) {
  Deno.test(`a Turn that begins with ${name} has the same output`, async () => {
    await using codex = await fakeCodex();
    const { child } = codex;
    const { sink, started } = await codex.starting();
    for (const step of steps) {
      if (step === "reply") {
        await child.reply("turn/start", { turn: { id: TURN } });
      } else if (step === "bare reply") await child.reply("turn/start", {});
      else if (step === "started") child.notify("turn/started", STARTED);
      else child.notify("item/completed", ANSWER);
    }
    const { turn, error } = await started;
    assertEquals(error, undefined);
    if (!steps.includes("output")) child.notify("item/completed", ANSWER);
    child.notify("turn/completed", terminal("completed"));
    assertEquals(await turn?.awaitSettlement(never), { reusable: true });
    assertEquals(sink.events.map(({ type }) => type), [
      "output_message",
      "output_message",
      "done",
    ]);
    assertEquals(sink.all("done")[0]?.payload.content, "whole");
  });
}

Deno.test("two cancels write one interrupt and settle by the terminal, its reply lost or not", async () => {
  for (const answered of [true, false]) {
    await using codex = await fakeCodex();
    const { child, executor } = codex;
    const { turn, sink } = await codex.begin();
    child.notify("item/agentMessage/delta", { itemId: "m1", delta: "x" });
    const cancels = [turn.cancel(never), turn.cancel(never)];
    await child.request("turn/interrupt");
    if (answered) await child.reply("turn/interrupt", {});
    child.notify("turn/completed", terminal("interrupted"));
    await child.reply("thread/backgroundTerminals/list", { data: [] });
    await Promise.all(cancels);
    assertEquals(await turn.awaitSettlement(never), { reusable: true });
    assertEquals(sink.all("error"), []);
    assertEquals(
      child.methods.filter((method) => method === "turn/interrupt").length,
      1,
    );
    await turn.cancel(never); // late: nothing more is written
    assertEquals(child.methods.at(-1), "thread/backgroundTerminals/list");
    await executor.close(never);
    assert(child.closes > 0);
    assertEquals(codex.clock.pendingTimers, 0);
  }
});

Deno.test("an interrupt without a terminal is unconfirmed after ten seconds and ends the Executor", async () => {
  await using codex = await fakeCodex();
  const { child, clock, executor } = codex;
  const { turn, sink } = await codex.begin();
  const cancel = assertRejects(() => turn.cancel(never), Error);
  await child.reply("turn/interrupt", {});
  await settleEvents();
  await clock.advance(9_999);
  assertEquals(child.closes, 0);
  await clock.advance(1);
  await cancel;
  await assertRejects(() => turn.awaitSettlement(never), Error);
  assert(child.closes > 0);
  assertEquals(await executor.retired, "executor_invalidated");
  assertEquals(sink.closes, 1);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("a Turn id that nobody started never becomes the current one", async () => {
  await using codex = await fakeCodex();
  const { child, executor } = codex;
  const { turn, sink } = await codex.begin();
  child.notify("turn/started", { turn: { id: "phantom", status: "x" } });
  child.notify("item/completed", { ...ANSWER, turnId: "phantom" });
  assertEquals(await executor.retired, "executor_invalidated");
  await assertRejects(() => turn.awaitSettlement(never), Error);
  assertEquals(sink.all("output_message"), []);
  assertEquals(sink.all("done")[0]?.payload.content, "");
});

Deno.test("an output that breaks ends the Run with error and done, and the process", async () => {
  await using codex = await fakeCodex();
  const { child, executor } = codex;
  const { turn, sink } = await codex.begin();
  child.breakOutput(new BrokenStream("A line is longer than its limit"));
  await sink.closed;
  assertEquals(sink.events.map(({ type }) => type), ["error", "done"]);
  await assertRejects(() => turn.awaitSettlement(never), Error);
  assert(child.closes > 0);
  assertEquals(await executor.retired, "native_execution_unavailable");
  const again = await executor.startTurn({
    runId: "again",
    input: [{ content: [{ type: "input_text", text: "go" }] }],
    sink,
    signal: never,
  });
  assertEquals(again.turn, undefined);
});

Deno.test("silence after the start invents no end, and a cancel still works", async () => {
  await using codex = await fakeCodex();
  const { child, clock } = codex;
  const { turn, sink } = await codex.begin();
  await clock.advance(599_000);
  assertEquals([sink.events.length, child.methods.length], [0, 1]);
  const cancel = turn.cancel(never);
  await child.reply("turn/interrupt", {});
  child.notify("turn/completed", terminal("interrupted"));
  await child.reply("thread/backgroundTerminals/list", { data: [] });
  await cancel;
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("a start that is refused for good submitted nothing; any other failure may have", async () => {
  for (
    const [code, uncertain] of [[-32600, false], [-32602, false], [
      -32603,
      true,
    ], [0, true]] as const
  ) {
    await using codex = await fakeCodex();
    const { child, clock } = codex;
    const { started } = await codex.starting();
    const { id } = await child.request("turn/start");
    child.say({ id, error: { code, message: "no" } });
    const { turn, error } = await started;
    assert(error);
    assertEquals(turn !== undefined, uncertain, String(code));
    if (turn) await assertRejects(() => turn.awaitSettlement(never), Error);
    assertEquals(clock.pendingTimers, 0);
  }
});

Deno.test("what a later version adds is tolerated, what it leaves out is classified", async () => {
  await using codex = await fakeCodex();
  const { child, executor } = codex;
  const { turn, sink } = await codex.begin();
  child.notify("turn/somethingNew", { detail: 1 });
  child.notify("item/completed", { item: { type: "brandNew", id: "n" } });
  child.notify("item/completed", { item: { type: "agentMessage" } });
  child.notify("item/agentMessage/delta", { itemId: "m1" });
  child.say({ method: "account/odd" }, { neither: true }, {
    id: 99,
    result: 1,
  });
  child.notify("item/completed", { ...ANSWER, added: { by: "a later one" } });
  child.notify("turn/completed", terminal("aNewStatus", { added: 1 }));
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  assertEquals(sink.all("done")[0]?.payload.content, "whole");

  const second = await executor.startTurn({
    runId: "second",
    input: [{ content: [{ type: "input_text", text: "go" }] }],
    sink: sink,
    signal: AbortSignal.abort(),
  });
  assertEquals(second.turn, undefined);
  child.notify("turn/completed", { turn: { status: "completed" } });
  assertEquals(await executor.retired, "executor_invalidated");
});

Deno.test("requests that nobody serves are refused at once, and the Turn goes on", async () => {
  await using codex = await fakeCodex();
  const { child } = codex;
  child.say({ id: 70, method: "item/tool/call", params: { threadId: THREAD } });
  assertEquals((await child.line(({ id }) => id === 70)).error?.code, -32600);
  const { turn, sink } = await codex.begin();
  const asked = { threadId: THREAD, turnId: TURN };
  child.say({ id: 71, method: "brand/new", params: asked });
  assertEquals((await child.line(({ id }) => id === 71)).error?.code, -32601);
  child.say({ id: 72, method: "brand/new", params: "odd" });
  assertEquals((await child.line(({ id }) => id === 72)).error?.code, -32600);
  const call = { callId: "c1", tool: "unknown", arguments: {} };
  child.say({
    id: 73,
    method: "item/tool/call",
    params: { ...asked, ...call },
  });
  const answer = await child.line(({ id }) => id === 73);
  assert(answer.error ?? answer.result);
  child.notify("turn/completed", terminal("completed"));
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  assertEquals(sink.all("function_call"), []);
});

Deno.test("a broken stdin fails the Run's operations only, and nothing goes unhandled", async () => {
  const weather = { name: "weather", description: "", parameters: {} };
  await using codex = await fakeCodex({ functionTools: [weather] });
  const { child } = codex;
  const { turn, sink } = await codex.begin();
  const call = { callId: "c1", tool: "weather", arguments: {} };
  child.say({
    id: 80,
    method: "item/tool/call",
    params: { threadId: THREAD, turnId: TURN, ...call },
  });
  await sink.next("function_call");
  child.failWrites = new Deno.errors.BrokenPipe("EPIPE");
  const input = [{
    content: [{ type: "input_text" as const, text: "more" }],
  }];
  await assertRejects(() =>
    turn.steerWithReceipt({ inputId: "i", input }, () => {}, never)
  );
  await assertRejects(() =>
    turn.submitFunctionResult({
      delivery_id: "d",
      call_id: "c1",
      success: true,
      content: [],
    }, never)
  );
  await assertRejects(() => turn.cancel(never));
  await assertRejects(() => turn.awaitSettlement(never));
  assertEquals(sink.closes, 1);
});
