/** Notices when nothing is heard of a Turn although the model is to answer. Owns one timer. */
import type { Clock, Timer } from "../../src/platform/clock.ts";

/** A watch over one Turn. */
export class SilenceWatch {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #excused: () => boolean;
  #lastSign: number;
  #timer: Timer | undefined;

  /** `excused` tells whether the engine waits for something else than the model. */
  constructor(clock: Clock, limit: number, excused: () => boolean) {
    this.#clock = clock;
    this.#limit = limit;
    this.#excused = excused;
    this.#lastSign = clock.monotonic();
  }

  /** Something was heard. */
  sign(): void {
    this.#lastSign = this.#clock.monotonic();
  }

  /** Calls `act` once after the limit of silence; replaces an earlier watch. */
  watch(act: () => void): void {
    this.#timer?.cancel();
    const silence = this.#clock.monotonic() - this.#lastSign;
    this.#timer = this.#clock.after(this.#limit - silence, () => {
      if (this.#excused()) this.sign();
      const heard = this.#clock.monotonic() - this.#lastSign < this.#limit;
      if (heard) this.watch(act);
      else act();
    });
  }

  /** Ends the watch. */
  stop(): void {
    this.#timer?.cancel();
  }
}
