// Owns the memory of applied decisions and function results of one connection, so that a repeated
// delivery is answered without a second native submission.
import type { Clock } from "../platform/clock.ts";
import { MAX_REMEMBERED_DECISIONS, REMEMBERED_DECISION_MS } from "./limits.ts";

/** What the memory says about a delivery. */
export type Recollection = "unknown" | "same" | "conflict";

/** See the file comment. */
export class RememberedDecisions {
  readonly #clock: Clock;
  readonly #entries = new Map<string, { fingerprint: string; at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Compares a delivery with what was applied under the same key. */
  recall(key: string, fingerprint: string): Recollection {
    const entry = this.#entries.get(key);
    if (entry === undefined) return "unknown";
    return entry.fingerprint === fingerprint ? "same" : "conflict";
  }

  /** Remembers an applied decision; a full memory first forgets the old, then the oldest. */
  remember(key: string, fingerprint: string): void {
    const now = this.#clock.monotonic();
    if (this.#entries.size >= MAX_REMEMBERED_DECISIONS) this.#forget(now);
    this.#entries.set(key, { fingerprint, at: now });
  }

  #forget(now: number): void {
    for (const [key, { at }] of this.#entries) {
      if (now - at >= REMEMBERED_DECISION_MS) this.#entries.delete(key);
    }
    if (this.#entries.size < MAX_REMEMBERED_DECISIONS) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}

/** The key of a decision: its kind and interaction id. */
export function decisionKey(kind: string, interactionId: string): string {
  return JSON.stringify([kind, interactionId]);
}

/** The key of a function result: a call id means something in its Run only. */
export function resultKey(runId: string, callId: string): string {
  return JSON.stringify(["function", callId, runId]);
}
