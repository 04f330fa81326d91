/**
 * What makes planned suspensions possible: the control file and the wake signal of this process,
 * for a bound daemon on Linux that was given one.
 */
import {
  ControlUnavailable,
  SuspendControl,
} from "../environment/suspend_control.ts";
import { listenToProcess, WakeSignal } from "../environment/wake_signal.ts";
import type { ProcessIdentity } from "../harness/process_table.ts";
import type { Log } from "../platform/log.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import type { ProcessSuspensions } from "./session_parts.ts";

/** Suspensions of this process, with the end of what they hold. */
export interface OpenSuspensions extends ProcessSuspensions {
  /** Removes the control file and stops listening. */
  close(): Promise<void>;
}

/** What decides whether this daemon can be suspended. */
export interface SuspensionsOptions {
  /** The control file; `undefined` when none was given. */
  readonly path: string | undefined;
  /** The Environment of a bound daemon. */
  readonly environmentId: string | undefined;
  /** This process, when the system tells. */
  readonly process: ProcessIdentity | undefined;
  readonly outside: Outside;
  readonly log: Log;
}

/**
 * Takes the control file, when one is set.
 *
 * @throws {Mistake} when this daemon cannot be suspended, or the file cannot be taken.
 */
export function openSuspensions(
  options: SuspensionsOptions,
): OpenSuspensions | undefined {
  const { path, environmentId, process, outside, log } = options;
  if (path === undefined) return undefined;
  if (outside.operatingSystem !== "linux" || process === undefined) {
    throw mistake("works on Linux only", "leave it out");
  }
  if (environmentId === undefined) {
    throw mistake(
      "needs a daemon that is bound to a workspace and an Environment",
      "enrol the daemon, or leave it out",
    );
  }
  const control = taken(path, { ...process, environmentId }, outside);
  const wake = new WakeSignal((listener) =>
    listenToProcess(() => {
      log.info("wake_signal");
      listener();
    })
  );
  return {
    control: {
      environmentId,
      lastResumed: undefined,
      async arm(suspendId) {
        wake.forget();
        await control.store(suspendId);
      },
      disarm: () => control.store(undefined),
    },
    woken: (signal) => wake.received(signal),
    async close() {
      wake.close();
      await control.remove();
    },
  };
}

function taken(
  path: string,
  owner: ProcessIdentity & { readonly environmentId: string },
  outside: Outside,
): SuspendControl {
  const { pid, startTime, environmentId } = owner;
  try {
    return SuspendControl.open(
      path,
      { pid, startTime, environmentId },
      outside,
    );
  } catch (error) {
    if (!(error instanceof ControlUnavailable)) throw error;
    throw mistake(error.rule, error.fix);
  }
}

function mistake(rule: string, fix: string): Mistake {
  return new Mistake({
    place: "--suspend-control",
    rule,
    fix,
    exit: "configuration",
  });
}
