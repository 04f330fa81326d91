// When to try again, also when two daemons fight over one device id.
import { assert, assertEquals } from "@std/assert";
import * as fc from "fast-check";
import type { ConnectionEnd } from "../../src/transport/connection_end.ts";
import { ReconnectPolicy } from "../../src/transport/reconnect_policy.ts";
import type { Refusal } from "../../src/transport/refusal.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

const middle = { next: () => 0.5 };
const transient = {
  kind: "transient",
  source: { from: "core", route: "socket", status: 503 },
} as const satisfies Refusal;
const slow = {
  kind: "slow",
  source: { from: "core", route: "socket", status: 302 },
} as const satisfies Refusal;
const clean: ConnectionEnd = { kind: "closed_by_core", code: 1000 };
const goingAway: ConnectionEnd = { kind: "closed_by_core", code: 1001 };
const abrupt: ConnectionEnd = { kind: "lost", cause: "no_close_frame" };

function newPolicy(random = middle) {
  const clock = new VirtualClock();
  return { clock, policy: new ReconnectPolicy(clock, random) };
}

Deno.test("refusals are answered with 1, 2, 4, 8, 16, 30, 30 s", () => {
  const { policy } = newPolicy();
  const delays = Array.from(
    { length: 7 },
    () => policy.afterRefusal(transient),
  );
  assertEquals(delays, [1000, 2000, 4000, 8000, 16000, 30000, 30000]);
  assertEquals(policy.failures, 7);
});

Deno.test("500, 503, reset, 1006, 1000 and 1001 share one growing sequence", () => {
  for (const chance of [0, 0.25, 0.5, 0.75, 0.999_999]) {
    const { policy } = newPolicy({ next: () => chance });
    const delays = [
      policy.afterRefusal(transient),
      policy.afterRefusal(transient),
      policy.afterRefusal(transient),
      policy.afterSession(abrupt, 100).delay,
      policy.afterSession(clean, 100).delay,
      policy.afterSession(goingAway, 100).delay,
      policy.afterRefusal(transient),
    ];
    [1, 2, 4, 8, 16, 30, 30].forEach((seconds, index) => {
      const ratio = (delays[index] ?? 0) / (seconds * 1000);
      assert(ratio >= 0.8 && ratio <= 1.2, `${index}: ${ratio}`);
    });
    assert(delays.every((delay) => delay <= 30_000));
  }
});

Deno.test("twenty accepted and dropped connections grow to the cap, clean closes too", () => {
  for (const end of [clean, goingAway]) {
    const { policy } = newPolicy();
    const delays = Array.from(
      { length: 20 },
      () => policy.afterSession(end, 50).delay,
    );
    assertEquals(delays.slice(0, 4), [1000, 2000, 4000, 8000]);
    assert(delays.slice(5).every((delay) => delay === 30_000));
  }
});

Deno.test("only a session of a minute starts the delays anew", () => {
  const { policy } = newPolicy();
  for (let n = 0; n < 4; n++) policy.afterRefusal(transient);
  assertEquals(policy.afterSession(clean, 59_999).delay, 16_000);
  assertEquals(policy.afterSession(clean, 60_000).delay, 1_000);
  assertEquals(policy.failures, 0);
  assertEquals(policy.afterRefusal(transient), 1_000);
});

Deno.test("a slow refusal waits for the longest delay at once", () => {
  const { policy } = newPolicy();
  assertEquals(policy.afterRefusal(slow), 30_000);
});

Deno.test("a retry wish is a floor, never a shortcut", () => {
  const { policy } = newPolicy();
  assertEquals(
    policy.afterRefusal({ ...transient, retryAfter: 120_000 }),
    120_000,
  );
  for (let n = 0; n < 6; n++) policy.afterRefusal(transient);
  assertEquals(policy.afterRefusal({ ...transient, retryAfter: 5 }), 30_000);
});

Deno.test("five short sessions in five minutes warn once per window and slow down until one lasts", () => {
  const { policy } = newPolicy();
  const warnings: number[] = [];
  for (let n = 1; n <= 12; n++) {
    if (policy.afterSession(clean, 100).warnOfSharedDevice) warnings.push(n);
  }
  assertEquals(warnings, [5]);
  assert(policy.flapping);
  policy.afterSession(clean, 60_000);
  assertEquals(policy.flapping, false);
});

Deno.test("short sessions far apart do not count as flapping", async () => {
  const { clock, policy } = newPolicy();
  for (let n = 0; n < 20; n++) {
    policy.afterSession(clean, 100);
    await clock.advance(75_001);
  }
  assertEquals(policy.flapping, false);
});

Deno.test("the warning comes back after five minutes of flapping", async () => {
  const { clock, policy } = newPolicy();
  for (let n = 0; n < 5; n++) policy.afterSession(clean, 100);
  await clock.advance(299_999);
  assertEquals(policy.afterSession(clean, 100).warnOfSharedDevice, false);
  await clock.advance(1);
  assertEquals(policy.afterSession(clean, 100).warnOfSharedDevice, true);
});

/** Connection times of two daemons of which each new connection evicts the other's. */
function duel(first: () => number, second: () => number, lead: number) {
  const clock = new VirtualClock();
  let now = 0;
  const at = { monotonic: () => now, now: () => now, after: clock.after };
  const daemons = [first, second].map((next, index) => ({
    policy: new ReconnectPolicy(at, { next }),
    dialAt: index * lead,
    opened: undefined as number | undefined,
    connects: [] as number[],
  }));
  while (now < 900_000) {
    const [a, b] = daemons;
    assert(a && b);
    const dialler = a.dialAt <= b.dialAt ? a : b;
    const other = dialler === a ? b : a;
    now = dialler.dialAt;
    dialler.connects.push(now);
    dialler.opened = now;
    dialler.dialAt = Infinity;
    if (other.opened !== undefined) {
      const { delay } = other.policy.afterSession(abrupt, now - other.opened);
      other.opened = undefined;
      other.dialAt = now + delay;
    }
  }
  return daemons.map((daemon) => daemon.connects);
}

function assertCalm(connects: readonly number[]): void {
  const start = connects[0] ?? 0;
  assert(
    connects.filter((at) => at < start + 60_000).length <= 4,
    `${connects}`,
  );
  const later = connects.filter((at) => at >= start + 60_000);
  later.slice(1).forEach((at, index) =>
    assert(at - (later[index] ?? 0) >= 60_000, `${connects}`)
  );
}

Deno.test("two daemons with one device id: at most 4 connects each in the first minute, then 1 a minute", () => {
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const chances = fc.infiniteStream(chance);
  fc.assert(
    fc.property(
      chances,
      chances,
      fc.integer({ min: 0, max: 30_000 }),
      (first, second, lead) => {
        const next = (stream: Iterator<number>) => () =>
          stream.next().value as number;
        for (const connects of duel(next(first), next(second), lead)) {
          assertCalm(connects);
        }
      },
    ),
    { numRuns: 300 },
  );
});

Deno.test("against a twin that comes back at once: at most 4 connects in the first minute, then 1 a minute", () => {
  for (const chance of [0, 0.5, 0.999_999]) {
    const { policy } = newPolicy({ next: () => chance });
    const connects = [0];
    for (let n = 0; n < 20; n++) {
      const last = connects.at(-1) ?? 0;
      connects.push(last + policy.afterSession(abrupt, 10).delay);
    }
    assertCalm(connects);
  }
});
