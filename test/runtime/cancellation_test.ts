import { assertEquals } from "@std/assert";
import { deferred } from "../../src/platform/deferred.ts";
import { frameOf } from "./fake_connection.ts";
import { input, inWorld, prepare } from "./world.ts";

Deno.test("a cancel of a Run nobody knows is run_inactive, and silent without a delivery id", () =>
  inWorld(async (world) => {
    await world.send("prompt_cancel", "absent", { delivery_id: "d" });
    await world.send("prompt_cancel", "absent");
    await world.send("prompt_cancel", "absent", { delivery_id: 7 });
    assertEquals(world.words(), ["ack run_inactive"]);
    assertEquals(world.frames[0]?.id, "absent");
    assertEquals(world.frames[0]?.payload.delivery_id, "d");
  }));

Deno.test("a malformed cancel is not answered and cancels nothing", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    for (const payload of [{ delivery_id: 7 }, [], "cancel", 1]) {
      await world.send("prompt_cancel", "run", payload);
    }
    assertEquals(world.words(), []);
    assertEquals(world.factory.executor.turn.cancels, 0);
  }));

Deno.test("two cancels share one native cancel and each delivery gets its receipt", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { turn } = world.factory.executor;
    turn.onCancel = "accept";
    await turn.delta("x");
    await turn.emit({ type: "usage", payload: { input_tokens: 1 } });
    await world.send("prompt_cancel", "run", { delivery_id: "one" });
    await world.send("prompt_cancel", "run", { delivery_id: "two" });
    await world.send("prompt_cancel", "run");
    turn.finish("");
    await world.advance(0);
    assertEquals(world.words(), [
      "delta 1",
      "usage",
      "done",
      "applied",
      "applied",
    ]);
    assertEquals(turn.cancels, 1);
    assertEquals(
      world.frames.slice(-2).map(({ payload }) => payload.delivery_id),
      ["one", "two"],
    );
  }));

Deno.test("a cancel keeps a healthy Executor", () =>
  inWorld(async (world) => {
    await world.running();
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    assertEquals(world.factory.executor.closes, 0);
    assertEquals(world.router.status().executors[0]?.state, "idle");
  }));

Deno.test("a cancel while starting is being sent skips the native start and has an empty outcome", () =>
  inWorld(async (world) => {
    await world.ready();
    world.fresh();
    world.connection.hold(frameOf("preparation_status", "starting"));
    await world.send("execution_start", "prepare", world.startPayload());
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    world.connection.release();
    await world.advance(0);
    assertEquals(world.factory.executor.starts, 0);
    assertEquals(world.words().sort(), [
      "applied",
      "failed(4) start_cancelled",
      "rejected(0) start_cancelled",
      "starting(3)",
    ]);
    const ack = world.frames.find(({ payload }) => payload.applied === true);
    assertEquals(ack?.payload.outcome, { content: "" });
  }));

Deno.test("a cancel during the native start reaches the late Turn, and started is never published", () =>
  inWorld(async (world) => {
    await world.ready();
    const { executor } = world.factory;
    executor.startGate = deferred();
    executor.onTurn = (turn) => (turn.onCancel = "settle");
    world.fresh();
    await world.send("execution_start", "prepare", world.startPayload());
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    assertEquals(executor.closes, 1); // what unblocks a hanging start
    executor.startGate.resolve();
    await world.advance(0);
    assertEquals(executor.starts, 1);
    assertEquals(executor.turn.cancels, 1);
    assertEquals(
      world.words().filter((word) => word.startsWith("started")),
      [],
    );
  }));

Deno.test("a start that hangs until the close ends with the close", () =>
  inWorld(async (world) => {
    await world.ready();
    const { executor } = world.factory;
    executor.startMode = "hang_until_close";
    world.fresh();
    await world.send("execution_start", "prepare", world.startPayload());
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    assertEquals(world.words().sort(), [
      "applied",
      "failed(4) executor_unavailable",
      "rejected(0) executor_unavailable",
      "starting(3)",
    ]);
  }));

