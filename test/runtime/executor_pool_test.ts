import { assertEquals } from "@std/assert";
import { deferred } from "../../src/platform/deferred.ts";
import { frameOf } from "./fake_connection.ts";
import { ExecutorPool } from "../../src/runtime/executor_pool.ts";
import { RouterScope } from "../../src/runtime/scope.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { silentLog } from "../../src/platform/log.ts";
import { settleEvents, VirtualClock } from "../support/virtual_clock.ts";
import { FakeConnection } from "./fake_connection.ts";
import {
  declaration,
  ScriptedExecutor,
  ScriptedFactory,
} from "./scripted_harness.ts";
import { countingIds, inWorld, prepare } from "./world.ts";

/** What a second request for a Session must say to find the Executor of `world.running()`. */
const CONTINUED = { agent_session_id: "native" };

Deno.test("two Turns share one Executor: ready at once, another handle, no native work", () =>
  inWorld(async (world) => {
    await world.running();
    const first = world.status();
    world.factory.executor.turn.finish();
    await world.advance(0);
    await world.ready("session", "second", CONTINUED);
    const second = world.status("second");
    assertEquals(second.revision, 1);
    assertEquals(second.reused, true);
    assertEquals(second.executor_id, first.executor_id);
    assertEquals(second.handle === first.handle, false);
    await world.send(
      "execution_start",
      "second",
      world.startPayload("run 2", "second"),
    );
    await world.send("prompt_cancel", "run", { delivery_id: "late" });
    assertEquals(world.frames.at(-1)?.payload.error_code, "run_inactive");
    await world.send("execution_release", "prepare", { handle: first.handle });
    assertEquals(world.factory.executor.turn.cancels, 0);
    assertEquals(world.factory.prepares, 1);
    assertEquals(world.factory.executor.starts, 2);
  }));

const refusals: readonly (readonly [string, object, string])[] = [
  [
    "another configuration",
    { ...CONTINUED, agent_options: { model: "other" } },
    "configuration_conflict",
  ],
  ["no native id", {}, "native_session_conflict"],
  ["another native id", { agent_session_id: "x" }, "native_session_conflict"],
];

for (const [what, changes, code] of refusals) {
  Deno.test(`an idle Executor refuses ${what} as ${code} and stays`, () =>
    inWorld(async (world) => {
      await world.running();
      world.factory.executor.turn.finish();
      await world.advance(0);
      world.fresh();
      await world.send(
        "execution_prepare",
        "second",
        prepare("session", changes),
      );
      assertEquals(world.words(), [`rejected(0) ${code}`]);
      assertEquals(world.factory.executor.closes, 0);
      assertEquals(world.factory.prepares, 1);
    }));
}

Deno.test("required history is refused while the Executor has none", () =>
  inWorld(async (world) => {
    await world.ready();
    const { handle } = world.status();
    await world.send("execution_release", "prepare", { handle });
    world.fresh();
    await world.send(
      "execution_prepare",
      "second",
      prepare("session", { require_existing_native_session: true }),
    );
    assertEquals(world.words(), ["rejected(0) history_unavailable"]);
  }));

Deno.test("an Executor in use is resource_unavailable for a second request", () =>
  inWorld(async (world) => {
    await world.ready();
    world.fresh();
    await world.send("execution_prepare", "second", prepare());
    assertEquals(world.words(), ["rejected(0) resource_unavailable"]);
  }));

Deno.test("an idle Executor is closed after one hour, counted from its last Turn", () =>
  inWorld(async (world) => {
    await world.running();
    world.factory.executor.turn.finish();
    await world.advance(3_599_999);
    await world.ready("session", "second", CONTINUED);
    const { handle } = world.status("second");
    await world.send("execution_release", "second", { handle });
    await world.advance(3_599_999);
    assertEquals(world.factory.executor.closes, 0);
    await world.advance(1);
    assertEquals(world.factory.executor.closes, 1);
    assertEquals(world.router.status().executors, []);
  }));

