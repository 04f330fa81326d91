import { assertEquals, assertRejects } from "@std/assert";
import { deferred } from "../../src/platform/deferred.ts";
import { ShutdownUnconfirmed } from "../../src/runtime/router_shutdown.ts";
import { settleEvents } from "../support/virtual_clock.ts";
import { frameOf } from "./fake_connection.ts";
import { countingIds, input, inWorld, prepare, World } from "./world.ts";

/** Whether a promise settles without any time passing. */
async function settles(work: Promise<unknown>): Promise<boolean> {
  let settled = false;
  work.then(() => (settled = true), () => (settled = true));
  await settleEvents();
  return settled;
}

Deno.test("a disconnect cancels and closes everything, and sends nothing", () =>
  inWorld(async (world) => {
    await world.running("run", "active", "active");
    await world.running("idle run", "idle", "idle");
    world.factory.executors[1]?.turn.finish();
    await world.advance(0);
    await world.ready("reserved", "reserved");
    world.fresh();
    world.connection.end();
    await world.router.shutdown();
    assertEquals(world.words(), []);
    assertEquals(world.factory.executors[0]?.turn.cancels, 1);
    assertEquals(
      world.factory.executors.map(({ closes }) => closes),
      [1, 1, 1],
    );
    assertEquals(world.router.status().executors, []);
    assertEquals(world.clock.pendingTimers, 0);
  }));

Deno.test("a lost connection aborts a Run as soon as its output cannot leave", () =>
  inWorld(async (world) => {
    await world.running();
    world.connection.end();
    await world.factory.executor.turn.delta("x");
    await world.advance(0);
    assertEquals(world.factory.executor.turn.cancels, 1);
    assertEquals(world.factory.executor.closes, 1);
  }));

Deno.test("after a shutdown frames are dropped without an answer", () =>
  inWorld(async (world) => {
    await world.router.shutdown();
    await world.send("execution_prepare", "prepare", prepare());
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    assertEquals(world.words(), []);
    assertEquals(world.factory.prepares, 0);
  }));

Deno.test("callers of a shutdown share one attempt and one native close", () =>
  inWorld(async (world) => {
    await world.ready();
    const { executor } = world.factory;
    executor.closeGate = deferred();
    const calls = [1, 2, 3, 4].map(() => world.router.shutdown());
    assertEquals(await settles(Promise.race(calls)), false);
    assertEquals(executor.closes, 1);
    executor.closeGate.resolve();
    await Promise.all(calls);
    assertEquals(executor.closes, 1);
  }));

Deno.test("a refused cancel fails the shutdown without a close; the next one uses the same Turn", () =>
  inWorld(async (world) => {
    await world.running();
    const { executor } = world.factory;
    executor.turn.onCancel = "refuse";
    const error = await assertRejects(
      () => world.router.shutdown(),
      ShutdownUnconfirmed,
    );
    assertEquals(error.owners[0], "run run");
    assertEquals(executor.closes, 0);
    executor.turn.onCancel = "settle";
    await world.router.shutdown();
    assertEquals(executor.turn.cancels, 2);
    assertEquals(executor.closes, 1);
  }));

Deno.test("each shutdown tries a failed close once, on the same Executor", () =>
  inWorld(async (world) => {
    await world.ready();
    const { executor } = world.factory;
    executor.onClose = "refuse";
    await assertRejects(() => world.router.shutdown(), ShutdownUnconfirmed);
    await world.advance(600_000);
    assertEquals(executor.closes, 1);
    await assertRejects(() => world.router.shutdown(), ShutdownUnconfirmed);
    assertEquals(executor.closes, 2);
    executor.onClose = "confirm";
    await world.router.shutdown();
    assertEquals(executor.closes, 3);
    assertEquals(world.factory.prepares, 1);
  }));

Deno.test("a shutdown waits for a preparation that cannot be stopped, and says for what it waits", () =>
  inWorld(async (world) => {
    world.factory.prepareGate = deferred();
    await world.send("execution_prepare", "prepare", prepare());
    const shutdown = world.router.shutdown();
    assertEquals(await settles(shutdown), false);
    assertEquals(world.factory.owners[0]?.aborted, true);
    assertEquals(
      world.router.status().tasks.map((name) => name.split(" ")[0]),
      ["prepare"],
    );
    world.factory.prepareGate.resolve();
    await shutdown;
    assertEquals(world.factory.executor.closes, 1);
  }));

