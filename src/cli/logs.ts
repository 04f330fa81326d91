/** `logs`: the end of the log file, or the journal of the service. */
import { join } from "@std/path";
import { sleep } from "../platform/clock.ts";
import { fileIdentity } from "../platform/protected_file.ts";
import type { Invocation } from "./command.ts";
import { EXIT_CODES } from "./exit_codes.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import { resolveSettings } from "./settings.ts";

/** Bytes read from the end to find the first lines. */
const TAIL_BYTES = 4 * 1024 * 1024;
/** Pause between two looks of `-f`, in milliseconds. */
const PAUSE = 500;

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
  const first = await readFrom(path, undefined);
  const all = first.text.split("\n");
  const complete = all.at(-1) === "" ? all.slice(0, -1) : all;
  for (const line of complete.slice(-extent.lines || complete.length)) {
    if (extent.lines > 0) outside.stdout.write(`${line}\n`);
  }
  if (!extent.follow) return;
  await follow(path, first.end, outside);
}

async function follow(
  path: string,
  from: number,
  outside: Outside,
): Promise<void> {
  const ended = new AbortController();
  const listener = () => ended.abort();
  Deno.addSignalListener("SIGINT", listener);
  let offset = from;
  let inode = inodeOf(path);
  try {
    for (;;) {
      await sleep(outside.clock, PAUSE, ended.signal);
      const now = inodeOf(path);
      if (now === undefined) continue; // between two names of a rotation
      if (now !== inode) offset = 0;
      inode = now;
      const more = await readFrom(path, offset);
      outside.stdout.write(more.text);
      offset = more.end;
    }
  } catch (error) {
    if (!ended.signal.aborted) throw error;
  } finally {
    Deno.removeSignalListener("SIGINT", listener);
  }
}

/** Device and inode alone: the size and time of a log always change. */
function inodeOf(path: string): string | undefined {
  return fileIdentity(path)?.split(":").slice(0, 2).join(":");
}

/** The text from `offset`, or of the last megabytes without one. */
async function readFrom(
  path: string,
  offset: number | undefined,
): Promise<{ readonly text: string; readonly end: number }> {
  try {
    using file = await Deno.open(path);
    const { size } = await file.stat();
    const start = Math.min(offset ?? Math.max(0, size - TAIL_BYTES), size);
    await file.seek(start, Deno.SeekMode.Start);
    const buffer = new Uint8Array(size - start);
    let length = 0;
    while (length < buffer.length) {
      const count = await file.read(buffer.subarray(length));
      if (count === null) break;
      length += count;
    }
    return {
      text: new TextDecoder().decode(buffer.subarray(0, length)),
      end: start + length,
    };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Mistake({
      place: path,
      rule: "does not exist",
      fix: "start the daemon with this --log-file first",
      exit: "configuration",
    });
  }
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
