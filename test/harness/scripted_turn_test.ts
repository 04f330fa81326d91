/** What every Harness must do around its Turns, shown by the scripted one over a real child. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  type Executor,
  PreparationFailed,
  SteeringRefused,
  type Turn,
  type TurnEvent,
  UnknownInteraction,
  UnsupportedOperation,
} from "../../src/harness/contract.ts";
import type { FunctionResult } from "../../src/protocol/functions.ts";
import { RecordingSink } from "../support/recording_sink.ts";
import { settleEvents, VirtualClock } from "../support/virtual_clock.ts";
import {
  graceFor,
  lives,
  never,
  withHarness,
  words,
} from "./harness_fixture.ts";

const WEATHER = {
  functionTools: [{
    name: "weather",
    description: "",
    parameters: { type: "object" },
  }],
};

const isDelta = (event: TurnEvent) => event.type === "delta";

async function settled(turn: Turn, sink: RecordingSink): Promise<void> {
  assertEquals(await turn.awaitSettlement(never()), { reusable: true });
  sink.assertSound();
}

function result(text: string): FunctionResult {
  return {
    delivery_id: "delivery",
    call_id: "call-1",
    success: true,
    content: [{ type: "input_text", text }],
  };
}

function steer(turn: Turn, text: string, written = () => {}): Promise<void> {
  return turn.steerWithReceipt(
    { inputId: `input-${text}`, input: words(text) },
    written,
    never(),
  );
}

/** A Turn over a lost process ends its output and proves nothing. */
async function assertLost(
  executor: Executor,
  turn: Turn,
  sink: RecordingSink,
): Promise<void> {
  await assertRejects(() => turn.awaitSettlement(never()), Error);
  sink.assertSound();
  assertEquals(sink.ofType("error").length, 1);
  assertEquals(await executor.retired, "native_execution_unavailable");
  const again = await executor.startTurn({
    runId: "again",
    input: words("say x"),
    sink: new RecordingSink(),
    signal: never(),
  });
  assert(again.turn === undefined);
}

Deno.test("A Turn streams, reports and ends; the next one starts fresh in the same process", () =>
  withHarness(async ({ prepare, start, children }) => {
    const executor = await prepare();
    const one = await start(executor, "say hello there");
    await settled(one.turn, one.sink);
    assertEquals(one.sink.text, "hello there");
    assertEquals(one.sink.ofType("delta").length, 2);
    assertEquals(one.sink.ofType("output_message"), []);
    const two = await start(executor, "think deeply");
    await settled(two.turn, two.sink);
    assertEquals(two.sink.ofType("thinking")[0]?.payload.text, "deeply");
    assertEquals(two.sink.ofType("done")[0]?.payload.content, "");
    assertEquals(two.sink.ofType("done")[0]?.payload.usage, undefined);
    await one.turn.cancel(never());
    assertEquals(children.length, 1);
  }));

Deno.test("Observed messages have one item, and the completed text is what was streamed", () =>
  withHarness(async ({ prepare, start }) => {
    const executor = await prepare([], { observeMessages: true });
    const { turn, sink } = await start(executor, "say hello there");
    await settled(turn, sink);
    const messages = sink.ofType("output_message").map(({ payload }) =>
      payload
    );
    const id = "turn-1-message";
    assertEquals(messages, [
      { id, status: "in_progress" },
      { id, status: "completed", text: "hello there" },
    ]);
    const items = sink.ofType("delta").map(({ payload }) => payload.item_id);
    assertEquals(items, [id, id]);
    const held = await start(executor, "hold");
    await held.sink.first(isDelta);
    await held.turn.cancel(never());
    await settled(held.turn, held.sink);
    assertEquals(held.sink.ofType("output_message").length, 1);
  }));

Deno.test("A tool is observed before and after under its native id", () =>
  withHarness(async ({ prepare, start }) => {
    const { turn, sink } = await start(await prepare(), "tool");
    await settled(turn, sink);
    const calls = sink.ofType("tool_call").map(({ payload }) => payload);
    assertEquals(calls.map(({ id, stage }) => [id, stage]), [
      ["tool-1", "before"],
      ["tool-1", "after"],
    ]);
  }));

