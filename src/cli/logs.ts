/** `logs`: the end of the log file, or the journal of the service. */
import { join } from "@std/path";
import { sleep } from "../platform/clock.ts";
import type { Invocation } from "./command.ts";
import { EXIT_CODES } from "./exit_codes.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import { resolveSettings } from "./settings.ts";

/** Bytes read from the end to find the first lines. */
const TAIL_BYTES = 4 * 1024 * 1024;
/** Pause between two looks of `-f`, in milliseconds. */
const PAUSE = 500;
/** Bytes shown at once. */
const PIECE = 65_536;

/** Prints the log. The resolved source goes to stderr, so that stdout is the log alone. */
export async function logsCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  const settings = await resolveSettings(invocation, outside);
  const lines = linesOf(invocation);
  const follow = invocation.options.has("follow");
  const path = settings.values.logFile ??
    await existing(join(settings.directories.logs, "agent-daemon.log"));
  if (path !== undefined) {
    outside.stderr.write(`${path}\n`);
    await showFile(path, { lines, follow }, outside);
    return EXIT_CODES.ok.code;
  }
  if (outside.operatingSystem !== "linux") {
    throw new Mistake({
      place: "log",
      rule: "no log file is known",
      fix: "give --log-file, as the daemon has it",
      exit: "configuration",
    });
  }
  return await showJournal({ lines, follow }, outside);
}

interface Extent {
  readonly lines: number;
  readonly follow: boolean;
}

function linesOf(invocation: Invocation): number {
  const text = invocation.options.get("lines") ?? "100";
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new Mistake({
    place: "--lines",
    rule: "must be a whole number",
    fix: "write -n 100",
    exit: "usage",
  });
}

async function existing(path: string): Promise<string | undefined> {
  try {
    return (await Deno.stat(path)).isFile ? path : undefined;
  } catch {
    return undefined; // not there
  }
}

async function showFile(
  path: string,
  extent: Extent,
  outside: Outside,
): Promise<void> {
  // One open file for both parts, or a rotation between them would lose lines.
  const source = await Followed.open(path);
  if (!source) {
    throw new Mistake({
      place: path,
      rule: "does not exist",
      fix: "start the daemon with this --log-file first",
      exit: "configuration",
    });
  }
  const all = (await source.tail()).split("\n");
  const complete = all.at(-1) === "" ? all.slice(0, -1) : all;
  for (const line of complete.slice(-extent.lines || complete.length)) {
    if (extent.lines > 0) outside.stdout.write(`${line}\n`);
  }
  if (extent.follow) await follow(path, source, outside);
  else source.close();
}

async function follow(
  path: string,
  first: Followed,
  outside: Outside,
): Promise<void> {
  const ended = new AbortController();
  const listener = () => ended.abort();
  Deno.addSignalListener("SIGINT", listener);
  let source: Followed | undefined = first;
  try {
    for (;;) {
      await sleep(outside.clock, PAUSE, ended.signal);
      // The name first: what was written before a rotation is then in the open file.
      const renamed = await source?.isRenamed(path) ?? true;
      await source?.pour(outside);
      if (!renamed) continue;
      source?.close();
      source = await Followed.open(path);
      await source?.pour(outside);
    }
  } catch (error) {
    if (!ended.signal.aborted) throw error;
  } finally {
    source?.close();
    Deno.removeSignalListener("SIGINT", listener);
  }
}

/** The open log file: what is written to it is read to its end, also after a rotation. */
class Followed {
  readonly #file: Deno.FsFile;
  readonly #identity: string;
  readonly #decoder = new TextDecoder();

  private constructor(file: Deno.FsFile, identity: string) {
    this.#file = file;
    this.#identity = identity;
  }

  /** `undefined` between two names of a rotation. */
  static async open(path: string): Promise<Followed | undefined> {
    try {
      const file = await Deno.open(path);
      return new Followed(file, identityOf(await file.stat()));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  }

  /** Whether the name stands for another file by now, or for none. */
  async isRenamed(path: string): Promise<boolean> {
    try {
      return identityOf(await Deno.stat(path)) !== this.#identity;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return true;
      throw error;
    }
  }

  /** The last megabytes; what comes later is left to {@linkcode Followed.pour}. */
  async tail(): Promise<string> {
    const { size } = await this.#file.stat();
    const start = Math.max(0, size - TAIL_BYTES);
    await this.#file.seek(start, Deno.SeekMode.Start);
    const buffer = new Uint8Array(size - start);
    let length = 0;
    while (length < buffer.length) {
      const count = await this.#file.read(buffer.subarray(length));
      if (count === null) break;
      length += count;
    }
    return this.#decoder.decode(buffer.subarray(0, length), { stream: true });
  }

  /** Shows what came since the last time. A character may come in two parts. */
  async pour(outside: Outside): Promise<void> {
    const buffer = new Uint8Array(PIECE);
    for (;;) {
      const count = await this.#file.read(buffer);
      if (count === null) return;
      outside.stdout.write(
        this.#decoder.decode(buffer.subarray(0, count), { stream: true }),
      );
    }
  }

  close(): void {
    this.#file.close();
  }
}

/** Device and inode alone: the size and time of a log always change. */
function identityOf({ dev, ino }: Deno.FileInfo): string {
  return `${dev}:${ino}`;
}

async function showJournal(
  extent: Extent,
  outside: Outside,
): Promise<number> {
  const words = [
    ...(outside.userId === 0 ? [] : ["--user"]),
    "--unit",
    "agent-daemon",
    "--output",
    "cat",
    "--lines",
    String(extent.lines),
    ...(extent.follow ? ["--follow"] : ["--no-pager"]),
  ];
  outside.stderr.write(`journalctl ${words.join(" ")}\n`);
  try {
    const { code } = await new Deno.Command("journalctl", {
      args: words,
      stdin: "null",
      stdout: "inherit",
      stderr: "inherit",
    }).spawn().status;
    return code === 0 ? EXIT_CODES.ok.code : EXIT_CODES.negative.code;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Mistake({
      place: "log",
      rule: "no log file is known and journalctl is missing",
      fix: "give --log-file, as the daemon has it",
      exit: "configuration",
    });
  }
}
