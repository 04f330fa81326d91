/** A machine whose processes a test makes up. Harsher than a real one: pids come back at will. */
import type {
  EndingSignal,
  ProcessEntry,
  ProcessTable,
} from "../../src/harness/process_table.ts";

/** A process table without processes of its own. */
export class ProcessDouble implements ProcessTable {
  entries: ProcessEntry[] = [];
  readonly signals: string[] = [];
  boot = "boot-1";
  /** What a signal does to the machine; nothing, until a test says so. */
  onSignal: (target: number, signal: EndingSignal) => void = () => {};
  /** Makes every look fail. */
  unreadable = false;

  list(): Promise<readonly ProcessEntry[]> {
    return this.unreadable
      ? Promise.reject(new Error("no process can be seen"))
      : Promise.resolve(this.entries);
  }
  signal(pid: number, signal: EndingSignal): Promise<void> {
    return this.#note(pid, signal);
  }
  signalGroup(group: number, signal: EndingSignal): Promise<void> {
    return this.#note(-group, signal);
  }
  bootId(): Promise<string> {
    return Promise.resolve(this.boot);
  }

  #note(target: number, signal: EndingSignal): Promise<void> {
    this.signals.push(`${signal} ${target}`);
    this.onSignal(target, signal);
    return Promise.resolve();
  }
}

/** A process: pid, parent, group, session, start. */
export function entry(
  pid: number,
  parentPid: number,
  group: number,
  session: number,
  startTime: number,
): ProcessEntry {
  return { pid, parentPid, group, session, startTime };
}
