// Owns the two waits that end early: for a promise beside a signal, and for the end of a counter.
import { type Deferred, deferred } from "../platform/deferred.ts";

/** A wait that a signal ended. What was waited for goes on. */
export class WaitAborted extends Error {
  override readonly name = "WaitAborted";
}

/**
 * Waits for `work` until `signal` aborts. The work itself goes on and its later rejection counts as
 * handled.
 *
 * @throws {WaitAborted} when the signal aborts first.
 */
export function untilAborted<T>(
  signal: AbortSignal,
  work: Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new WaitAborted("the wait was ended"));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() =>
      signal.removeEventListener("abort", onAbort)
    );
  });
}

/** Counts operations in progress; a release waits until it is zero. */
export class OperationCounter {
  #count = 0;
  #zero: Deferred<void> | undefined;

  /** Operations in progress. */
  get count(): number {
    return this.#count;
  }

  /** Registers one operation. The returned function ends it; later calls change nothing. */
  begin(): () => void {
    this.#count++;
    let open = true;
    return () => {
      if (!open) return;
      open = false;
      this.#count--;
      if (this.#count > 0) return;
      this.#zero?.resolve();
      this.#zero = undefined;
    };
  }

  /** Resolves when no operation is in progress. Bounded by the operations' own budgets. */
  async idle(): Promise<void> {
    while (this.#count > 0) {
      this.#zero ??= deferred();
      await this.#zero.promise;
    }
  }
}
