/**
 * Runs one initialization step as a process: packages or a setup command. Its output is discarded,
 * its environment is the frozen one, and its result counts only when the process and everything it
 * started are gone.
 */
import type { SpawnChild } from "../harness/child.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Variables } from "./tool_environment.ts";

/** A process to run. */
export interface InitializationCommand {
  /** A fixed name for logs, such as `npm install`. */
  readonly name: string;
  /** Absolute path of the program. */
  readonly program: string;
  readonly arguments: readonly string[];
  /** An existing directory. */
  readonly workingDirectory: string;
  /** The complete environment. */
  readonly environment: Variables;
}

/** How a command ended: its exit code, or that this cannot be said. */
export type CommandOutcome =
  | { readonly outcome: "exited"; readonly code: number }
  | { readonly outcome: "not_started" }
  | { readonly outcome: "unknown" };

/** The longest a step may run, in milliseconds. */
export const LONGEST_RUN = 30 * 60_000;
/** A command is told to end, killed 250 ms later, and must then be gone within 5 s. */
const CLOSE_GRACE = {
  afterEndOfInput: 0,
  afterTerminate: 250,
  afterKill: 5_000,
};

/** What a run needs of the outside. */
export interface CommandParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly spawn: SpawnChild;
}

/**
 * Runs `command` to its end. When `signal` aborts, or after {@linkcode LONGEST_RUN}, all of it is
 * ended and the outcome is `unknown`. What outlives the command is ended too, before its exit code
 * counts. Never rejects.
 */
export async function runInitializationCommand(
  command: InitializationCommand,
  parts: CommandParts,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  if (signal.aborted) return { outcome: "unknown" };
  let child;
  try {
    child = await parts.spawn({
      ...command,
      pipes: "none",
      clock: parts.clock,
      log: parts.log,
      closeGrace: CLOSE_GRACE,
      maximumLineBytes: 1,
    });
  } catch (error) {
    parts.log.warn("initialization.not_started", {
      command: command.name,
      error: error instanceof Error ? error : String(error),
    });
    return { outcome: "not_started" };
  }
  const exit = await firstOf(child.exited, parts.clock, signal);
  try {
    await child.close();
  } catch (error) {
    parts.log.warn("initialization.close_unconfirmed", {
      command: command.name,
      error: error instanceof Error ? error : String(error),
    });
    return { outcome: "unknown" };
  }
  return exit === undefined || exit.code === null
    ? { outcome: "unknown" }
    : { outcome: "exited", code: exit.code };
}

/** The exit, or `undefined` when the signal or the time limit came first. */
function firstOf<T>(
  exited: Promise<T>,
  clock: Clock,
  signal: AbortSignal,
): Promise<T | undefined> {
  if (signal.aborted) return Promise.resolve(undefined); // it aborted while the process started
  return new Promise((resolve) => {
    const end = (value: T | undefined) => {
      timer.cancel();
      signal.removeEventListener("abort", onAbort);
      resolve(value);
    };
    const onAbort = () => end(undefined);
    const timer = clock.after(LONGEST_RUN, onAbort);
    signal.addEventListener("abort", onAbort, { once: true });
    exited.then(end);
  });
}
