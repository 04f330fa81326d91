/**
 * Time as a parameter. Every module that waits or stamps takes a {@linkcode Clock};
 * production passes {@linkcode systemClock}, tests pass a virtual one.
 */

/** A pending callback of a {@linkcode Clock}. */
export interface Timer {
  /** Forgets the callback. Harmless after it ran or was cancelled. */
  cancel(): void;
}

/** A source of time. All durations are milliseconds. */
export interface Clock {
  /** Wall time as Unix milliseconds. May jump when the machine's clock is set. */
  now(): number;
  /** Milliseconds since an arbitrary start; never goes backwards. */
  monotonic(): number;
  /** Runs `callback` once after `milliseconds`; values below zero count as zero. */
  after(milliseconds: number, callback: () => void): Timer;
}

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(milliseconds, callback) {
    const handle = setTimeout(callback, Math.max(0, milliseconds));
    return { cancel: () => clearTimeout(handle) };
  },
};

/**
 * Resolves after `milliseconds` of `clock`.
 *
 * @throws the reason of `signal` when it aborts first; the timer is then cancelled.
 */
export function sleep(
  clock: Clock,
  milliseconds: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.after(milliseconds, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** A wait that ran out of its budget. The work waited for goes on. */
export class DeadlineExceeded extends Error {
  override readonly name = "DeadlineExceeded";
  /** Names the wait and its budget in milliseconds; carries no payload. */
  constructor(readonly what: string, readonly milliseconds: number) {
    super(`${what} did not finish within ${milliseconds} ms`);
  }
}

/**
 * Waits for `work` at most `milliseconds`. The deadline ends the wait only: `work` is neither
 * cancelled nor forgotten, and its later rejection is handled here.
 *
 * @throws {DeadlineExceeded} when the budget runs out first.
 */
export function within<T>(
  clock: Clock,
  milliseconds: number,
  what: string,
  work: Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(
      milliseconds,
      () => reject(new DeadlineExceeded(what, milliseconds)),
    );
    work.then(
      (value) => {
        timer.cancel();
        resolve(value);
      },
      (error) => {
        timer.cancel();
        reject(error);
      },
    );
  });
}

/** An abort signal that fires after `milliseconds` of `clock` or when `parent` does. */
export function deadlineSignal(
  clock: Clock,
  milliseconds: number,
  what: string,
  parent?: AbortSignal,
): { readonly signal: AbortSignal; cancel(): void } {
  const controller = new AbortController();
  const timer = clock.after(
    milliseconds,
    () => controller.abort(new DeadlineExceeded(what, milliseconds)),
  );
  const onParent = () => {
    timer.cancel();
    controller.abort(parent?.reason);
  };
  if (parent?.aborted) onParent();
  else parent?.addEventListener("abort", onParent, { once: true });
  return {
    signal: controller.signal,
    cancel() {
      timer.cancel();
      parent?.removeEventListener("abort", onParent);
    },
  };
}