Deno.test("of seventeen idle Executors the last one is closed, and four more may be active", () =>
  inWorld(async (world) => {
    for (let index = 0; index < 17; index++) {
      const requestId = `prepare ${index}`;
      await world.ready(`session ${index}`, requestId);
      const { handle } = world.status(requestId);
      await world.send("execution_release", requestId, { handle });
    }
    assertEquals(
      world.factory.executors.map(({ closes }) => closes),
      [...Array(16).fill(0), 1],
    );
    for (let index = 20; index < 24; index++) {
      await world.ready(`session ${index}`, `prepare ${index}`);
    }
    await world.send("execution_prepare", "x", prepare("session x"));
    assertEquals(world.status("x").error_code, "preparation_capacity");
  }));

Deno.test("four running Executors leave no room, also not for a Session that has one", () =>
  inWorld(async (world) => {
    for (let index = 0; index < 4; index++) {
      await world.running(
        `run ${index}`,
        `session ${index}`,
        `prepare ${index}`,
      );
    }
    for (const session of ["session 0", "session x"]) {
      await world.send("execution_prepare", session, prepare(session));
      assertEquals(world.status(session).error_code, "preparation_capacity");
    }
  }));

Deno.test("a Turn that settles as not reusable has its Executor closed before done", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { executor } = world.factory;
    executor.closeGate = deferred();
    executor.turn.finish("answer", { reusable: false, reason: "worn out" });
    await world.advance(0);
    assertEquals(world.words(), []);
    executor.closeGate.resolve();
    await world.advance(0);
    assertEquals(world.words(), ["done"]);
    assertEquals(world.factory.executor.closedForGood, true);
  }));

Deno.test("while a close fails no done goes out; it follows as soon as a later close succeeds", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { executor } = world.factory;
    executor.onClose = "refuse";
    executor.turn.finish("answer", { reusable: false, reason: "worn out" });
    await world.advance(0);
    assertEquals(world.words(), []);
    assertEquals(world.router.status().runs[0]?.state, "kept");
    assertEquals(world.router.status().unknownOwners.length, 1);
    await world.advance(1_000);
    assertEquals(executor.closes, 2);
    executor.onClose = "confirm";
    await world.advance(2_000);
    assertEquals(executor.closes, 3);
    assertEquals(world.words(), ["done"]);
    assertEquals(world.router.activeRuns, 0);
    assertEquals(executor.turn.settlementWaits, 1);
  }));

Deno.test("retries of a close double from one second to one minute", () =>
  inWorld(async (world) => {
    world.factory.prepareMode = "fail_retained";
    world.factory.onExecutor = (executor) => (executor.onClose = "refuse");
    await world.send("execution_prepare", "prepare", prepare());
    const pauses: number[] = [];
    let closes = 1;
    let last = world.clock.monotonic();
    while (pauses.length < 9) {
      await world.advance(500);
      if (world.factory.executor.closes === closes) continue;
      closes = world.factory.executor.closes;
      pauses.push((world.clock.monotonic() - last) / 1_000);
      last = world.clock.monotonic();
    }
    assertEquals(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    world.factory.executor.onClose = "confirm";
  }));

Deno.test("a close that hangs is unconfirmed after ten seconds", () =>
  inWorld(async (world) => {
    world.factory.prepareMode = "fail_retained";
    world.factory.onExecutor = (executor) => (executor.onClose = "hang");
    await world.send("execution_prepare", "prepare", prepare());
    await world.advance(9_999);
    assertEquals(world.router.status().executors[0]?.state, "closing");
    await world.advance(1);
    assertEquals(world.router.status().executors[0]?.state, "uncertain");
    world.factory.executor.onClose = "confirm";
  }));

Deno.test("a prepare that follows the visible done finds the Executor, although the send has not returned", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    world.connection.hold(frameOf("done"));
    world.factory.executor.turn.finish();
    await world.advance(0);
    await world.send(
      "execution_prepare",
      "second",
      prepare("session", CONTINUED),
    );
    assertEquals(world.router.status().executors[0]?.state, "ready");
    world.connection.fail(frameOf("done"));
    world.connection.release();
    await world.advance(0);
    assertEquals(world.words(), ["ready(1)"]);
    await world.send(
      "execution_start",
      "second",
      world.startPayload("run 2", "second"),
    );
    world.connection.heal();
    world.factory.executor.turn.finish();
    await world.advance(0);
    assertEquals(world.words(), ["starting(2)", "started(3)", "done"]);
    assertEquals(world.factory.executor.closes, 0);
  }));

