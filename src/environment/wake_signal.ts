// Owns the wake signals of this process: each is remembered until it is forgotten or waited for.

/** Starts to call `listener` at each signal; the returned function ends that. */
export type ListenForWake = (listener: () => void) => () => void;

/** The signal that the `resume` command sends. */
export const WAKE_SIGNAL = "SIGUSR1";

/** Listens on this process. */
export function listenToProcess(listener: () => void): () => void {
  Deno.addSignalListener(WAKE_SIGNAL, listener);
  return () => Deno.removeSignalListener(WAKE_SIGNAL, listener);
}

/** See the file comment. */
export class WakeSignal {
  readonly #stop: () => void;
  #received = false;
  #wake: (() => void) | undefined;

  constructor(listen: ListenForWake) {
    this.#stop = listen(() => {
      this.#received = true;
      this.#wake?.();
    });
  }

  /** Signals received so far are for no suspension that comes. */
  forget(): void {
    this.#received = false;
  }

  /**
   * Resolves at a signal since the last {@linkcode forget}, which is used up by that. One caller at
   * a time.
   *
   * @throws the reason of `signal` when it aborts first.
   */
  async received(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#received) {
      await new Promise<void>((resolve, reject) => {
        const onAbort = () => reject(signal.reason);
        signal.addEventListener("abort", onAbort, { once: true });
        this.#wake = () => {
          signal.removeEventListener("abort", onAbort);
          resolve();
        };
      }).finally(() => this.#wake = undefined);
    }
    this.#received = false;
  }

  /** Ends listening: the signal has its system effect again. */
  close(): void {
    this.#stop();
  }
}