Deno.test("An overlapping start gives no Turn and touches neither the running one nor the sink", () =>
  withHarness(async ({ prepare, start }) => {
    const executor = await prepare();
    const { turn, sink } = await start(executor, "hold");
    const second = new RecordingSink();
    const overlap = { runId: "b", input: words("say x"), sink: second };
    const started = await executor.startTurn({ ...overlap, signal: never() });
    assert(started.turn === undefined);
    assertEquals([second.isClosed, second.events.length], [false, 0]);
    await sink.first(isDelta);
    await turn.cancel(never());
    await settled(turn, sink);
    const cancelled = await executor.startTurn({
      ...overlap,
      signal: AbortSignal.abort(),
    });
    assert(cancelled.turn === undefined);
    assertEquals([second.isClosed, second.events.length], [false, 0]);
  }));

Deno.test("A cancel meets exactly its Turn, however often and late it comes", () =>
  withHarness(async ({ prepare, start }) => {
    const executor = await prepare();
    const one = await start(executor, "hold");
    await one.sink.first(isDelta);
    await Promise.all([one.turn.cancel(never()), one.turn.cancel(never())]);
    await settled(one.turn, one.sink);
    const two = await start(executor, "hold");
    await two.sink.first(isDelta);
    await one.turn.cancel(never());
    await steer(two.turn, "finish");
    await settled(two.turn, two.sink);
    assertEquals(one.turn.cancellationOutcome().content, "holding");
  }));

Deno.test("A failed Turn ends with one error and done, and the Executor stays usable", () =>
  withHarness(async ({ prepare, start }) => {
    const executor = await prepare();
    const one = await start(executor, "fail");
    await settled(one.turn, one.sink);
    assertEquals(one.sink.events.map(({ type }) => type), ["error", "done"]);
    const two = await start(executor, "say x");
    await settled(two.turn, two.sink);
  }));

Deno.test("Silence without a result invents no done, and a cancel still works", () =>
  withHarness(async ({ prepare, start }) => {
    const executor = await prepare();
    const { turn, sink } = await start(executor, "silence");
    const deadline = AbortSignal.abort(new Error("looked once"));
    await assertRejects(() => turn.awaitSettlement(deadline), Error, "once");
    assertEquals(sink.events, []);
    await turn.cancel(never());
    await settled(turn, sink);
  }));

Deno.test("A process that hangs after its result settles its Turn, and its close is bounded", () =>
  withHarness(async ({ prepare, start, children }) => {
    const executor = await prepare();
    const { turn, sink } = await start(executor, "hang");
    await settled(turn, sink);
    await executor.close(never());
    assertEquals((await children[0]?.exited)?.signal, "SIGTERM");
  }));

Deno.test("A process that ends in its Turn leaves the outcome unproven and the Executor retired", () =>
  withHarness(async ({ prepare, start }) => {
    const executor = await prepare();
    const { turn, sink } = await start(executor, "exit");
    await assertLost(executor, turn, sink);
    await executor.close(never());
    await assertRejects(() => turn.awaitSettlement(never()), Error);
  }));

Deno.test("A stream that breaks ends the Run with error and done, and the process with it", () =>
  withHarness(async ({ prepare, start, children }) => {
    const executor = await prepare();
    const { turn, sink } = await start(executor, "malformed");
    await assertLost(executor, turn, sink);
    assertEquals((await children[0]?.exited)?.signal, "SIGKILL");
  }));

Deno.test("A line of 24 MB arrives whole", () =>
  withHarness(async ({ prepare, start }) => {
    const { turn, sink } = await start(await prepare(), "long 25165824");
    await settled(turn, sink);
    assertEquals(sink.text.length, 25_165_824);
  }));

