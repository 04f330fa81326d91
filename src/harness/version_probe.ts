/** Asks programs short questions at discovery: a version, the PATH of a login shell. */
import { isAbsolute } from "@std/path";
import { type Clock, within } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Child, SpawnChild } from "./child.ts";
import { childEnvironment } from "./child_environment.ts";

/** What a probe of a program may take: milliseconds to its last line, and bytes of output. */
const PROBE_MILLISECONDS = 15_000;
const PROBE_BYTES = 16 * 1024;
/** A login shell that needs longer than this is not waited for. */
const SHELL_MILLISECONDS = 5_000;
/** How long the answer of a login shell counts. */
const SHELL_ANSWER_LIFETIME = 30 * 60 * 1000;
const PROBE_GRACE = {
  afterEndOfInput: 500,
  afterTerminate: 500,
  afterKill: 2_000,
};

/** What probes work with. */
export interface ProbeContext {
  readonly environment: Readonly<Record<string, string>>;
  readonly operatingSystem: "linux" | "darwin" | "windows";
  readonly clock: Clock;
  readonly log: Log;
  readonly spawn: SpawnChild;
}

/** A program to ask. */
export interface Probe {
  readonly program: string;
  readonly arguments: readonly string[];
  /** An existing directory without anything of a user in it. */
  readonly workingDirectory: string;
  /** Directories to search for interpreters before PATH. */
  readonly pathPrefix?: readonly string[];
  /** An own home; absent is the user's. */
  readonly home?: string;
}

/** The first line that is not blank, or a fixed sentence on why there is none. */
export type ProbeAnswer =
  | { readonly ok: true; readonly line: string }
  | { readonly ok: false; readonly reason: string };

/**
 * Starts a program such as `codex --version` under supervision and takes its first line. Bounded
 * by 15 s and 16 KiB; its diagnostics go nowhere.
 *
 * @throws {CloseUnconfirmed} when the program could not be ended.
 */
export async function probeVersion(
  context: ProbeContext,
  probe: Probe,
): Promise<ProbeAnswer> {
  const answer = await ask(context, probe, PROBE_MILLISECONDS, firstLine);
  if (answer.ok && answer.value === undefined) {
    return { ok: false, reason: "The program printed nothing" };
  }
  return answer.ok ? { ok: true, line: answer.value ?? "" } : answer;
}

/** The PATH that the user's login shell sets up, asked at most every 30 minutes. */
export class LoginShellPath {
  readonly #context: ProbeContext;
  #answer:
    | { readonly at: number; readonly path: Promise<string | undefined> }
    | undefined;

  constructor(context: ProbeContext) {
    this.#context = context;
  }

  /** The PATH, or `undefined` where the shell does not tell within 5 s. */
  read(): Promise<string | undefined> {
    const now = this.#context.clock.monotonic();
    if (!this.#answer || now - this.#answer.at >= SHELL_ANSWER_LIFETIME) {
      this.#answer = { at: now, path: this.#ask() };
    }
    return this.#answer.path;
  }

  async #ask(): Promise<string | undefined> {
    const { environment, operatingSystem } = this.#context;
    const shell = environment.SHELL;
    if (operatingSystem === "windows" || !shell || !isAbsolute(shell)) {
      return undefined;
    }
    const answer = await ask(
      this.#context,
      {
        program: shell,
        // Many set PATH up in the files of interactive shells only.
        arguments: ["-l", "-i", "-c", `printf '\\n${MARK}%s\\n' "$PATH"`],
        workingDirectory: "/",
      },
      SHELL_MILLISECONDS,
      markedLine,
    );
    return answer.ok ? answer.value : undefined;
  }
}

/** Tells the answer from what start-up files print. */
const MARK = "agent-daemon-path=";

type Reading = (lines: AsyncIterable<string>) => Promise<string | undefined>;

async function firstLine(
  lines: AsyncIterable<string>,
): Promise<string | undefined> {
  for await (const line of lines) if (line.trim() !== "") return line.trim();
}

async function markedLine(
  lines: AsyncIterable<string>,
): Promise<string | undefined> {
  for await (const line of lines) {
    if (line.startsWith(MARK)) return line.slice(MARK.length);
  }
}

type Answer =
  | { readonly ok: true; readonly value: string | undefined }
  | { readonly ok: false; readonly reason: string };

async function ask(
  context: ProbeContext,
  probe: Probe,
  milliseconds: number,
  read: Reading,
): Promise<Answer> {
  let child: Child;
  try {
    child = await start(context, probe);
  } catch (error) {
    context.log.info("probe.not_started", { error: asError(error) });
    return { ok: false, reason: "The program could not be started" };
  }
  const answer = await readAnswer(context, child, milliseconds, read);
  // Nothing of it is needed any more: no grace for whatever it still does.
  child.kill();
  try {
    await child.close();
    return answer;
  } catch (error) {
    context.log.error("probe.end_unconfirmed", { error: asError(error) });
    return { ok: false, reason: "The program could not be ended" };
  }
}

async function readAnswer(
  context: ProbeContext,
  child: Child,
  milliseconds: number,
  read: Reading,
): Promise<Answer> {
  try {
    const work = read(boundedLines(child));
    return {
      ok: true,
      value: await within(context.clock, milliseconds, "probe", work),
    };
  } catch (error) {
    context.log.info("probe.failed", { error: asError(error) });
    return { ok: false, reason: "The program did not answer its probe" };
  }
}

function start(context: ProbeContext, probe: Probe): Promise<Child> {
  const { environment, operatingSystem, clock, log, spawn } = context;
  return spawn({
    program: probe.program,
    arguments: probe.arguments,
    workingDirectory: probe.workingDirectory,
    environment: childEnvironment({
      source: environment,
      operatingSystem,
      ...(probe.home === undefined ? {} : { home: probe.home }),
      ...(probe.pathPrefix ? { pathPrefix: probe.pathPrefix } : {}),
    }),
    name: "probe",
    clock,
    log,
    closeGrace: PROBE_GRACE,
    maximumLineBytes: PROBE_BYTES,
    stdout: "text",
  });
}

async function* boundedLines(child: Child): AsyncGenerator<string> {
  let bytes = 0;
  for await (const line of child.messages) {
    if (typeof line !== "string") continue;
    bytes += line.length + 1;
    if (bytes > PROBE_BYTES) throw new Error("The probe printed too much");
    yield line;
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
