/**
 * Thousands of seeds of one connection's life: random frames, native failures, cleanup failures,
 * lost and delayed sends, disconnects, all on a virtual clock. `AGENT_DAEMON_SIMULATION_SEEDS` sets
 * how many, `AGENT_DAEMON_SIMULATION_SEED` runs just one.
 */
import { assert, assertEquals } from "@std/assert";
import { Driver } from "./driver.ts";
import { Seeded } from "./seeded.ts";

const DEFAULT_SEEDS = 2_000;
const STEPS = 80;
/** Shutdown attempts after which a healed world must be settled. */
const ATTEMPTS = 12;

/** Lets everything succeed from now on. */
function heal(driver: Driver): void {
  driver.connection.heal();
  driver.connection.release();
  driver.factory.prepareMode = "ready";
  for (const gate of driver.gates) gate.resolve();
  for (const executor of driver.factory.executors) {
    executor.startGate?.resolve();
    executor.onClose = "confirm";
    for (const turn of executor.turns) {
      if (turn.onCancel !== "settle") turn.onCancel = "settle";
      if (!turn.ended) turn.finish();
      for (const { result } of turn.steers) result.reject(new Error("over"));
      for (const { result } of turn.submits) result.reject(new Error("over"));
    }
  }
}

async function simulate(seed: number): Promise<void> {
  const driver = new Driver(new Seeded(seed));
  for (let step = 0; step < STEPS && !driver.ended; step++) await driver.step();
  heal(driver);
  await driver.settle();
  if (!driver.ended) await settlesByItself(driver);
  driver.connection.end();
  await shutsDown(driver);
  assertEquals(driver.clock.pendingTimers, 0, "a timer outlived its owner");
  const { tasks, executors, runs } = driver.router.status();
  assertEquals([tasks, executors, runs], [[], [], []]);
  assert(
    driver.factory.executors.every(({ closedForGood }) => closedForGood),
    "an Executor was left open",
  );
  const bugs = driver.log.events.filter(({ level }) => level === "error");
  assertEquals(bugs, []);
}

/** Without any further frame every Run ends and every claim on capacity heals. */
async function settlesByItself(driver: Driver): Promise<void> {
  for (let minute = 0; minute < 8; minute++) await driver.advance(60_000);
  heal(driver);
  // A close that hangs for 10 s, a pause of 60 s, and the attempt that succeeds.
  await driver.advance(120_000);
  const { runs, executors, owningAdmissions, unknownOwners } = driver.router
    .status();
  assertEquals(runs, []);
  assertEquals(unknownOwners, []);
  assertEquals(owningAdmissions, 0);
  assertEquals(executors.filter(({ state }) => state !== "idle"), []);
  if (!driver.healthy) return;
  assertEquals(driver.observer.unfinishedRuns(), []);
}

async function shutsDown(driver: Driver): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    let result: "confirmed" | "failed" | undefined;
    driver.router.shutdown().then(
      () => (result = "confirmed"),
      () => (result = "failed"),
    );
    await driver.settle();
    while (result === undefined) await driver.advance(1_000);
    if (result === "confirmed") return;
    heal(driver);
  }
  throw new Error("the shutdown was never confirmed");
}

Deno.test("whatever happens, no receipt lies, nothing runs twice and nothing is lost", async () => {
  const only = Deno.env.get("AGENT_DAEMON_SIMULATION_SEED");
  const count = Number(
    Deno.env.get("AGENT_DAEMON_SIMULATION_SEEDS") ?? DEFAULT_SEEDS,
  );
  const seeds = only === undefined
    ? Array.from({ length: count }, (_, index) => index + 1)
    : [Number(only)];
  for (const seed of seeds) {
    try {
      await simulate(seed);
    } catch (error) {
      throw new Error(
        `seed ${seed} failed: AGENT_DAEMON_SIMULATION_SEED=${seed} deno test -A test/simulation`,
        { cause: error },
      );
    }
  }
});
