// Races between Core, the engine, the connection and time, each pinned to one order.
import { assertEquals } from "@std/assert";
import { deferred } from "../../src/platform/deferred.ts";
import { frameOf } from "./fake_connection.ts";
import { input, inWorld, prepare, type World } from "./world.ts";

const STEER = { input_id: "1", input: input(), durable_receipt: true };

Deno.test("an engine whose pipe broke fails its own Run and no other", () =>
  inWorld(async (world) => {
    await world.running("run", "one", "one");
    await world.running("run 2", "two", "two");
    world.fresh();
    const [broken, healthy] = world.factory.executors.map(({ turn }) => turn);
    if (broken === undefined || healthy === undefined) throw new Error("setup");
    broken.onCancel = "refuse";
    await world.send("prompt_steer", "run", STEER);
    await world.send("function_result", "run", {
      delivery_id: "f",
      call_id: "c",
      success: true,
      content: [],
    });
    broken.steers[0]?.result.reject(new Deno.errors.BrokenPipe());
    broken.submits[0]?.result.reject(new Deno.errors.BrokenPipe());
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    assertEquals(world.words().sort(), [
      "ack cancel_failed",
      "ack runtime_error",
      "input outcome_unknown",
    ]);
    await world.advance(1_000);
    assertEquals(world.words(), ["error", "done"]);
    await healthy.delta("x");
    healthy.finish();
    await world.advance(0);
    assertEquals(world.words(), ["delta 1", "done"]);
  }));

Deno.test("a refused cancel with an input in flight: the input's receipt, done, then applied", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { turn } = world.factory.executor;
    turn.onCancel = "refuse";
    await world.send("prompt_steer", "run", STEER);
    turn.steers[0]?.written();
    await world.send("prompt_cancel", "run", { delivery_id: "one" });
    turn.onCancel = "settle";
    await world.send("prompt_cancel", "run", { delivery_id: "two" });
    turn.steers[0]?.result.reject(new Error("interrupted"));
    await world.advance(0);
    assertEquals(world.words(), [
      "written",
      "ack cancel_failed",
      "input outcome_unknown",
      "done",
      "applied",
    ]);
  }));

Deno.test("after an early done with a failing cleanup the handle is powerless and the Run's cancel is not", () =>
  inWorld(async (world) => {
    await world.running();
    const { handle } = world.status();
    const { executor } = world.factory;
    executor.onClose = "refuse";
    executor.turn.finish("answer", { reusable: false, reason: "worn out" });
    await world.advance(0);
    assertEquals(world.router.status().owningAdmissions, 0);
    world.fresh();
    await world.send("execution_release", "prepare", { handle });
    assertEquals(executor.closes, 1);
    executor.onClose = "confirm";
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    assertEquals(executor.closes, 2);
    assertEquals(world.words(), ["started(4)", "done", "applied"]);
  }));

Deno.test("a Run keeps its target when its handle's record was dropped", () =>
  inWorld(async (world) => {
    await world.running();
    const { handle } = world.status();
    for (let index = 0; index < 64; index++) {
      const requestId = `prepare ${index}`;
      await world.ready("other", requestId);
      const other = world.status(requestId).handle;
      await world.send("execution_release", requestId, { handle: other });
    }
    world.fresh();
    await world.send("execution_release", "prepare", { handle });
    await world.send("prompt_cancel", "run", { delivery_id: "one" });
    await world.send("prompt_cancel", "run", { delivery_id: "two" });
    assertEquals(world.words(), [
      "rejected(0) unknown_preparation",
      "done",
      "applied",
      "ack run_inactive",
    ]);
    assertEquals(world.factory.executors[0]?.turn.cancels, 1);
  }));

Deno.test("a slow peer stops the engine, not the router, and the end of the connection settles the Run", () =>
  inWorld(async (world) => {
    await world.running();
    const { turn } = world.factory.executor;
    world.connection.hold(frameOf("delta"));
    let taken = 0;
    for (let index = 0; index < 100; index++) {
      void turn.delta("x").then(() => taken++);
    }
    await world.advance(60_000);
    assertEquals(taken, 65); // 64 wait, one is on its way
    assertEquals(world.router.activeRuns, 1);
    world.connection.end();
    await world.advance(0);
    assertEquals(taken, 100);
    assertEquals(turn.cancels, 1);
    assertEquals(world.router.activeRuns, 0);
  }));

Deno.test("done and cancel in one turn of the loop: one settlement, one done, one receipt", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { turn } = world.factory.executor;
    turn.finish();
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    assertEquals(world.words(), ["done", "applied"]);
    assertEquals(turn.settlementWaits, 1);
    assertEquals(world.router.status().executors[0]?.state, "idle");
  }));

Deno.test("a late cancel of the old Run does not touch the Turn that follows on the Executor", () =>
  inWorld(async (world) => {
    await world.running();
    world.factory.executor.turn.finish();
    await world.advance(0);
    await world.running("run 2", "session", "second", {
      agent_session_id: "native",
    });
    world.fresh();
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    await world.send("prompt_steer", "run", STEER);
    assertEquals(world.words(), ["ack run_inactive", "input run_inactive"]);
    assertEquals(world.factory.executor.turn.cancels, 0);
  }));

Deno.test("an Executor that dies during its Turn settles the Turn and is not kept", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { executor } = world.factory;
    executor.closeGate = deferred();
    executor.retire();
    await world.advance(0);
    assertEquals(executor.closes, 0);
    executor.turn.finish();
    await world.advance(0);
    assertEquals(executor.closes, 1);
    assertEquals(world.words(), []);
    executor.closeGate.resolve();
    await world.advance(0);
    assertEquals(world.words(), ["done"]);
  }));

