/** All native processes that this daemon started and has not proven gone; for the forced stop. */
import type { Child, ChildOptions, SpawnChild } from "../harness/child.ts";
import { type Clock, within } from "../platform/clock.ts";

/** How long a forced stop waits for killed processes to be reaped, in milliseconds. */
const REAPING = 5_000;

/** Knows the live children of the daemon. */
export interface NativeChildren {
  /** The spawn function that everything must use. */
  readonly spawn: SpawnChild;
  /** Names and pids of the children that were not proven gone. */
  names(): string[];
  /**
   * Kills every child with its group and waits at most 5 s. Resolves to the names of those whose
   * end stays unconfirmed.
   */
  killAll(clock: Clock): Promise<string[]>;
}

/**
 * Watches what `spawn` starts. A child counts until its close succeeded: one that ended by itself
 * may have left processes behind.
 */
export function watchChildren(spawn: SpawnChild): NativeChildren {
  const live = new Map<Child, string>();
  return {
    async spawn(options: ChildOptions) {
      const child = await spawn(options);
      const watched: Child = {
        pid: child.pid,
        messages: child.messages,
        exited: child.exited,
        write: (value, signal) => child.write(value, signal),
        stderrTail: () => child.stderrTail(),
        async close() {
          await child.close();
          live.delete(watched);
        },
        kill: () => child.kill(),
      };
      live.set(watched, `${options.name} (pid ${child.pid})`);
      return watched;
    },
    names: () => [...live.values()],
    async killAll(clock) {
      const killed = [...live.keys()];
      for (const child of killed) child.kill();
      const reaped = Promise.allSettled(killed.map((child) => child.close()));
      try {
        await within(clock, REAPING, "reaping", reaped);
      } catch {
        // The names are the report.
      }
      return [...live.values()];
    },
  };
}
