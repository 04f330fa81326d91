import { assert, assertEquals, assertRejects } from "@std/assert";
import { SteeringRefused } from "../../../src/harness/contract.ts";
import { WriteNotStarted } from "../../../src/harness/child.ts";
import { CollectingSink } from "../../support/collecting_sink.ts";
import { settleEvents } from "../../support/virtual_clock.ts";
import {
  aborted,
  FakeClaude,
  idle,
  lifecycle,
  messageStart,
  never,
  result,
  SESSION,
} from "./fake_claude.ts";

const INPUT = [{ content: [{ type: "input_text", text: "go" }] }] as const;

function startOf(claude: FakeClaude, sink = new CollectingSink()) {
  return claude.executor.startTurn({
    runId: "run",
    input: INPUT,
    sink,
    signal: never,
  });
}

Deno.test("a result alone does not end a Turn: the program must be idle after it", async () => {
  const claude = new FakeClaude();
  const { turn, sink, uuid } = await claude.begin();
  claude.child.say(idle(), result([uuid]), lifecycle(uuid, "completed"));
  await settleEvents();
  assertEquals(sink.closes, 0);
  claude.child.say(idle());
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  assertEquals(sink.all("done").length, 1);
});

Deno.test("a program that reports no session states loses the Turn at its first result", async () => {
  const claude = new FakeClaude();
  const sink = new CollectingSink();
  const { turn } = await startOf(claude, sink);
  assert(turn);
  claude.child.say(claude.init(), result([claude.lastUuid]));
  await assertRejects(() => turn.awaitSettlement(never), Error, "states");
});

Deno.test("open child work keeps a Turn open", async () => {
  const claude = new FakeClaude();
  const { turn, sink, uuid } = await claude.begin();
  const task = { type: "system", task_id: "t" };
  claude.child.say(
    { ...task, subtype: "task_started" },
    result([uuid]),
    idle(),
  );
  await settleEvents();
  assertEquals(sink.closes, 0);
  claude.child.say({ ...task, subtype: "task_notification" });
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
});

Deno.test("a second start is refused without touching the running Turn", async () => {
  const claude = new FakeClaude();
  const { turn, sink, uuid } = await claude.begin();
  const second = await startOf(claude);
  assertEquals(second.turn, undefined);
  assert(second.error);
  claude.child.say(result([uuid]), idle());
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  assertEquals(sink.all("error"), []);
});

Deno.test("a cancelled start takes neither sink nor input", async () => {
  const claude = new FakeClaude();
  const sink = new CollectingSink();
  const started = await claude.executor.startTurn({
    runId: "run",
    input: INPUT,
    sink,
    signal: AbortSignal.abort(),
  });
  assertEquals(started.turn, undefined);
  assertEquals(sink.closes, 0);
  assertEquals(claude.child.written, []);
});

Deno.test("a start that wrote nothing gives no Turn, one that may have written gives both", async () => {
  const nothing = new FakeClaude();
  nothing.child.failWrites = new WriteNotStarted("closed");
  const sink = new CollectingSink();
  const refused = await startOf(nothing, sink);
  assertEquals(refused.turn, undefined);
  assertEquals(sink.closes, 0);

  const partly = new FakeClaude();
  partly.child.failWrites = new Error("cut");
  const lostSink = new CollectingSink();
  const lost = await startOf(partly, lostSink);
  assert(lost.turn && lost.error);
  await assertRejects(() => lost.turn.awaitSettlement(never));
  assertEquals(lostSink.events.map(({ type }) => type), ["error", "done"]);
  assertEquals((await startOf(partly)).turn, undefined);
});

Deno.test("the end of the program during a Turn is never a settlement", async () => {
  const claude = new FakeClaude();
  const { turn, sink } = await claude.begin();
  claude.child.end();
  await assertRejects(() => turn.awaitSettlement(never));
  assertEquals(sink.all("done").length, 1);
  assertEquals(sink.events.at(-1)?.type, "done");
  assertEquals(await claude.executor.retired, "executor_invalidated");
});

