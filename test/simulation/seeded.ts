// Chance and time of a simulation: both are functions of the seed.
import type { Clock, Timer } from "../../src/platform/clock.ts";

/** A small generator with a full period over its 32 bits of state. */
export class Seeded {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A number in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  pick<T>(items: readonly T[]): T | undefined {
    return items[this.below(items.length)];
  }
}

/** Gives every runnable promise chain its turn. Longer than the longest chain of the dispatcher. */
export async function drain(): Promise<void> {
  for (let turn = 0; turn < 120; turn++) await null;
}

interface Pending {
  readonly at: number;
  readonly callback: () => void;
}

/** A clock that moves only when told, with timers in order of time, then of creation. */
export class SimulationClock implements Clock {
  #now = 0;
  readonly #pending = new Set<Pending>();

  now(): number {
    return 1_767_225_600_000 + this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(milliseconds: number, callback: () => void): Timer {
    const entry = { at: this.#now + Math.max(0, milliseconds), callback };
    this.#pending.add(entry);
    return { cancel: () => void this.#pending.delete(entry) };
  }

  get pendingTimers(): number {
    return this.#pending.size;
  }

  /** Lets time pass; `after` each timer everything runnable runs and `check` is called. */
  async advance(milliseconds: number, check: () => void): Promise<void> {
    const end = this.#now + milliseconds;
    for (;;) {
      let next: Pending | undefined;
      for (const entry of this.#pending) {
        if (entry.at <= end && (!next || entry.at < next.at)) next = entry;
      }
      if (next === undefined) break;
      this.#pending.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
      await drain();
      check();
    }
    this.#now = end;
  }
}