Deno.test("A message broken by raw line feeds is whole again, noise between messages is skipped", () =>
  withHarness(async ({ prepare, start }) => {
    const executor = await prepare(["banner"]);
    const split = await start(executor, "split one|two|three");
    await settled(split.turn, split.sink);
    assertEquals(split.sink.text, "one\ntwo\nthree");
    const noise = await start(executor, "noise 60");
    await settled(noise.turn, noise.sink);
    const loud = await start(executor, "noise 70");
    await assertLost(executor, loud.turn, loud.sink);
  }));

for (const mode of ["flood_stderr", "talk_first"]) {
  Deno.test(`A process in mode ${mode} gets ready all the same`, () =>
    withHarness(async ({ prepare, start, children }) => {
      const { turn, sink } = await start(await prepare([mode]), "say ready");
      await settled(turn, sink);
      assert(!children[0]?.stderrTail().includes("canary"));
    }));
}

for (
  const [mode, signal, code] of [
    ["deaf_to_term", null, 0],
    ["ignore_eof", "SIGTERM", null],
    ["only_kill", "SIGKILL", null],
    ["spin_after_eof", "SIGTERM", null],
  ] as const
) {
  Deno.test(`A process in mode ${mode} is ended by ${signal ?? "the end of its input"}`, () =>
    withHarness(
      async ({ prepare, children }) => {
        const executor = await prepare([mode]);
        await executor.close(never());
        assertEquals(await children[0]?.exited, { code, signal });
      },
      {},
      graceFor(signal),
    ));
}

for (const detached of ["", " detached"]) {
  Deno.test(`A tool process${detached} ends with its Executor, not with its Turn`, () =>
    withHarness(async ({ prepare, start }) => {
      const executor = await prepare();
      const { turn, sink } = await start(executor, `spawn${detached}`);
      await settled(turn, sink);
      const pid = Number(sink.text);
      assert(await lives(pid));
      await executor.close(never());
      assert(!await lives(pid));
    }));
}

Deno.test("A launcher that dies takes its Run, and its close waits for what it left", () =>
  withHarness(async ({ prepare, start, children }) => {
    const executor = await prepare();
    const spawned = await start(executor, "spawn");
    await settled(spawned.turn, spawned.sink);
    const held = await start(executor, "hold");
    await held.sink.first(isDelta);
    const [child] = children;
    assert(child);
    Deno.kill(child.pid, "SIGKILL");
    await assertLost(executor, held.turn, held.sink);
    await executor.close(never());
    assert(!await lives(Number(spawned.sink.text)));
  }));

Deno.test("Active input is consumed, refused or unknown, and never written twice", () =>
  withHarness(async ({ prepare, start }) => {
    const executor = await prepare();
    const { turn, sink } = await start(executor, "hold");
    await sink.first(isDelta);
    let written = 0;
    const note = () => written += 1;
    await steer(turn, "more", note);
    assertEquals(written, 1);
    const refused = await assertRejects(
      () => steer(turn, "refuse", note),
      SteeringRefused,
    );
    assertEquals([refused.refusal, written], ["rejected", 2]);
    const third = Promise.withResolvers<void>();
    const ignored = steer(turn, "ignore", () => {
      note();
      third.resolve();
    });
    await third.promise;
    const second = await assertRejects(
      () => steer(turn, "second", note),
      SteeringRefused,
    );
    assertEquals([second.refusal, written], ["rejected", 3]);
    await turn.cancel(never());
    const unknown = await assertRejects(() => ignored, Error);
    assert(!(unknown instanceof SteeringRefused));
    await settled(turn, sink);
    const late = await assertRejects(
      () => steer(turn, "late", note),
      SteeringRefused,
    );
    assertEquals([late.refusal, written], ["inactive", 3]);
  }));

Deno.test("A process that ends between a write and its receipt leaves the input unknown", () =>
  withHarness(async ({ prepare, start }) => {
    const executor = await prepare();
    const { turn, sink } = await start(executor, "hold");
    await sink.first(isDelta);
    let written = 0;
    const error = await assertRejects(
      () => steer(turn, "exit", () => written += 1),
      Error,
    );
    assert(!(error instanceof SteeringRefused));
    assertEquals(written, 1);
    await assertLost(executor, turn, sink);
  }));

