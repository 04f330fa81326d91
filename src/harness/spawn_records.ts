/**
 * What a daemon writes down about its native processes, so that the next one can end those that
 * outlived it: one small file each, there from the start of a process to its confirmed end.
 */
import { join } from "@std/path";
import type { ProcessIdentity } from "./process_table.ts";

/** One process that this or an earlier daemon started. */
export interface SpawnRecord {
  /** The process; it opened the group and session of its own pid. */
  readonly leader: ProcessIdentity;
  /** The boot within which the identities mean something. */
  readonly bootId: string;
  /** The short fixed name the process was started under. */
  readonly name: string;
  /** Processes it was seen to have started, as far as they were looked at. */
  readonly members: readonly ProcessIdentity[];
}

/** Where spawned processes are noted. */
export interface SpawnRecords {
  /** Resolves when the record would survive the daemon. */
  spawned(record: SpawnRecord): Promise<void>;
  /** Replaces the members of the record of `leaderPid`; none is made where there is none. */
  membersSeen(
    leaderPid: number,
    members: readonly ProcessIdentity[],
  ): Promise<void>;
  /** Forgets the process of this pid: nothing of it lives. */
  gone(leaderPid: number): Promise<void>;
}

/** Notes nothing. For probes in tests and for one-shot commands. */
export const noSpawnRecords: SpawnRecords = {
  spawned: () => Promise.resolve(),
  membersSeen: () => Promise.resolve(),
  gone: () => Promise.resolve(),
};

const FILE_NAME = /^[1-9][0-9]*\.json$/;
/** Larger files are none of ours. Some thousands of members fit. */
const FILE_BYTES = 256 * 1024;

/** Records as `<pid>.json` in `directory`, each 0600 and replaced as a whole. */
export class SpawnRecordFiles implements SpawnRecords {
  readonly #directory: string;

  /** `directory` is made, 0700, when the first record is. It belongs to these files alone. */
  constructor(directory: string) {
    this.#directory = directory;
  }

  async spawned(record: SpawnRecord): Promise<void> {
    await Deno.mkdir(this.#directory, { recursive: true, mode: 0o700 });
    await this.#write(record);
  }

  async membersSeen(
    leaderPid: number,
    members: readonly ProcessIdentity[],
  ): Promise<void> {
    const record = await this.#read(this.#path(leaderPid));
    if (record) await this.#write({ ...record, members });
  }

  async gone(leaderPid: number): Promise<void> {
    try {
      await Deno.remove(this.#path(leaderPid));
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }

  /** All records. A file that is no record, such as one cut by a crash, is left out. */
  async all(): Promise<readonly SpawnRecord[]> {
    const records: SpawnRecord[] = [];
    try {
      for await (const { name, isFile } of Deno.readDir(this.#directory)) {
        if (!isFile || !FILE_NAME.test(name)) continue;
        const record = await this.#read(join(this.#directory, name));
        if (record) records.push(record);
      }
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
    return records;
  }

  #path(pid: number): string {
    return join(this.#directory, `${pid}.json`);
  }

  async #write(record: SpawnRecord): Promise<void> {
    const path = this.#path(record.leader.pid);
    const temporary = `${path}.new`;
    await Deno.writeTextFile(temporary, JSON.stringify(record), {
      mode: 0o600,
    });
    await Deno.rename(temporary, path);
  }

  async #read(path: string): Promise<SpawnRecord | undefined> {
    try {
      if ((await Deno.stat(path)).size > FILE_BYTES) return undefined;
      return decodeRecord(JSON.parse(await Deno.readTextFile(path)));
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  }
}

function decodeRecord(value: unknown): SpawnRecord | undefined {
  if (!isRecord(value) || !isIdentity(value.leader)) return undefined;
  const { leader, bootId, name, members } = value;
  if (typeof bootId !== "string" || typeof name !== "string") return undefined;
  if (!Array.isArray(members) || !members.every(isIdentity)) return undefined;
  return { leader, bootId, name, members };
}

function isIdentity(value: unknown): value is ProcessIdentity {
  return isRecord(value) && Number.isSafeInteger(value.pid) &&
    Number(value.pid) > 1 && typeof value.startTime === "number";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