Deno.test("a shutdown frees every blocked send, native input and native submission", () =>
  inWorld(async (world) => {
    await world.running();
    const { turn } = world.factory.executor;
    turn.onCancel = "settle";
    await world.send("prompt_steer", "run", {
      input_id: "1",
      input: input(),
      durable_receipt: true,
    });
    turn.steers[0]?.written();
    await world.send("function_result", "run", {
      delivery_id: "d",
      call_id: "c",
      success: true,
      content: [],
    });
    world.connection.hold(() => true);
    await turn.delta("x");
    world.fresh();
    await world.router.shutdown();
    assertEquals(turn.steers[0]?.signal.aborted, true);
    assertEquals(turn.submits[0]?.signal.aborted, true);
    assertEquals(world.words(), []);
  }));

Deno.test("an open question does not keep a lost connection's Run, and nobody answers it on the next", () =>
  inWorld(async (world) => {
    await world.running();
    const { executor } = world.factory;
    executor.turn.onCancel = "settle";
    await executor.turn.emit({
      type: "permission_request",
      payload: { request_id: "perm_1", tool: "Bash", title: "Run" },
    });
    await world.advance(0);
    world.fresh();
    world.connection.end();
    assertEquals(await settles(world.router.shutdown()), true);
    assertEquals([executor.turn.cancels, executor.closes], [1, 1]);
    const decision = { delivery_id: "d", approved: true };
    await inWorld(async (next) => {
      await next.send("permission_decision", "perm_1", decision);
      assertEquals(next.words(), ["ack not_pending"]);
    });
    assertEquals(executor.turn.submits, []);
    assertEquals(world.words(), []);
  }));

Deno.test("a blocked done does not keep a shutdown", () =>
  inWorld(async (world) => {
    await world.running();
    world.connection.hold(frameOf("done"));
    world.factory.executor.turn.finish();
    await world.advance(0);
    world.fresh();
    await world.router.shutdown();
    assertEquals(world.words(), []);
  }));

Deno.test("device_shutdown settles everything, sends what is owed, then says so", () =>
  inWorld(async (world) => {
    await world.running("run", "active", "active");
    await world.ready("reserved", "reserved");
    world.fresh();
    const { turn } = world.factory.executors[0] ?? {};
    if (turn === undefined) throw new Error("no Turn");
    turn.onCancel = "accept";
    await world.send("prompt_cancel", "run", { delivery_id: "d" });
    await world.send("device_shutdown", undefined, { reason: "bye" });
    assertEquals(world.router.draining, true);
    assertEquals(await settles(world.router.shutdownRequested), false);
    await world.send("execution_prepare", "new", prepare("new"));
    turn.settle();
    await world.router.shutdownRequested;
    assertEquals(world.words(), [
      "failed(3) connection_closed",
      "rejected(0) resource_unavailable",
      "done",
      "applied",
    ]);
    assertEquals(turn.cancels, 1);
    assertEquals(world.factory.executors.map(({ closes }) => closes), [1, 1]);
  }));

Deno.test("device_shutdown without any work is settled at once", () =>
  inWorld(async (world) => {
    await world.send("device_shutdown");
    await world.router.shutdownRequested;
    assertEquals(world.words(), []);
  }));

Deno.test("device_shutdown waits for a close that fails, and retries it", () =>
  inWorld(async (world) => {
    await world.ready();
    world.factory.executor.onClose = "refuse";
    await world.send("device_shutdown");
    await world.advance(2_000);
    assertEquals(await settles(world.router.shutdownRequested), false);
    world.factory.executor.onClose = "confirm";
    await world.advance(60_000);
    await world.router.shutdownRequested;
  }));

Deno.test("nothing of an old connection means anything on a new one", async () => {
  const first = new World();
  await first.running();
  const payload = first.startPayload("run");
  await first.close();
  const ids = countingIds();
  for (let index = 0; index < 100; index++) ids.uuid();
  const second = new World({ ids });
  await second.send("execution_start", "prepare", payload);
  await second.send("execution_release", "prepare", { handle: payload.handle });
  await second.send("prompt_cancel", "run", { delivery_id: "d" });
  await second.send("prompt_steer", "run", {
    input_id: "1",
    input: input(),
    durable_receipt: true,
  });
  await second.send("function_result", "run", {
    delivery_id: "d",
    call_id: "c",
    success: true,
    content: [],
  });
  await second.send("permission_decision", "ask", {
    delivery_id: "d",
    approved: true,
  });
  assertEquals(second.words(), [
    "rejected(0) unknown_preparation",
    "rejected(0) unknown_preparation",
    "ack run_inactive",
    "input run_inactive",
    "ack not_pending",
    "ack not_pending",
  ]);
  assertEquals(first.factory.executor.turn.steers.length, 0);
  await second.close();
});
