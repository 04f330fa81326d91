/**
 * The check of `doctor` for native processes that an earlier daemon left: each spawn record whose
 * process still lives while no daemon owns it.
 */
import { type ProcessTable, stillLives } from "../harness/process_table.ts";
import {
  type SpawnRecord,
  SpawnRecordFiles,
} from "../harness/spawn_records.ts";
import { type Check, ok, skip, warn } from "./doctor_check.ts";
import { spawnRecordDirectory } from "./state_directory.ts";

/**
 * Only looks. While a daemon runs the records are of its own processes: it ended those of the one
 * before it when it started, and `status.json` names what it could not end.
 */
export async function leftProcessesCheck(
  stateDirectory: string,
  running: boolean,
  processes: ProcessTable,
): Promise<Check> {
  const name = "left processes";
  if (running) return ok(name, "a daemon runs and looked at its start");
  const records = await recordsOf(stateDirectory);
  if (!records) return skip(name, "the records are not readable for this user");
  const bootId = await processes.bootId();
  const entries = await processes.list();
  const living = records.filter((record) => record.bootId === bootId)
    .flatMap(({ name, leader, members }) =>
      [leader, ...members].filter((each) => stillLives(entries, each))
        .map(({ pid }) => `${name} (process ${pid})`)
    );
  return living.length === 0 ? ok(name, "none of an earlier daemon") : warn(
    name,
    `of an earlier daemon live: ${living.join(", ")}`,
    "start the daemon: it ends them before anything else",
  );
}

async function recordsOf(
  stateDirectory: string,
): Promise<readonly SpawnRecord[] | undefined> {
  try {
    return await new SpawnRecordFiles(spawnRecordDirectory(stateDirectory))
      .all();
  } catch {
    return undefined; // of another user
  }
}