Deno.test({
  name:
    "A process that closed its stdin fails its own Run only, and nothing goes unhandled",
  ignore: Deno.build.os === "windows",
  fn: () =>
    withHarness(async ({ prepare, start }) => {
      const closed = await prepare(["close_stdin"]);
      const healthy = await prepare();
      const { turn, sink } = await start(closed, "anything");
      await sink.first(isDelta);
      await assertRejects(() => steer(turn, "more"), Error);
      await assertRejects(
        () => turn.submitFunctionResult(result("x"), never()),
        UnknownInteraction,
      );
      await assertRejects(() => turn.cancel(never()), Error);
      await assertRejects(() => turn.awaitSettlement(never()), Error);
      await closed.close(never());
      const other = await start(healthy, "say fine");
      await settled(other.turn, other.sink);
    }),
});

Deno.test("A function result is applied once, as it was at the submission", () =>
  withHarness(async ({ prepare, start }) => {
    const executor = await prepare([], WEATHER);
    const { turn, sink } = await start(executor, "call weather");
    await sink.first(({ type }) => type === "function_call");
    assertEquals(sink.ofType("function_call")[0]?.payload, {
      call_id: "call-1",
      name: "weather",
      arguments: { city: "Köln" },
    });
    const content = [{ type: "input_text" as const, text: "sunny" }];
    const submitted = turn.submitFunctionResult(
      { ...result(""), content },
      never(),
    );
    content[0] = { type: "input_text", text: "mutated" };
    await assertRejects(
      () => turn.submitFunctionResult(result("twice"), never()),
      UnknownInteraction,
    );
    await submitted;
    await settled(turn, sink);
    assert(sink.text.includes("sunny") && !sink.text.includes("mutated"));
    await assertRejects(
      () => turn.submitFunctionResult(result("late"), never()),
      UnknownInteraction,
    );
  }));

Deno.test("A receipt is known although the sink takes nothing", () =>
  withHarness(async ({ prepare }) => {
    const executor = await prepare([], WEATHER);
    const called = Promise.withResolvers<void>();
    const blocked = Promise.withResolvers<void>();
    let closed = false;
    const { turn } = await executor.startTurn({
      runId: "run",
      input: words("call weather"),
      sink: {
        send: () => {
          called.resolve();
          return blocked.promise;
        },
        close: () => void (closed = true),
      },
      signal: never(),
    });
    assert(turn);
    await called.promise;
    await turn.submitFunctionResult(result("sunny"), never());
    assert(!closed);
    blocked.resolve();
    assertEquals(await turn.awaitSettlement(never()), { reusable: true });
    assert(closed);
  }));

Deno.test("An undeclared function is refused natively and the Turn goes on", () =>
  withHarness(async ({ prepare, start }) => {
    const { turn, sink } = await start(
      await prepare([], WEATHER),
      "call other",
    );
    await settled(turn, sink);
    assertEquals(sink.ofType("function_call"), []);
    assertEquals(sink.text, "refused");
  }));

Deno.test("A result whose process ends before the receipt is never called applied", () =>
  withHarness(async ({ prepare, start }) => {
    const executor = await prepare(["exit_at_result"], WEATHER);
    const { turn, sink } = await start(executor, "call weather");
    await sink.first(({ type }) => type === "function_call");
    const error = await assertRejects(
      () => turn.submitFunctionResult(result("sunny"), never()),
      Error,
    );
    assert(!(error instanceof UnknownInteraction));
    await assertRejects(() => turn.awaitSettlement(never()), Error);
    sink.assertSound();
  }));

Deno.test("A result still unconfirmed when its Turn ends is no success and no second chance", () =>
  withHarness(async ({ prepare, start }) => {
    const executor = await prepare(["ignore_result"], WEATHER);
    const { turn, sink } = await start(executor, "call weather");
    await sink.first(({ type }) => type === "function_call");
    const submitted = turn.submitFunctionResult(result("sunny"), never());
    await turn.cancel(never());
    await assertRejects(() => submitted, Error, "before the receipt");
    assertEquals(await turn.awaitSettlement(never()), {
      reusable: false,
      reason: "unsettled_native_operations",
    });
  }));

