/** Ids of different kinds name different things, and each id lives as long as its owner only. */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { deferred } from "../../src/platform/deferred.ts";
import { input, inWorld, prepare } from "./world.ts";

Deno.test("one string may be the id of everything at once without any crosstalk", () =>
  inWorld(async (world) => {
    const same = "same";
    await world.running(same, same, same);
    const { turn } = world.factory.executor;
    await turn.emit({
      type: "function_call",
      payload: { call_id: same, name: "f", arguments: {} },
    });
    await turn.emit({
      type: "permission_request",
      payload: { request_id: same, tool: "Bash", title: "Run" },
    });
    await world.advance(0);
    world.fresh();

    await world.send("prompt_steer", same, {
      input_id: same,
      input: input(),
      durable_receipt: true,
    });
    await world.send("function_result", same, {
      delivery_id: same,
      call_id: same,
      success: true,
      content: [],
    });
    assertEquals(world.words(), []);
    turn.steers[0]?.written();
    turn.steers[0]?.result.resolve();
    await world.advance(0);
    turn.submits[0]?.result.resolve();
    await world.advance(0);
    assertEquals(world.words(), ["written", "accepted", "applied"]);

    const decision = { delivery_id: same, approved: true };
    await world.send("permission_decision", same, decision);
    turn.submits[1]?.result.resolve();
    await world.advance(0);
    assertEquals(world.words(), ["applied"]);
    assertEquals(turn.submits.map(({ kind, id }) => [kind, id]), [
      ["function", same],
      ["permission", same],
    ]);

    turn.onCancel = "accept";
    await world.send("prompt_cancel", same, { delivery_id: same });
    turn.settle();
    await world.advance(0);
    assertEquals(world.words(), ["done", "applied"]);
    const { handle } = world.status(same);
    await world.send("execution_release", same, { handle });
    assertEquals(world.words(), ["started(4)"]);
  }));

Deno.test("one trace over two requests makes two operations", () =>
  inWorld(async (world) => {
    const trace = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`;
    for (const session of ["one", "two"]) {
      world.receive({
        type: "execution_prepare",
        id: session,
        payload: prepare(session),
        trace,
      });
    }
    await world.advance(0);
    assertEquals(world.factory.prepares, 2);
    assertNotEquals(world.status("one").handle, world.status("two").handle);
    for (const frame of world.frames) assertEquals(frame.trace, trace);
  }));

Deno.test("a request id whose record was dropped gets another handle and another deadline", () =>
  inWorld(async (world) => {
    await world.ready("session", "prepare 0");
    const first = world.status("prepare 0");
    await world.send("execution_release", "prepare 0", {
      handle: first.handle,
    });
    await world.advance(1_000);
    for (let index = 1; index <= 64; index++) {
      const requestId = `prepare ${index}`;
      await world.ready("session", requestId);
      const { handle } = world.status(requestId);
      await world.send("execution_release", requestId, { handle });
    }
    await world.ready("session", "prepare 0");
    const second = world.status("prepare 0");
    assertNotEquals(second.handle, first.handle);
    assertEquals(second.expires_at, first.expires_at + 1_000);
    const old = { ...world.startPayload("run", "prepare 0") };
    await world.send("execution_start", "prepare 0", {
      ...old,
      handle: first.handle,
    });
    assertEquals(
      world.frames.at(-1)?.payload.error_code,
      "unknown_preparation",
    );
    assertEquals(world.factory.executor.starts, 0);
  }));

Deno.test("a factory and a start that hang delay no other frame", () =>
  inWorld(async (world) => {
    const factory = deferred();
    world.factory.prepareGate = factory;
    await world.send("execution_prepare", "slow", prepare("slow"));
    world.factory.prepareGate = undefined;
    await world.running("run", "other", "other");
    const started = deferred();
    await world.ready("third", "third");
    world.factory.executor.startGate = started;
    await world.send(
      "execution_start",
      "third",
      world.startPayload("third run", "third"),
    );
    world.fresh();
    const [turn] = world.factory.executors[0]?.turns ?? [];
    assert(turn);
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    assertEquals(world.words(), ["done", "applied"]);
    assertEquals(turn.cancels, 1);
    factory.resolve();
    started.resolve();
    await world.advance(0);
    assertEquals(world.status("slow").state, "ready");
    assertEquals(world.status("third").state, "started");
  }));

Deno.test("answers find their questions by id: order, headers and omissions reach the engine as they are", () =>
  inWorld(async (world) => {
    await world.running();
    const { turn } = world.factory.executor;
    await turn.emit({
      type: "prompt_for_user_choice",
      payload: {
        ask_id: "ask",
        questions: ["a", "b", "c"].map((id) => ({
          id,
          header: "the same",
          question: "?",
          options: [],
        })),
      },
    });
    await world.advance(0);
    const question_answers = [
      { question_id: "c", answers: [] },
      { question_id: "a", answers: ["one,two", "three"] },
    ];
    await world.send("prompt_for_user_choice_decision", "ask", {
      delivery_id: "d",
      question_answers,
    });
    const [submitted] = turn.submits;
    assertEquals(
      (submitted?.content as { question_answers: unknown }).question_answers,
      question_answers,
    );
    submitted?.result.resolve();
  }));