Deno.test("silence after the input invents no end, and a cancel still works", async () => {
  const claude = new FakeClaude();
  const { turn, sink, uuid } = await claude.begin();
  await claude.clock.advance(24 * 3_600_000);
  assertEquals(sink.closes, 0);
  const cancelled = turn.cancel(never);
  await claude.answer("interrupt", { still_queued: [], cancelled: [] });
  claude.child.say(aborted([uuid]), lifecycle(uuid, "cancelled"), idle());
  await cancelled;
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
});

Deno.test("an interrupt is sent once and its reply alone confirms nothing", async () => {
  const claude = new FakeClaude();
  const { turn, sink } = await claude.begin();
  await settleEvents();
  const first = turn.cancel(never);
  const second = turn.cancel(never);
  await claude.answer("interrupt", { still_queued: [] });
  await settleEvents();
  assertEquals(sink.closes, 0);
  const failed = assertRejects(() => first);
  const failedToo = assertRejects(() => second);
  await claude.clock.advance(10_000);
  await failed;
  await failedToo;
  await assertRejects(() => turn.awaitSettlement(never), Error, "unconfirmed");
  const interrupts = claude.child.written.filter(({ request }) =>
    request?.subtype === "interrupt"
  );
  assertEquals(interrupts.length, 1);
  assertEquals(interrupts[0]?.request?.["cancel_queued"], true);
  assertEquals(claude.clock.pendingTimers, 0);
});

Deno.test("a lost interrupt reply leaves the cancel unconfirmed and close still works", async () => {
  const claude = new FakeClaude();
  const { turn } = await claude.begin();
  const cancelled = assertRejects(() => turn.cancel(never));
  await claude.clock.advance(10_000);
  await cancelled;
  await claude.executor.close(never);
  assertEquals(claude.released, 1);
  await assertRejects(() => turn.awaitSettlement(never));
});

Deno.test("queued uuids of the interrupt reply are no failure when they end too", async () => {
  const claude = new FakeClaude();
  const { turn, uuid } = await claude.begin();
  const cancelled = turn.cancel(never);
  await claude.answer("interrupt", { still_queued: [uuid] });
  claude.child.say(lifecycle(uuid, "cancelled"), idle());
  await cancelled;
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
});

Deno.test("a turn that ended before the interrupt is reported as completed", async () => {
  const claude = new FakeClaude();
  const { turn, sink, uuid } = await claude.begin();
  const cancelled = turn.cancel(never);
  claude.child.say(result([uuid], { result: "whole" }), idle());
  await claude.answer("interrupt", { still_queued: [] });
  await cancelled;
  assertEquals(sink.all("error"), []);
  assertEquals(sink.all("done")[0]?.payload.content, "whole");
  assertEquals(turn.cancellationOutcome(), sink.all("done")[0]?.payload);
});

Deno.test("a stale cancel returns at once and touches nothing", async () => {
  const claude = new FakeClaude();
  const one = await claude.begin();
  claude.child.say(result([one.uuid]), idle());
  await one.turn.awaitSettlement(never);
  const two = await claude.begin();
  await one.turn.cancel(never);
  assertEquals(
    claude.child.written.some(({ request }) =>
      request?.subtype === "interrupt"
    ),
    false,
  );
  claude.child.say(result([two.uuid]), idle());
  assertEquals(await two.turn.awaitSettlement(never), { reusable: true });
});

for (
  const [name, frame] of [
    ["another session", (c: FakeClaude) => c.init({ session_id: "other" })],
    ["an additional tool", (c: FakeClaude) => c.init({ tools: ["Bash"] })],
    [
      "an undeclared MCP server",
      (c: FakeClaude) =>
        c.init({ mcp_servers: [{ name: "x", status: "connected" }] }),
    ],
    ["a missing feature", (c: FakeClaude) => c.init({ capabilities: [] })],
    ["a result of nobody", () => result(["foreign"])],
    ["a result without origin", () => result([])],
    ["a malformed result", () => ({ type: "result" })],
    [
      "a fragment outside any message",
      () => ({
        type: "stream_event",
        event: {
          type: "content_block_delta",
          index: 0,
          delta: { type: "text_delta", text: "x" },
        },
      }),
    ],
  ] as const
) {
  Deno.test(`${name} loses the Turn and retires the Executor`, async () => {
    const claude = new FakeClaude();
    const { turn, sink } = await claude.begin();
    claude.child.say(frame(claude));
    await assertRejects(() => turn.awaitSettlement(never));
    assertEquals(sink.events.slice(-2).map(({ type }) => type), [
      "error",
      "done",
    ]);
    assertEquals(await claude.executor.retired, "executor_invalidated");
    assertEquals((await startOf(claude)).turn, undefined);
  });
}

