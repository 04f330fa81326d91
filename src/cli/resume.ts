/**
 * `resume`: wakes a suspended daemon. It signals only the process that the control file names, after
 * proving that it is that process and that it waits for exactly this suspension.
 */
import {
  type ControlRecord,
  ControlUnavailable,
  readControl,
} from "../environment/suspend_control.ts";
import { WAKE_SIGNAL } from "../environment/wake_signal.ts";
import { processTable, stillLives } from "../harness/process_table.ts";
import type { Invocation } from "./command.ts";
import { EXIT_CODES } from "./exit_codes.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import { resolveSettings } from "./settings.ts";

/** Sends one wake signal, or says why not and ends with 2. */
export async function resumeCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  const { values } = await resolveSettings(invocation, outside);
  const path = required(values.suspendControl, "--suspend-control");
  const environmentId = required(values.environmentId, "--environment-id");
  const suspendId = required(
    invocation.options.get("suspend-id"),
    "--suspend-id",
  );
  if (outside.operatingSystem !== "linux") {
    throw new Mistake({
      place: "resume",
      rule: "works on Linux only",
      fix: "start the daemon anew",
      exit: "configuration",
    });
  }
  const record = recordOf(path, outside.userId);
  const refusal = await objection(record, { environmentId, suspendId });
  if (refusal !== undefined) {
    outside.stderr.write(`${refusal}\n`);
    return EXIT_CODES.negative.code;
  }
  Deno.kill(record.pid, WAKE_SIGNAL);
  outside.stdout.write(`process ${record.pid} was woken\n`);
  return EXIT_CODES.ok.code;
}

function required(value: string | undefined, place: string): string {
  if (value !== undefined && value !== "") return value;
  throw new Mistake({
    place,
    rule: "is missing",
    fix: "name the control file, the Environment and the suspension",
    exit: "usage",
  });
}

function recordOf(path: string, userId: number | null): ControlRecord {
  try {
    return readControl(path, userId);
  } catch (error) {
    if (!(error instanceof ControlUnavailable)) throw error;
    const { rule, fix } = error;
    throw new Mistake({ place: path, rule, fix, exit: "configuration" });
  }
}

/** Why the process must not be signalled: to another process the signal could be deadly. */
async function objection(
  record: ControlRecord,
  wanted: { readonly environmentId: string; readonly suspendId: string },
): Promise<string | undefined> {
  const processes = await processTable(Deno.build.os).list();
  if (!stillLives(processes, record)) {
    return `process ${record.pid} is not the daemon that wrote the control file`;
  }
  if (record.environmentId !== wanted.environmentId) {
    return "the daemon serves another Environment";
  }
  if (record.suspendId === undefined) return "the daemon is not suspended";
  return record.suspendId === wanted.suspendId
    ? undefined
    : "the daemon waits for another suspension";
}