Deno.test("a start that never returns is given up ten seconds after the confirmed close", () =>
  inWorld(async (world) => {
    await world.ready();
    const { executor } = world.factory;
    executor.startGate = deferred();
    executor.startMode = "no_turn";
    world.fresh();
    await world.send("execution_start", "prepare", world.startPayload());
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    await world.advance(9_000);
    await world.send("prompt_cancel", "run", { delivery_id: "e" });
    await world.advance(1_000);
    assertEquals(world.router.activeRuns, 0);
    assertEquals(world.words().sort(), [
      "ack cancel_failed",
      "ack cancel_timeout",
      "failed(4) start_cancelled",
      "rejected(0) start_cancelled",
      "starting(3)",
    ]);
  }));

Deno.test("a done before the start returns does not keep a cancel from the engine", () =>
  inWorld(async (world) => {
    await world.ready();
    const { executor } = world.factory;
    executor.startGate = deferred();
    executor.onTurn = (turn) =>
      void turn.emit({ type: "done", payload: { content: "" } });
    await world.send("execution_start", "prepare", world.startPayload());
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    executor.startGate.resolve();
    await world.advance(0);
    assertEquals(executor.turn.cancels, 1);
  }));

Deno.test("a cancel during natural settlement reaches the engine at once", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { turn } = world.factory.executor;
    await turn.emit({ type: "done", payload: { content: "answer" } });
    await world.advance(0);
    assertEquals(turn.cancels, 0);
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    assertEquals(turn.cancels, 1);
    assertEquals(world.words(), ["done", "applied"]);
  }));

Deno.test("no settlement within ten seconds is cancel_timeout, once, and the work goes on", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { executor } = world.factory;
    executor.turn.onCancel = "accept";
    executor.closeGate = deferred();
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    await world.advance(9_999);
    assertEquals(world.words(), []);
    await world.advance(1);
    assertEquals(world.words(), ["ack cancel_timeout"]);
    assertEquals(world.router.activeRuns, 1);
    await world.send("execution_prepare", "x", prepare("session"));
    assertEquals(world.words(), ["rejected(0) preparation_capacity"]);
    executor.closeGate.resolve();
    await world.advance(0);
    assertEquals(world.words(), ["error", "done"]);
    assertEquals(world.router.activeRuns, 0);
  }));

Deno.test("a native cancel that hangs is never applied, also not after a confirmed close", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { executor } = world.factory;
    executor.turn.onCancel = "hang";
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    await world.advance(60_000);
    assertEquals(world.words(), ["ack cancel_timeout", "error", "done"]);
    assertEquals(world.frames.at(-2)?.payload, {
      error: "Turn settlement failed",
    });
    assertEquals(executor.closedForGood, true);
  }));

Deno.test("a settlement that fails is cancel_failed after the end went out", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { turn } = world.factory.executor;
    turn.onCancel = "accept";
    turn.outcome = { content: "partial", usage: { input_tokens: 3 } };
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    turn.lose();
    await world.advance(0);
    assertEquals(world.words(), ["error", "done", "ack cancel_failed"]);
    assertEquals(world.frames.at(-2)?.payload, {
      content: "",
      usage: { input_tokens: 3 },
    });
  }));

Deno.test("a refused native cancel keeps the Turn; a new cancel tries the same Turn again", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { executor } = world.factory;
    executor.turn.onCancel = "refuse";
    await world.send("prompt_cancel", "run", { delivery_id: "one" });
    assertEquals(world.words(), ["ack cancel_failed"]);
    assertEquals(executor.closes, 0);
    assertEquals(world.router.activeRuns, 1);
    executor.turn.onCancel = "settle";
    await world.send("prompt_cancel", "run", { delivery_id: "two" });
    assertEquals(world.words(), ["done", "applied"]);
    assertEquals(executor.turn.cancels, 2);
    assertEquals(world.router.status().executors[0]?.state, "idle");
  }));

