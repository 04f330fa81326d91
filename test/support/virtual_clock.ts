import { setImmediate } from "node:timers";
import type { Clock, Timer } from "../../src/platform/clock.ts";

interface Pending {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

/**
 * A clock that stands still until a test moves it. Timers run in order of their due time; between
 * two timers the microtask queue and pending events of the runtime get their turn.
 */
export class VirtualClock implements Clock {
  #now: number;
  #monotonic = 0;
  #order = 0;
  readonly #pending = new Set<Pending>();

  constructor(now = 1_767_225_600_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  after(milliseconds: number, callback: () => void): Timer {
    const entry: Pending = {
      at: this.#monotonic + Math.max(0, milliseconds),
      order: this.#order++,
      callback,
    };
    this.#pending.add(entry);
    return { cancel: () => void this.#pending.delete(entry) };
  }

  /** Timers that have not run and were not cancelled. A leak test asserts 0. */
  get pendingTimers(): number {
    return this.#pending.size;
  }

  /** Moves only the wall clock, as a machine does that was asleep or was set. */
  jump(milliseconds: number): void {
    this.#now += milliseconds;
  }

  /** Lets time pass, running each due timer at its own instant. */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#monotonic + milliseconds;
    await settleEvents();
    for (;;) {
      let next: Pending | undefined;
      for (const entry of this.#pending) {
        if (entry.at > end) continue;
        if (
          !next || entry.at < next.at ||
          (entry.at === next.at && entry.order < next.order)
        ) next = entry;
      }
      if (!next) break;
      this.#pending.delete(next);
      this.#moveTo(next.at);
      next.callback();
      await settleEvents();
    }
    this.#moveTo(end);
    await settleEvents();
  }

  #moveTo(monotonic: number): void {
    this.#now += monotonic - this.#monotonic;
    this.#monotonic = monotonic;
  }
}

/** Gives every promise chain that is already runnable its turn; waits for no time. */
export async function settleEvents(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) {
    // A turn of the event loop: unlike a message through a channel, which Deno delivers between
    // two microtasks, it comes after every promise chain has run dry.
    await new Promise<void>((resolve) => setImmediate(() => resolve()));
  }
}
