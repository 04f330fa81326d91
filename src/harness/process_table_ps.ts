/** Processes of macOS and other Unix systems, from `ps`. */
import type { ProcessEntry, ProcessTable, RunTool } from "./process_table.ts";
import { sendUnixSignal } from "./process_table_linux.ts";

/** Runs `ps` at each call: some 10 ms. Start times have a resolution of one second. */
export function psProcesses(run: RunTool): ProcessTable {
  return {
    async list() {
      const text = await run("/bin/ps", [
        "-axo",
        "pid=,ppid=,pgid=,stat=,lstart=",
      ]);
      return parsePs(text);
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
      const id = await run("/usr/sbin/sysctl", ["-n", "kern.bootsessionuuid"]);
      return id.trim();
    },
  };
}

/** Parses the listing of `ps -axo pid=,ppid=,pgid=,stat=,lstart=` made with `TZ=UTC0`. */
export function parsePs(text: string): ProcessEntry[] {
  const entries: ProcessEntry[] = [];
  for (const line of text.split("\n")) {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S.*\S)\s*$/.exec(line);
    if (!match) continue;
    const [, pid, parentPid, group, state, started] = match;
    if (state?.startsWith("Z")) continue;
    const startTime = Date.parse(`${started} UTC`) / 1000;
    if (!Number.isInteger(startTime)) continue;
    entries.push({
      pid: Number(pid),
      parentPid: Number(parentPid),
      group: Number(group),
      startTime,
    });
  }
  return entries;
}
