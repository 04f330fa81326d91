/** All native processes that this daemon started and has not seen end; for the forced stop. */
import type { Child, ChildOptions, SpawnChild } from "../harness/child.ts";
import { type Clock, within } from "../platform/clock.ts";

/** How long a forced stop waits for killed processes to be reaped, in milliseconds. */
const REAPING = 5_000;

/** Knows the live children of the daemon. */
export interface NativeChildren {
  /** The spawn function that everything must use. */
  readonly spawn: SpawnChild;
  /** Names and pids of the children that live. */
  names(): string[];
  /**
   * Kills every child with its group and waits at most 5 s. Resolves to the names of those whose
   * end stays unconfirmed.
   */
  killAll(clock: Clock): Promise<string[]>;
}

/** Watches what `spawn` starts. */
export function watchChildren(spawn: SpawnChild): NativeChildren {
  const live = new Map<Child, string>();
  return {
    async spawn(options: ChildOptions) {
      const child = await spawn(options);
      live.set(child, `${options.name} (pid ${child.pid})`);
      child.exited.then(() => live.delete(child));
      return child;
    },
    names: () => [...live.values()],
    async killAll(clock) {
      const killed = [...live.keys()];
      for (const child of killed) child.kill();
      const reaped = Promise.all(killed.map((child) => child.close()));
      try {
        await within(clock, REAPING, "reaping", reaped);
        return [];
      } catch {
        return [...live.values()]; // the names are the report
      }
    },
  };
}