for (
  const [name, frame] of [
    ["model output", () => messageStart("msg_1")],
    ["a result", () => result(["nobody"])],
    [
      "a tool result",
      () => ({ type: "user", message: { role: "user", content: [] } }),
    ],
  ] as const
) {
  Deno.test(`${name} without a Turn retires the Executor`, async () => {
    const claude = new FakeClaude();
    claude.child.say(frame());
    assertEquals(await claude.executor.retired, "executor_invalidated");
  });
}

Deno.test("telemetry, echoes and unknown frames without a Turn are tolerated", async () => {
  const claude = new FakeClaude();
  claude.child.say(
    claude.init(),
    lifecycle("x", "completed"),
    idle(),
    {
      type: "control_response",
      response: { subtype: "success", request_id: "y" },
    },
    { type: "something_new", session_id: SESSION },
    { type: "system", subtype: "something_new" },
    { type: "user", isReplay: true, message: { content: "echo" } },
    "no object",
  );
  await settleEvents();
  const { turn, uuid } = await claude.begin();
  claude.child.say(result([uuid]), idle());
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
});

Deno.test("an unknown control request is refused and the Turn goes on", async () => {
  const claude = new FakeClaude();
  const { turn, uuid } = await claude.begin();
  claude.child.say({
    type: "control_request",
    request_id: "r",
    request: { subtype: "something_new" },
  });
  const answer = await claude.child.line(({ type }) =>
    type === "control_response"
  );
  assertEquals(answer.response?.["subtype"], "error");
  claude.child.say(result([uuid]), idle());
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
});

Deno.test("a failed close keeps the scratch and can be repeated", async () => {
  const claude = new FakeClaude();
  claude.child.closeFailure = new Error("pid 4711 lives");
  await assertRejects(() => claude.executor.close(never), Error, "4711");
  assertEquals(claude.released, 0);
  claude.child.closeFailure = undefined;
  await claude.executor.close(never);
  await claude.executor.close(never);
  assertEquals(claude.released, 1);
});

Deno.test("active input that was not written is refused, a cut one is unknown", async () => {
  const claude = new FakeClaude();
  const { turn, uuid } = await claude.begin();
  await settleEvents();
  const steer = (inputId: string) =>
    turn.steerWithReceipt({ inputId, input: INPUT }, () => {}, never);
  claude.child.failWrites = new WriteNotStarted("closed");
  const refused = await assertRejects(() => steer("a"), SteeringRefused);
  assertEquals(refused.refusal, "inactive");
  claude.child.failWrites = undefined;
  claude.child.say(result([uuid]), idle());
  assertEquals(await turn.awaitSettlement(never), { reusable: true });

  const cut = new FakeClaude();
  const running = await cut.begin();
  await settleEvents();
  cut.child.failWrites = new Error("cut");
  const unknown = await assertRejects(
    () =>
      running.turn.steerWithReceipt(
        { inputId: "a", input: INPUT },
        () => {},
        never,
      ),
    Error,
  );
  assert(!(unknown instanceof SteeringRefused));
  await assertRejects(() => running.turn.awaitSettlement(never));
});

Deno.test("a Turn with active input in its write does not end under it", async () => {
  const claude = new FakeClaude();
  const { turn, sink, uuid } = await claude.begin();
  await settleEvents();
  const gate = Promise.withResolvers<void>();
  claude.child.hold = gate.promise;
  const steering = turn.steerWithReceipt(
    { inputId: "a", input: INPUT },
    () => {},
    never,
  );
  claude.child.say(result([uuid]), idle());
  await settleEvents();
  assertEquals(sink.closes, 0);
  gate.resolve();
  const own = claude.lastUuid;
  claude.child.say(
    lifecycle(own, "queued"),
    lifecycle(own, "started"),
    messageStart("msg_2"),
    result([own], { result: "second" }),
    idle(),
  );
  await steering;
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  assertEquals(sink.all("done")[0]?.payload.content, "second");
});
