/**
 * Owns the frames one side received, in order, and the two ways of waiting for them: the next one,
 * or the proof that none comes within the silence window.
 */

/** Milliseconds a step may take before the replay gives up. */
export const STEP_LIMIT_MS = 3000;
/** Milliseconds in which a silent side must send nothing. */
export const SILENCE_WINDOW_MS = 50;

/** A queue with one reader. */
export class Inbox<T> {
  readonly #waiting: T[] = [];
  #wake: (() => void) | undefined;

  /** Adds what was received. */
  put(item: T): void {
    this.#waiting.push(item);
    this.#wake?.();
  }

  /** The next item. @throws {Error} when none comes within the step limit. */
  async next(): Promise<T> {
    const item = await this.#within(STEP_LIMIT_MS);
    if (item === undefined) throw new Error("nothing came");
    return item;
  }

  /** The item that broke the silence, or `undefined` when the window passed. */
  silence(): Promise<T | undefined> {
    return this.#within(SILENCE_WINDOW_MS);
  }

  async #within(milliseconds: number): Promise<T | undefined> {
    if (this.#waiting.length === 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = undefined;
    }
    return this.#waiting.shift();
  }
}