Deno.test("Unanswered calls of a cancelled Turn are dropped, questions withdrawn", () =>
  withHarness(async ({ prepare, start }) => {
    const executor = await prepare([], WEATHER);
    const call = await start(executor, "call weather");
    await call.sink.first(({ type }) => type === "function_call");
    await call.turn.cancel(never());
    await settled(call.turn, call.sink);
    const ask = await start(executor, "permission");
    await ask.sink.first(({ type }) => type === "permission_request");
    await ask.turn.cancel(never());
    await settled(ask.turn, ask.sink);
    assertEquals(ask.sink.ofType("permission_cancel"), [
      { type: "permission_cancel", requestId: "permission-1" },
    ]);
  }, { permissions: "ask" }));

Deno.test("A permission and a choice resolve at the native receipt of the answer", () =>
  withHarness(async ({ prepare, start }) => {
    const executor = await prepare();
    const permission = await start(executor, "permission");
    await permission.sink.first(({ type }) => type === "permission_request");
    const decision = { delivery_id: "d", approved: true };
    await assertRejects(
      () => permission.turn.submitPermission("other", decision, never()),
      UnknownInteraction,
    );
    await permission.turn.submitPermission("permission-1", decision, never());
    await settled(permission.turn, permission.sink);
    assertEquals(permission.sink.text, "decision true");
    const choice = await start(executor, "choose");
    await choice.sink.first(({ type }) => type === "prompt_for_user_choice");
    const answers = [{ question_id: "colour", answers: ["red"] }];
    await choice.turn.submitUserChoice(
      "choice-1",
      { delivery_id: "d", question_answers: answers },
      never(),
    );
    await settled(choice.turn, choice.sink);
    assert(choice.sink.text.includes("red"));
  }, { permissions: "ask" }));

Deno.test("Unattended, nothing is asked and an answer is unsupported without any native effect", () =>
  withHarness(async ({ prepare, start, harness }) => {
    assertEquals(harness.declaration.permissions, "unsupported");
    const executor = await prepare();
    const { turn, sink } = await start(executor, "permission");
    await settled(turn, sink);
    assertEquals(sink.ofType("permission_request"), []);
    assertEquals(sink.text, "decision false");
    await assertRejects(
      () =>
        turn.submitPermission(
          "permission-1",
          { delivery_id: "d", approved: true },
          never(),
        ),
      UnsupportedOperation,
    );
  }));

Deno.test("A history is continued when asked for exactly, and never replaced by a new one", () =>
  withHarness(async ({ prepare, start }) => {
    const sessionOf = async (executor: Executor) => {
      const { turn, sink } = await start(executor, "say x");
      await settled(turn, sink);
      await executor.close(never());
      const { metadata } = turn.cancellationOutcome();
      return (metadata as { agent_session_id: string }).agent_session_id;
    };
    const recovery = { requireExistingNativeSession: true };
    await assertRejects(() => prepare([], recovery), Error, "preparation");
    const first = await sessionOf(await prepare());
    assertEquals(await sessionOf(await prepare([], recovery)), first);
    const exact = { agentSessionId: first };
    assertEquals(await sessionOf(await prepare([], exact)), first);
    const unknown = { agentSessionId: "unknown" };
    await assertRejects(() => prepare([], unknown), Error, "preparation");
    await assertRejects(
      () => prepare(["foreign_session"], exact),
      Error,
      "preparation",
    );
  }));

