/**
 * The processes of this machine as an owner of some of them needs to see them: who descends from
 * whom, and whether a pid is still the process it was. Reads and signals only; owns no process.
 */
import { linuxProcesses } from "./process_table_linux.ts";
import { psProcesses } from "./process_table_ps.ts";
import { windowsProcesses } from "./process_table_windows.ts";

/** One live process. A zombie is not live: it runs nothing and holds nothing. */
export interface ProcessEntry extends ProcessIdentity {
  readonly parentPid: number;
  /** Its process group; the own pid where the system has no groups. */
  readonly group: number;
  /** Its session, where the system tells. */
  readonly session?: number;
}

/** What tells a process from a later one with the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  /**
   * When it started, in a unit of the system: never changes during the life of the process, and
   * an earlier process never has a greater value. Comparable within one boot only.
   */
  readonly startTime: number;
}

/**
 * Requests a process to end, ends it, or freezes it until then. Windows has nothing that freezes
 * and does nothing there.
 */
export type EndingSignal = "SIGTERM" | "SIGKILL" | "SIGSTOP";

/** The part of an operating system that deals with processes. */
export interface ProcessTable {
  /** All live processes that can be seen. Rejects when the system cannot be asked. */
  list(): Promise<readonly ProcessEntry[]>;
  /** Signals one process. A process that is gone is no error. */
  signal(pid: number, signal: EndingSignal): Promise<void>;
  /**
   * Signals a process group; on a system without groups, the process and its present children.
   * A group that is empty is no error.
   */
  signalGroup(group: number, signal: EndingSignal): Promise<void>;
  /** Names this boot of the machine: an identity of another boot means nothing. */
  bootId(): Promise<string>;
}

/** The process table of `operatingSystem`. */
export function processTable(
  operatingSystem: typeof Deno.build.os,
): ProcessTable {
  switch (operatingSystem) {
    case "linux":
      return linuxProcesses();
    case "windows":
      return windowsProcesses(runTool);
    default:
      return psProcesses(runTool);
  }
}

/** Runs a tool of the operating system and returns its stdout. Rejects when it fails. */
export type RunTool = (
  program: string,
  toolArguments: readonly string[],
) => Promise<string>;

/** Runs a system tool with a fixed environment, so that its output has one shape. */
async function runTool(
  program: string,
  toolArguments: readonly string[],
): Promise<string> {
  const output = await new Deno.Command(program, {
    args: [...toolArguments],
    env: { LC_ALL: "C", TZ: "UTC0" },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).output();
  if (!output.success) {
    throw new Error(`${program} ended with code ${output.code}`);
  }
  return new TextDecoder().decode(output.stdout);
}

/** Whether `entries` still hold exactly this process, not a later one with its pid. */
export function stillLives(
  entries: readonly ProcessEntry[],
  identity: ProcessIdentity,
): boolean {
  return entries.some((entry) =>
    entry.pid === identity.pid && entry.startTime === identity.startTime
  );
}
