/** `stop`: one stop signal to the proven process, then a bounded wait. */
import { type ProcessTable, processTable } from "../harness/process_table.ts";
import { sleep } from "../platform/clock.ts";
import type { Invocation } from "./command.ts";
import { EXIT_CODES } from "./exit_codes.ts";
import { isAlive } from "./live_process.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import { durationText } from "./setting.ts";
import { resolveSettings } from "./settings.ts";
import { readStatus, type StatusDocument } from "./status_document.ts";
import { requestStop } from "./stop_request.ts";

/** Pause between two looks at the process, in milliseconds. */
const PAUSE = 200;

/** Stops the daemon of the state directory. Ends with 75 when the wait ran out. */
export async function stopCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  const settings = await resolveSettings(invocation, outside);
  const budget = budgetOf(invocation) ?? settings.values.shutdownTimeout;
  const processes = processTable(Deno.build.os);
  const reading = await readStatus(settings.stateDirectory);
  if (
    reading.kind !== "document" || !await isAlive(reading.document, processes)
  ) {
    outside.stderr.write(`no daemon runs with ${settings.stateDirectory}\n`);
    return EXIT_CODES.negative.code;
  }
  const { process } = reading.document;
  if (outside.operatingSystem === "windows") {
    await requestStop(settings.stateDirectory, {
      pid: process.pid,
      startedAt: process.started_at,
    }, outside);
  } else Deno.kill(process.pid, "SIGTERM");
  return await waitForEnd(reading.document, processes, {
    budget,
    stateDirectory: settings.stateDirectory,
  }, outside);
}

function budgetOf(invocation: Invocation): number | undefined {
  const text = invocation.options.get("timeout");
  if (text === undefined) return undefined;
  const duration = durationText.safeParse(text);
  if (duration.success) return duration.data;
  throw new Mistake({
    place: "--timeout",
    rule: "must be a duration such as 90s, 2m or 500ms, at most 24h",
    fix: "write a number and a unit",
    exit: "usage",
  });
}

async function waitForEnd(
  document: StatusDocument,
  processes: ProcessTable,
  wait: { readonly budget: number; readonly stateDirectory: string },
  outside: Outside,
): Promise<number> {
  const { clock } = outside;
  const deadline = clock.monotonic() + wait.budget;
  while (await isAlive(document, processes)) {
    if (clock.monotonic() >= deadline) {
      const left = await waitingFor(wait.stateDirectory);
      throw new Mistake({
        place: `process ${document.process.pid}`,
        rule: `still settles ${left}`,
        fix: "wait, or end its native processes with: kill " +
          document.process.pid,
        exit: "unconfirmed",
      });
    }
    await sleep(clock, PAUSE);
  }
  outside.stdout.write(`process ${document.process.pid} ended\n`);
  return EXIT_CODES.ok.code;
}

async function waitingFor(stateDirectory: string): Promise<string> {
  const reading = await readStatus(stateDirectory);
  const items = reading.kind === "document"
    ? reading.document.waiting?.for ?? []
    : [];
  return items.length > 0 ? items.join(", ") : "its work";
}
