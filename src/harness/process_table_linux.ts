/** Processes of Linux, from `/proc`. */
import type {
  EndingSignal,
  ProcessEntry,
  ProcessTable,
} from "./process_table.ts";

/** Reads `/proc` at each call: about 20 µs a process, so a poll of it is cheap. */
export function linuxProcesses(): ProcessTable {
  return {
    // Reading happens before the first await: a signal sent right after it meets what was read.
    // deno-lint-ignore require-await
    async list() {
      const entries: ProcessEntry[] = [];
      for (const { name } of Deno.readDirSync("/proc")) {
        if (!/^[1-9][0-9]*$/.test(name)) continue;
        const entry = readEntry(name);
        if (entry) entries.push(entry);
      }
      return entries;
    },
    // deno-lint-ignore require-await
    async signal(pid, signal) {
      sendUnixSignal(pid, signal);
    },
    // deno-lint-ignore require-await
    async signalGroup(group, signal) {
      sendUnixSignal(-group, signal);
    },
    async bootId() {
      const id = await Deno.readTextFile("/proc/sys/kernel/random/boot_id");
      return id.trim();
    },
  };
}

/** Signals a pid, or a group by its negative; a target that is gone is no error. */
export function sendUnixSignal(target: number, signal: EndingSignal): void {
  try {
    Deno.kill(target, signal);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

function readEntry(name: string): ProcessEntry | undefined {
  let text: string;
  try {
    text = Deno.readTextFileSync(`/proc/${name}/stat`);
  } catch {
    return undefined; // it ended between the listing and the reading, or is not ours to see
  }
  return parseStat(text);
}

/**
 * Parses a line of `/proc/<pid>/stat`. The name in it may hold blanks, brackets and line ends, so
 * the fields are counted from its last closing bracket.
 */
export function parseStat(text: string): ProcessEntry | undefined {
  const fields = text.slice(text.lastIndexOf(")") + 1).trim().split(" ");
  const [state, parent, group, session] = fields;
  const entry = {
    pid: Number.parseInt(text, 10),
    parentPid: Number(parent),
    group: Number(group),
    session: Number(session),
    startTime: Number(fields[19]),
  };
  if (state === "Z" || state === "X") return undefined;
  return Object.values(entry).every(Number.isInteger) ? entry : undefined;
}
