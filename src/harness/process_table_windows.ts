/**
 * Processes of Windows. There are no groups: a tree is ended by `taskkill /T`, and proven gone
 * through parent pids, which Windows keeps after the death of a parent.
 */
import type { ProcessEntry, ProcessTable, RunTool } from "./process_table.ts";

const LIST = "Get-CimInstance Win32_Process | ForEach-Object { " +
  "'{0} {1} {2}' -f $_.ProcessId,$_.ParentProcessId,$_.CreationDate.ToFileTimeUtc() }";
const BOOT =
  "(Get-CimInstance Win32_OperatingSystem).LastBootUpTime.ToFileTimeUtc()";

/** Asks PowerShell at each call: up to a second, so callers poll it with growing pauses. */
export function windowsProcesses(run: RunTool): ProcessTable {
  return {
    async list() {
      return parseListing(await powerShell(run, LIST));
    },
    async signal(pid, signal) {
      if (signal === "SIGSTOP") return;
      await taskkill(run, signal === "SIGKILL" ? ["/F"] : [], pid);
    },
    async signalGroup(group, signal) {
      if (signal === "SIGSTOP") return;
      await taskkill(run, signal === "SIGKILL" ? ["/T", "/F"] : ["/T"], group);
    },
    async bootId() {
      return (await powerShell(run, BOOT)).trim();
    },
  };
}

function powerShell(run: RunTool, script: string): Promise<string> {
  return run("powershell.exe", [
    "-NoLogo",
    "-NoProfile",
    "-NonInteractive",
    "-Command",
    script,
  ]);
}

async function taskkill(
  run: RunTool,
  flags: readonly string[],
  pid: number,
): Promise<void> {
  try {
    await run("taskkill.exe", [...flags, "/PID", String(pid)]);
  } catch {
    // It fails when a member is gone or refuses; only the listing afterwards says what lives.
  }
}

/** Parses lines of `pid parent creation`, the creation as a Windows file time. */
export function parseListing(text: string): ProcessEntry[] {
  const entries: ProcessEntry[] = [];
  for (const line of text.split("\n")) {
    const match = /^(\d+) (\d+) (\d+)\s*$/.exec(line);
    if (!match) continue;
    const pid = Number(match[1]);
    // A file time has more digits than a double keeps; microseconds fit.
    const startTime = Number(BigInt(match[3] ?? "0") / 10n);
    if (pid === 0) continue;
    entries.push({ pid, parentPid: Number(match[2]), group: pid, startTime });
  }
  return entries;
}