Deno.test("an engine that dies idle is closed and replaced", () =>
  inWorld(async (world) => {
    await world.running();
    world.factory.executor.turn.finish();
    await world.advance(0);
    world.factory.executor.retire();
    await world.advance(0);
    assertEquals(world.factory.executor.closes, 1);
    await world.ready("session", "second", CONTINUED);
    assertEquals(world.factory.prepares, 2);
  }));

/** A pool with one native Executor, outside of any router. */
function poolOfOne(clock: Clock) {
  const scope = new RouterScope({
    clock,
    ids: countingIds(),
    log: silentLog,
    sender: new FakeConnection(),
  });
  const pool = new ExecutorPool(scope, {
    retryRun() {},
    retiredWhileReady() {},
    removed() {},
  });
  const configuration = {
    sessionId: "session",
    agentStateKey: "agents-api-session",
    requireExistingNativeSession: false,
    harnessConfig: {},
    observeMessages: false,
    observeSubagentIdentities: false,
    disableSubagents: false,
    functionTools: [],
    toolSearch: false,
    environment: { kind: "none" as const },
  };
  const executor = pool.create({
    id: "executor",
    kind: "contract",
    sessionId: "session",
    environmentId: "",
    stateKey: "agents-api-session",
    fingerprint: "",
    declaration: declaration(),
    configuration,
    complete: () => Promise.resolve(configuration),
    factory: new ScriptedFactory(),
  });
  return { pool, executor, native: new ScriptedExecutor(configuration) };
}

Deno.test("closes of one Executor join; after a failure the next one is a new attempt", async () => {
  const { pool, executor, native } = poolOfOne(new VirtualClock());
  assertEquals(await pool.close(executor), false); // it only cancels a preparation
  assertEquals(executor.owner.signal.aborted, true);
  pool.adopt(executor, native);
  executor.preparing = false;
  native.closeGate = deferred();
  native.onClose = "refuse";
  const closes = [pool.close(executor), pool.close(executor)];
  await settleEvents();
  assertEquals(native.closes, 1);
  native.closeGate.resolve();
  assertEquals(await Promise.all(closes), [false, false]);
  assertEquals(pool.all().length, 1);
  native.onClose = "confirm";
  assertEquals(await pool.close(executor), true);
  assertEquals(await pool.close(executor), true);
  assertEquals([native.closes, pool.all().length], [2, 0]);
});

Deno.test("a timer of an earlier idle period closes nothing, even if it fires", async () => {
  const clock = new VirtualClock();
  const { pool, executor, native } = poolOfOne({
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after: (milliseconds, callback) => {
      clock.after(milliseconds, callback);
      return { cancel() {} }; // too late: it is already on its way
    },
  });
  pool.adopt(executor, native);
  executor.preparing = false;
  pool.becomeIdle(executor);
  await clock.advance(1_800_000);
  pool.claim(executor);
  pool.becomeIdle(executor);
  await clock.advance(1_800_000);
  assertEquals(native.closes, 0);
  await clock.advance(1_800_000);
  assertEquals(native.closes, 1);
});

Deno.test("the operator's limits lower the built-in ones and never raise them", async () => {
  for (const [given, active, idle] of [[1, 1, 1], [99, 4, 16]]) {
    const executorLimits = { active: given ?? 0, idle: given ?? 0 };
    await inWorld(async (world) => {
      for (let index = 0; index < 20; index++) {
        const requestId = `idle ${index}`;
        await world.ready(`idle ${index}`, requestId);
        const { handle } = world.status(requestId);
        await world.send("execution_release", requestId, { handle });
      }
      assertEquals(world.router.status().executors.length, idle);
      for (let index = 0; index < (active ?? 0); index++) {
        await world.ready(`active ${index}`, `active ${index}`);
      }
      await world.send("execution_prepare", "x", prepare("x"));
      assertEquals(world.status("x").error_code, "preparation_capacity");
    }, { router: { executorLimits } });
  }
});

Deno.test("an engine whose retirement rejects counts as retired", async () => {
  const { pool, executor, native } = poolOfOne(new VirtualClock());
  Object.defineProperty(native, "retired", {
    value: Promise.reject(new Error("adapter bug")),
  });
  pool.adopt(executor, native);
  executor.preparing = false;
  await settleEvents();
  assertEquals(executor.retired, "unknown");
  pool.becomeIdle(executor);
  await settleEvents();
  assertEquals(native.closes, 1);
});
