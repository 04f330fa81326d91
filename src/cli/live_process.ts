/** Whether the daemon that wrote a status still lives: pid, start time and boot must all agree. */
import { type ProcessTable, stillLives } from "../harness/process_table.ts";
import type { StatusDocument } from "./status_document.ts";

/** Proves or disproves that the process of `status` lives. */
export async function isAlive(
  status: StatusDocument,
  processes: ProcessTable,
): Promise<boolean> {
  const { pid, start_time, boot_id } = status.process;
  if (start_time === null || boot_id !== await processes.bootId()) return false;
  return stillLives(await processes.list(), { pid, startTime: start_time });
}