Deno.test("ten minutes without Core leave no child of a running and an idle Executor", () =>
  inWorld(async (world) => {
    await world.running("run", "one", "one");
    await world.running("run 2", "two", "two");
    world.factory.executors[1]?.turn.finish();
    await world.advance(0);
    const [running] = world.factory.executors;
    if (running === undefined) throw new Error("setup");
    running.turn.onCancel = "hang";
    running.closeGate = deferred();
    world.connection.end();
    const shutdown = world.router.shutdown();
    await world.advance(15_000);
    running.closeGate.resolve();
    await world.advance(600_000);
    await shutdown;
    assertEquals(
      world.factory.executors.map(({ closedForGood }) => closedForGood),
      [true, true],
    );
  }));

/** Refuses frames as a connection does that keeps the size limit of the wire. */
function limitFrames(world: World): void {
  world.connection.refuses = (envelope) =>
    JSON.stringify(envelope).length >= 1_000;
}

Deno.test("an output frame over the limit ends its Run with an error, and no other", () =>
  inWorld(async (world) => {
    await world.running("run", "one", "one");
    await world.running("run 2", "two", "two");
    limitFrames(world);
    world.fresh();
    const [big, other] = world.factory.executors.map(({ turn }) => turn);
    if (big === undefined || other === undefined) throw new Error("setup");
    await big.delta("x".repeat(1_000));
    await big.delta("y");
    await world.advance(0);
    assertEquals(world.words(), ["error", "done"]);
    assertEquals(world.frames.at(-2)?.payload, {
      error: "an output frame could not be sent",
    });
    assertEquals(big.cancels, 1);
    other.finish();
    await world.advance(0);
    assertEquals(world.words(), ["done"]);
  }));

Deno.test("a result over the limit is an error and an empty done", () =>
  inWorld(async (world) => {
    await world.running();
    limitFrames(world);
    world.fresh();
    world.factory.executor.turn.finish("x".repeat(1_000));
    await world.advance(0);
    assertEquals(world.fresh().map(({ type, payload }) => [type, payload]), [
      ["error", { error: "the result could not be sent" }],
      ["done", { content: "" }],
    ]);
  }));

Deno.test("an outcome over the limit is never applied", () =>
  inWorld(async (world) => {
    await world.running();
    limitFrames(world);
    world.fresh();
    world.factory.executor.turn.outcome = { content: "x".repeat(1_000) };
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    assertEquals(world.words(), ["done", "ack cancel_outcome_unavailable"]);
  }));

Deno.test("a started that was lost is not made up for by a repeated prepare or start", () =>
  inWorld(async (world) => {
    await world.ready();
    const payload = world.startPayload();
    const { executor } = world.factory;
    executor.onTurn = (turn) => (turn.onCancel = "accept");
    world.connection.fail(frameOf("preparation_status", "started"));
    world.fresh();
    await world.send("execution_start", "prepare", payload);
    world.connection.heal();
    await world.send("execution_start", "prepare", payload);
    await world.send("execution_prepare", "prepare", prepare());
    assertEquals(world.words(), ["starting(3)"]);
    executor.turn.settle();
    await world.advance(0);
    await world.send("execution_prepare", "prepare", prepare());
    assertEquals(world.words(), ["error", "done"]);
    assertEquals(executor.starts, 1);
  }));

Deno.test("after a lost frame nothing more of the Run is sent", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { turn } = world.factory.executor;
    turn.onCancel = "accept";
    world.connection.fail(frameOf("delta"));
    await turn.delta("lost");
    await world.advance(0);
    world.connection.heal();
    await turn.delta("later");
    turn.finish();
    await world.advance(0);
    assertEquals(world.words(), []);
    assertEquals(world.router.activeRuns, 0);
  }));

Deno.test("a question asked while the Run ends is forwarded and cannot be answered", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { turn } = world.factory.executor;
    turn.onCancel = "accept";
    await world.send("prompt_cancel", "run");
    await turn.emit({
      type: "permission_request",
      payload: { request_id: "perm_1", tool: "t", title: "t" },
    });
    await world.send("permission_decision", "perm_1", {
      delivery_id: "d",
      approved: true,
    });
    assertEquals(world.words(), ["permission_request", "ack not_pending"]);
    turn.settle();
  }));

Deno.test("output that waits for a slow peer goes out before the end of a lost Turn", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { turn } = world.factory.executor;
    turn.onCancel = "accept";
    world.connection.hold(frameOf("delta"));
    for (const text of ["a", "b", "c"]) await turn.delta(text);
    await world.send("prompt_cancel", "run");
    turn.lose();
    await world.advance(0);
    world.connection.release();
    await world.advance(0);
    assertEquals(world.words(), [
      "delta 1",
      "delta 2",
      "delta 3",
      "error",
      "done",
    ]);
  }));

Deno.test("output that is lost after the settlement still costs the Executor", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { executor } = world.factory;
    world.connection.hold(frameOf("delta"));
    await executor.turn.delta("a");
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    assertEquals(executor.turn.confirmed, true);
    world.connection.fail(frameOf("delta"));
    world.connection.release();
    await world.advance(0);
    assertEquals(world.words(), ["ack cancel_output_unavailable"]);
    assertEquals(executor.closes, 1);
  }));
