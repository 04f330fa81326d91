// Owns the names of all detached work of a router, so that a shutdown that waits can say for what.
import { type Deferred, deferred } from "../platform/deferred.ts";
import type { Log } from "../platform/log.ts";

/** Detached pieces of work, each under a fixed name. */
export class TaskSet {
  readonly #log: Log;
  readonly #running = new Map<symbol, string>();
  readonly #listeners: (() => void)[] = [];
  #idle: Deferred<void> | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /**
   * Starts `work` and forgets it when it ends. Work handles its own expected failures: what it
   * throws is a bug, logged with its stack, and never ends the process.
   */
  run(name: string, work: () => Promise<void>): void {
    const key = Symbol(name);
    this.#running.set(key, name);
    const ended = () => {
      this.#running.delete(key);
      if (this.#running.size > 0) return;
      this.#idle?.resolve();
      this.#idle = undefined;
      for (const listener of this.#listeners) listener();
    };
    Promise.try(work).catch((error) => {
      this.#log.error("task failed", {
        task: name,
        error: error instanceof Error ? error : undefined,
      });
    }).finally(ended);
  }

  /** Names of what runs now, with repetitions, oldest first. */
  get names(): readonly string[] {
    return [...this.#running.values()];
  }

  /** Calls `listener` each time the last piece of work ended. */
  onIdle(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Resolves when nothing runs; work started meanwhile is waited for too. Bounded by its owners. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) {
      this.#idle ??= deferred();
      await this.#idle.promise;
    }
  }
}
