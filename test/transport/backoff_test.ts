// The arithmetic of delays.
import { assert, assertEquals } from "@std/assert";
import * as fc from "fast-check";
import {
  backoffDelay,
  DEFAULT_BACKOFF,
  jittered,
} from "../../src/transport/backoff.ts";

const exact = (cap: number) => ({ ...DEFAULT_BACKOFF, cap });

Deno.test("delays grow 1, 2, 4, 8, 16, 30, 30 seconds", () => {
  const delays = [1, 2, 3, 4, 5, 6, 7].map((n) =>
    backoffDelay(DEFAULT_BACKOFF, n)
  );
  assertEquals(delays, [1000, 2000, 4000, 8000, 16000, 30000, 30000]);
});

Deno.test("a cap of 10 s gives 1, 2, 4, 8, 10, 10", () => {
  const delays = [1, 2, 3, 4, 5, 6].map((n) => backoffDelay(exact(10_000), n));
  assertEquals(delays, [1000, 2000, 4000, 8000, 10000, 10000]);
});

Deno.test("unusable settings fall back to 1 s, 30 s and factor 2", () => {
  for (const bad of [0, -1]) {
    const policy = { base: bad, cap: bad, factor: bad, jitter: 0 };
    assertEquals([1, 2, 9].map((n) => backoffDelay(policy, n)), [
      1000,
      2000,
      30000,
    ]);
  }
});

Deno.test("any attempt number gives a delay between base and cap", () => {
  fc.assert(fc.property(fc.integer({ min: -5, max: 1_000_000 }), (n) => {
    const delay = backoffDelay(DEFAULT_BACKOFF, n);
    return delay >= 1000 && delay <= 30_000;
  }));
});

Deno.test("chance moves a delay by at most a fifth, either way", () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (chance) => {
        const delay = jittered(10_000, 0.2, { next: () => chance });
        return delay >= 8_000 - 1e-6 && delay <= 12_000 + 1e-6;
      },
    ),
  );
  assertEquals(jittered(10_000, 0.2, { next: () => 0 }), 8_000);
  assertEquals(
    Math.round(jittered(10_000, 0.2, { next: () => 0.999999 })),
    12_000,
  );
});

Deno.test("a broken source of chance still gives the plain delay", () => {
  for (const chance of [NaN, -1, 1, 7, Infinity]) {
    assertEquals(jittered(10_000, 0.2, { next: () => chance }), 10_000);
  }
  assert(jittered(0, 0.2, { next: () => 0 }) === 0);
});
