/**
 * The contract of a supervised native process. `supervised_child.ts` implements it.
 */
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";

/** What a native process is started with. Nothing is inherited from the daemon. */
export interface ChildOptions {
  /** Absolute path of the program. */
  readonly program: string;
  readonly arguments: readonly string[];
  /** Absolute path of an existing directory. */
  readonly workingDirectory: string;
  /** The complete environment. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * `messages` pipes stdin and stdout; `none` gives the process neither, for a program whose output
   * nobody reads: then {@linkcode Child.messages} is empty and every write rejects.
   */
  readonly pipes?: "messages" | "none";
  /** A short fixed name for logs and reports, such as `codex app-server`. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Bounds of {@linkcode Child.close}, in milliseconds per step. */
  readonly closeGrace: CloseGrace;
  /** The longest line taken from stdout, in bytes; a longer one ends the stream with an error. */
  readonly maximumLineBytes: number;
  /** `text` gives the lines of stdout as strings in place of JSON objects, for probes. */
  readonly stdout?: "json" | "text";
  /** Values that must not appear in the stderr tail. */
  readonly secrets?: readonly string[];
}

/** How long each step of a close may take before the next one, in milliseconds. */
export interface CloseGrace {
  /** From the end of stdin to SIGTERM. */
  readonly afterEndOfInput: number;
  /** From SIGTERM to SIGKILL. */
  readonly afterTerminate: number;
  /** From SIGKILL to giving the close up as unconfirmed. */
  readonly afterKill: number;
}

/** How a process ended. */
export interface ChildExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/**
 * One native process, alone in its process group. Owned until {@linkcode Child.close} resolved.
 */
export interface Child {
  readonly pid: number;
  /**
   * The JSON objects of stdout, one per line, in order; to be iterated exactly once. Text before
   * the first JSON line is skipped within a limit. Throws on a line that is too long or, after the
   * first JSON line, malformed where it starts like JSON (see `json_lines.ts`). Ends at the end of
   * stdout, or after the exit once others that hold it were silent for a second.
   */
  readonly messages: AsyncIterable<unknown>;
  /** Settles when the process was reaped; never rejects. */
  readonly exited: Promise<ChildExit>;
  /**
   * Writes one value as a line. Calls are serialised in order. Resolves after the complete write.
   * When `signal` aborts a write that has begun, the rest cannot be retracted: the input is closed
   * and every later write rejects.
   *
   * @throws {WriteNotStarted} when nothing of this line reached the pipe.
   * @throws anything else when a part may have been written.
   */
  write(value: unknown, signal?: AbortSignal): Promise<void>;
  /** The last 8 KiB of stderr, secrets replaced, control characters escaped. Local use only. */
  stderrTail(): string;
  /**
   * Ends the process: end of input, SIGTERM, SIGKILL, each with its grace; the group and the
   * descendants collected before the first forced signal too. Resolves when none of them lives.
   * Rejects with {@linkcode CloseUnconfirmed}; may be called again, callers share one attempt.
   */
  close(): Promise<void>;
  /** SIGKILL to the process, its group and its known descendants, now. Does not wait. */
  kill(): void;
}

/** Starts a supervised process. Rejects when it cannot be started; nothing is left then. */
export type SpawnChild = (options: ChildOptions) => Promise<Child>;

/** Nothing of the line reached the pipe. */
export class WriteNotStarted extends Error {
  override readonly name = "WriteNotStarted";
}

/** Some process may still live; the message names its pid. */
export class CloseUnconfirmed extends Error {
  override readonly name = "CloseUnconfirmed";
}
