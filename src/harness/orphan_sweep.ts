/**
 * Ends what an earlier daemon left: native processes whose records are still there. Signals only
 * what is provably one of them.
 */
import type { Clock } from "../platform/clock.ts";
import { sleep } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { ProcessFamily } from "./process_family.ts";
import type { ProcessTable } from "./process_table.ts";
import type { SpawnRecord, SpawnRecordFiles } from "./spawn_records.ts";

/** Milliseconds for all processes of one record to disappear after SIGKILL. */
const KILL_MILLISECONDS = 3_000;
const FIRST_LOOK = 10;
const LONGEST_PAUSE = 250;

/** What a sweep works with. */
export interface SweepParts {
  readonly records: SpawnRecordFiles;
  readonly processes: ProcessTable;
  readonly clock: Clock;
  readonly log: Log;
}

/** What became of the records. */
export interface SweepResult {
  /** Names of the processes that lived and were ended. */
  readonly ended: readonly string[];
  /** Records of processes that were gone already. */
  readonly gone: number;
  /** Pids that live on in spite of SIGKILL: their records stay for the next sweep. */
  readonly unconfirmed: readonly number[];
}

/**
 * Goes through all records, before this daemon starts processes of its own. A record of another
 * boot, or of a pid that now belongs to another process, means that the process is gone. What the
 * process started is ended as far as it was recorded, or still descends from something recorded.
 */
export async function sweepOrphans(parts: SweepParts): Promise<SweepResult> {
  const ended: string[] = [];
  const unconfirmed: number[] = [];
  let gone = 0;
  const bootId = await parts.processes.bootId();
  for (const record of await parts.records.all()) {
    const outcome = record.bootId === bootId
      ? await endFamily(parts, record)
      : "gone";
    if (typeof outcome !== "string") {
      unconfirmed.push(...outcome);
      continue;
    }
    if (outcome === "ended") ended.push(record.name);
    else gone += 1;
    await parts.records.gone(record.leader.pid);
  }
  if (ended.length > 0 || unconfirmed.length > 0) {
    parts.log.warn("orphans.swept", { ended, gone, unconfirmed });
  }
  return { ended, gone, unconfirmed };
}

/** Ends the family of a record; the pids that live on when it could not. */
async function endFamily(
  { processes, clock }: SweepParts,
  record: SpawnRecord,
): Promise<"gone" | "ended" | readonly number[]> {
  // No group is taken as ours by its number: it may have been given to others since.
  const family = new ProcessFamily(processes, [
    record.leader,
    ...record.members,
  ]);
  if ((await family.collect()).length === 0) return "gone";
  await family.kill(record.leader.pid);
  const deadline = clock.monotonic() + KILL_MILLISECONDS;
  for (let pause = FIRST_LOOK;; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    const living = await family.collect();
    if (living.length === 0) return "ended";
    if (clock.monotonic() >= deadline) return living.map(({ pid }) => pid);
    await sleep(clock, pause);
  }
}