Deno.test("an engine that keeps refusing the cancel is closed by the background retry", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { executor } = world.factory;
    executor.turn.onCancel = "refuse";
    await world.send("prompt_cancel", "run", { delivery_id: "one" });
    await world.advance(1_000);
    assertEquals(executor.turn.cancels, 2);
    assertEquals(executor.closes, 1);
    assertEquals(world.words(), ["ack cancel_failed", "error", "done"]);
    assertEquals(world.router.status().executors, []);
  }));

Deno.test("a close that fails is cancel_failed; the retry settles the same Executor", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { executor } = world.factory;
    executor.onClose = "refuse";
    executor.turn.onCancel = "accept";
    await world.send("prompt_cancel", "run", { delivery_id: "one" });
    executor.turn.settle({ reusable: false, reason: "worn out" });
    await world.advance(0);
    assertEquals(world.words(), ["ack cancel_failed"]);
    executor.onClose = "confirm";
    await world.send("prompt_cancel", "run", { delivery_id: "two" });
    assertEquals(world.words(), ["done", "applied"]);
    assertEquals(executor.turn.cancels, 1);
    assertEquals(executor.closes, 2);
  }));

Deno.test("output that could not be delivered is cancel_output_unavailable", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { turn } = world.factory.executor;
    turn.onCancel = "accept";
    world.connection.fail(frameOf("delta"));
    await turn.delta("x");
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    assertEquals(turn.cancels, 1);
    turn.settle();
    await world.advance(0);
    assertEquals(world.words(), ["ack cancel_output_unavailable"]);
    assertEquals(world.factory.executor.closes, 1);
  }));

Deno.test("a done that could not be delivered is cancel_output_unavailable", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    world.connection.fail(frameOf("done"));
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    assertEquals(world.words(), ["ack cancel_output_unavailable"]);
  }));

Deno.test("an outcome that cannot be read is never applied", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { turn } = world.factory.executor;
    turn.cancellationOutcome = () => undefined as never;
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    assertEquals(world.words(), ["done", "ack cancel_outcome_unavailable"]);
  }));

Deno.test("a receipt has five seconds to leave and no second one follows", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    world.connection.hold(frameOf("interaction_decision_ack"));
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    assertEquals(world.router.status().tasks.length, 1);
    await world.advance(5_000);
    assertEquals(world.router.status().tasks, []);
    world.connection.release();
    await world.advance(60_000);
    assertEquals(world.words(), ["done", "applied"]);
  }));

Deno.test("an input in flight is answered before done and before the cancellation receipt", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { turn } = world.factory.executor;
    turn.onCancel = "accept";
    await world.send("prompt_steer", "run", {
      input_id: "1",
      input: input(),
      durable_receipt: true,
    });
    turn.steers[0]?.written();
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    turn.steers[0]?.result.reject(new Error("interrupted"));
    turn.settle();
    await world.advance(0);
    assertEquals(world.words(), [
      "written",
      "input outcome_unknown",
      "done",
      "applied",
    ]);
  }));

Deno.test("an operation that outlives the settlement counts as unknown after ten seconds", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { turn } = world.factory.executor;
    await world.send("prompt_steer", "run", {
      input_id: "1",
      input: input(),
      durable_receipt: true,
    });
    turn.steers[0]?.written();
    turn.finish();
    await world.advance(9_999);
    assertEquals(world.words(), ["written"]);
    await world.advance(1);
    assertEquals(world.words(), ["input outcome_unknown", "done"]);
  }));

Deno.test("at most 64 cancellation receipts wait for one Run", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { turn } = world.factory.executor;
    turn.onCancel = "accept";
    for (let index = 0; index < 70; index++) {
      await world.send("prompt_cancel", "run", { delivery_id: `${index}` });
    }
    turn.settle();
    await world.advance(0);
    assertEquals(world.words().filter((word) => word === "applied").length, 64);
    assertEquals(turn.cancels, 1);
  }));
