// Owns the proof that the peer is there: pings, the limit on silence, and the look at the wall
// clock that tells a sleep of the machine. It never claims more than "heard from, this long ago".
import type { Clock, Timer } from "../platform/clock.ts";
import { SILENCE_LIMIT, SLEEP_LIMIT } from "./limits.ts";

/** What liveness watches and does. */
export interface LivenessOptions {
  readonly clock: Clock;
  /** Milliseconds between two pings. */
  readonly interval: number;
  /** Bytes received so far. */
  readonly bytesRead: () => number;
  readonly ping: () => void;
  /** Runs at most once; liveness has stopped then. */
  readonly onDead: (cause: "silent" | "machine_slept") => void;
}

/** Watches one socket from its opening to its end. */
export class Liveness {
  readonly #options: LivenessOptions;
  #lastHeard: number;
  #bytes: number;
  #nextPing: number;
  #drift: number;
  #paused = false;
  #timer: Timer | undefined;
  #stopped = false;

  /** Pings at once and then at the interval. */
  constructor(options: LivenessOptions) {
    this.#options = options;
    const { clock } = options;
    this.#lastHeard = clock.monotonic();
    this.#nextPing = this.#lastHeard;
    this.#bytes = options.bytesRead();
    this.#drift = clock.now() - clock.monotonic();
    this.#check();
  }

  /** A message, ping or pong came in. */
  heard(): void {
    this.#lastHeard = this.#options.clock.monotonic();
    // Only bytes after this count as further life: those of a message that is still arriving.
    this.#bytes = this.#options.bytesRead();
  }

  /** Reading stopped on our own account: silence proves nothing until {@linkcode resumed}. */
  paused(): void {
    this.#paused = true;
  }

  /** Reading goes on; the peer gets the whole limit again. */
  resumed(): void {
    this.#paused = false;
    this.heard();
  }

  /** Ends the watch. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #check(): void {
    if (this.#stopped) return;
    const { clock, ping } = this.#options;
    const now = clock.monotonic();
    if (this.#slept(now)) return this.#die("machine_slept");
    const bytes = this.#options.bytesRead();
    if (bytes !== this.#bytes || this.#paused) this.#lastHeard = now;
    this.#bytes = bytes;
    if (now - this.#lastHeard >= SILENCE_LIMIT) return this.#die("silent");
    if (now >= this.#nextPing) {
      this.#nextPing = now + this.#options.interval;
      ping();
    }
    if (this.#stopped) return;
    const due = Math.min(this.#nextPing, this.#lastHeard + SILENCE_LIMIT);
    this.#timer = clock.after(due - now, () => this.#check());
  }

  /** Timers stand still while a machine sleeps, its wall clock does not. */
  #slept(now: number): boolean {
    const drift = this.#options.clock.now() - now;
    const jump = drift - this.#drift;
    this.#drift = drift;
    return jump >= SLEEP_LIMIT;
  }

  #die(cause: "silent" | "machine_slept"): void {
    this.stop();
    this.#options.onDead(cause);
  }
}
