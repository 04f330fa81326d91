// Owns the arithmetic of delays. Pure: no clock and no state.
import type { Random } from "../platform/ids.ts";
import {
  BACKOFF_BASE,
  BACKOFF_CAP,
  BACKOFF_FACTOR,
  BACKOFF_JITTER,
} from "./limits.ts";

/** How delays grow. Durations in milliseconds. */
export interface BackoffPolicy {
  readonly base: number;
  readonly cap: number;
  readonly factor: number;
  /** Share of the delay by which chance may move it, either way. */
  readonly jitter: number;
}

/** The policy between failed attempts. */
export const DEFAULT_BACKOFF: BackoffPolicy = {
  base: BACKOFF_BASE,
  cap: BACKOFF_CAP,
  factor: BACKOFF_FACTOR,
  jitter: BACKOFF_JITTER,
};

/** The delay before retry `n`, counted from 1, without chance. Unusable settings fall back. */
export function backoffDelay(policy: BackoffPolicy, n: number): number {
  const base = policy.base > 0 ? policy.base : DEFAULT_BACKOFF.base;
  const cap = policy.cap > 0 ? policy.cap : DEFAULT_BACKOFF.cap;
  const factor = policy.factor > 1 ? policy.factor : DEFAULT_BACKOFF.factor;
  return Math.min(cap, base * factor ** Math.max(0, n - 1));
}

/**
 * Moves a delay by chance: by up to `share` of it, and never below zero. A broken source of chance
 * counts as its middle, so that the caller always gets a delay.
 */
export function jittered(
  delay: number,
  share: number,
  random: Random,
): number {
  const chance = random.next();
  const bounded = chance >= 0 && chance < 1 ? chance : 0.5;
  return Math.max(0, delay * (1 + share * (2 * bounded - 1)));
}
