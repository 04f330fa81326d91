// Owns the order of native submissions of one Run: one at a time, in order of arrival, outside the
// receive loop.
import { MAX_WAITING_SUBMISSIONS } from "./limits.ts";

/** See the file comment. */
export class SerialQueue {
  #tail: Promise<void> = Promise.resolve();
  #waiting = 0;

  /** Whether one more submission may wait. */
  get hasRoom(): boolean {
    return this.#waiting < MAX_WAITING_SUBMISSIONS;
  }

  /** Runs `work` after everything queued before it, whatever became of that. */
  add(work: () => Promise<void>): Promise<void> {
    this.#waiting++;
    const turn = this.#tail.then(work).finally(() => {
      this.#waiting--;
    });
    this.#tail = turn.catch(() => {}); // the caller of `add` sees the failure
    return turn;
  }
}
