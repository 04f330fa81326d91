/**
 * A service manager as the commands see it: writes a definition, asks the manager, and says what
 * it found. Every effect goes through the parameters, so that tests run each manager anywhere.
 */
import type { ServicePlan } from "./plan.ts";

/** What a finished command left. */
export interface CommandOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The machine as a manager needs it. */
export interface ServiceHost {
  /** Runs a program to its end, at most 30 s; a missing one has the code 127. */
  run(words: readonly string[]): Promise<CommandOutcome>;
  /** The text at `path`, or `undefined` when there is none. */
  read(path: string): Promise<string | undefined>;
  /** Writes `path` in one step; makes its directory. */
  write(path: string, text: string, mode: number): Promise<void>;
  remove(path: string): Promise<void>;
  /** The user id for names of launchd domains. */
  readonly userId: number | null;
  readonly userName: string;
}

/** What is known about the installed service. */
export interface ServiceState {
  readonly path: string;
  readonly installed: boolean;
  /** Whether the installed definition is the one this program would write now. */
  readonly current: boolean;
  readonly enabled: boolean;
  readonly running: boolean;
  /** What an operator should know, one line each. */
  readonly notes: readonly string[];
}

/** One service under one manager. */
export interface ServiceManager {
  /** Where the definition lies. */
  readonly path: string;
  /** The definition. */
  render(): string;
  /** Writes the definition, enables it, and starts it unless told otherwise. */
  install(options: { readonly start: boolean }): Promise<void>;
  /** Stops and removes it. Without one it does nothing. */
  uninstall(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
  restart(): Promise<void>;
  state(): Promise<ServiceState>;
}

/** The manager refused. The message holds the command, its code and the first line it printed. */
export class ManagerRefused extends Error {
  override readonly name = "ManagerRefused";
}

/**
 * Runs a command of the manager.
 *
 * @throws {ManagerRefused} when it does not end with 0.
 */
export async function ask(
  host: ServiceHost,
  words: readonly string[],
): Promise<string> {
  const outcome = await host.run(words);
  if (outcome.code === 0) return outcome.stdout.trim();
  const line = (outcome.stderr || outcome.stdout).trim().split("\n")[0] ?? "";
  throw new ManagerRefused(
    `${words.join(" ")} ended with ${outcome.code}: ${line.slice(0, 200)}`,
  );
}

/** Compares the installed definition with the rendered one; line ends do not count. */
export async function compareDefinition(
  host: ServiceHost,
  path: string,
  rendered: string,
): Promise<{ readonly installed: boolean; readonly current: boolean }> {
  const text = await host.read(path);
  const plain = (each: string) => each.replaceAll("\r\n", "\n").trim();
  return {
    installed: text !== undefined,
    current: text !== undefined && plain(text) === plain(rendered),
  };
}

/** A note that tells how to bring a changed definition up to date. */
export function driftNotes(
  plan: ServicePlan,
  state: { readonly installed: boolean; readonly current: boolean },
): string[] {
  if (!state.installed || state.current) return [];
  return [
    `the definition differs from what this version writes; run: agent-daemon service install --${plan.scope}`,
  ];
}