Deno.test("A failed preparation leaves nothing, or the Executor that must still be closed", () =>
  withHarness(async ({ prepare, children }) => {
    const clean = await assertRejects(() => prepare(["prepare_exits"]), Error);
    assert(!(clean instanceof PreparationFailed));
    assertEquals((await children[0]?.exited)?.code, 3);
    const harnessConfig = { modes: ["prepare_exits"], close_failures: 2 };
    const failed = await assertRejects(
      () => prepare([], { harnessConfig }),
      PreparationFailed,
    );
    const { retained } = failed;
    assert(retained);
    await assertRejects(() => retained.close(never()), Error);
    await retained.close(never());
  }));

Deno.test("A program that waits for the end of its input gets no Turn: its preparation fails after 10 s", async () => {
  const clock = new VirtualClock();
  await withHarness(
    async ({ prepare, children }) => {
      let over = false;
      const failure = assertRejects(() => prepare(["prepare_after_eof"]), Error)
        .finally(() => over = true);
      while (clock.pendingTimers === 0) await settleEvents();
      await clock.advance(9_999);
      assertEquals([over, clock.pendingTimers], [false, 1]);
      while (!over) await clock.advance(1);
      assertEquals(
        String((await failure).cause),
        "DeadlineExceeded: preparation did not finish within 10000 ms",
      );
      // Its input ended at the close; the answer that came then is nobody's.
      assertEquals(await children[0]?.exited, { code: 0, signal: null });
    },
    { clock },
    graceFor(null),
  );
});

Deno.test("An owner that goes away ends a preparation in progress", () =>
  withHarness(async ({ harness, configuration, children }) => {
    const owner = new AbortController();
    const preparing = harness.factory?.prepare(
      configuration({ harnessConfig: { modes: ["prepare_silent"] } }),
      owner.signal,
    );
    assert(preparing);
    owner.abort(new Error("owner gone"));
    await assertRejects(() => preparing, Error);
    for (const child of children) await child.exited;
  }));

Deno.test("Configurations and input that cannot be honoured are refused before anything starts", () =>
  withHarness(({ harness, configuration, children }) => {
    const { factory } = harness;
    assert(factory);
    for (
      const changes of [
        { harnessConfig: { unknown: 1 } },
        { harnessConfig: { modes: [1] } },
        { harnessConfig: { close_failures: "1" } },
        { toolSearch: true },
      ]
    ) assert(factory.checkConfiguration(configuration(changes)));
    assertEquals(factory.checkConfiguration(configuration()), undefined);
    const image = { type: "input_image" as const, image_url: "data:x" };
    assert(factory.checkInput(configuration(), [{ content: [image] }]));
    assertEquals(factory.checkInput(configuration(), words("x")), undefined);
    assertEquals(children, []);
    return Promise.resolve();
  }));

Deno.test("A cancel that no terminal follows stays unconfirmed, and its close still succeeds", () =>
  withHarness(async ({ prepare, start }) => {
    const executor = await prepare(["ignore_cancel", "only_kill"]);
    const { turn, sink } = await start(executor, "hold");
    await sink.first(isDelta);
    await turn.cancel(never());
    const short = AbortSignal.abort(new Error("short"));
    await assertRejects(() => executor.close(short), Error, "short");
    await assertRejects(() => turn.awaitSettlement(short), Error, "short");
    await executor.close(never());
    // A process that is gone frees the resource; it does not confirm the cancel.
    await assertRejects(() => turn.awaitSettlement(never()), Error);
    sink.assertSound();
  }));

Deno.test("A terminal that does not come within 10 s makes a cancel unconfirmed for good", async () => {
  const clock = new VirtualClock();
  await withHarness(async ({ prepare, start, children }) => {
    const executor = await prepare(["ignore_cancel"]);
    const { turn, sink } = await start(executor, "hold");
    await sink.first(isDelta);
    await turn.cancel(never());
    const settlement = assertRejects(
      () => turn.awaitSettlement(never()),
      Error,
      "unconfirmed",
    );
    await clock.advance(9_999);
    assertEquals(clock.pendingTimers, 1);
    await clock.advance(1);
    await settlement;
    assertEquals(await executor.retired, "cancellation_unconfirmed");
    const [child] = children;
    assert(child);
    child.kill();
    await child.exited;
    await sink.closed;
  }, { clock });
});
