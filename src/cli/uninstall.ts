/** `uninstall`: takes the service and the program away, and says what stays. */
import { join } from "@std/path";
import { processTable } from "../harness/process_table.ts";
import { PROGRAM } from "./build.ts";
import type { Invocation } from "./command.ts";
import { EXIT_CODES } from "./exit_codes.ts";
import { isAlive } from "./live_process.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import { systemServiceHost } from "./service_host.ts";
import { managerKind, managerOf, servicePlan } from "./service_plan.ts";
import { resolveSettings, type Settings } from "./settings.ts";
import { readStatus, statusPath } from "./status_document.ts";

/** Removes what an installation put here; the workspace is never touched. */
export async function uninstallCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  const settings = await resolveSettings(invocation, outside);
  const host = systemServiceHost(outside);
  const plan = await servicePlan(invocation, settings, outside, host);
  await managerOf(managerKind(invocation, outside), plan, outside, host)
    .uninstall();
  await refuseWhileRunning(settings);
  const say = (text: string) => outside.stdout.write(`${text}\n`);
  const purge = invocation.options.has("purge");
  const kept = [settings.directories.configuration, settings.stateDirectory];
  if (purge) {
    say("This removes for good:");
    for (const directory of kept) say(`  ${directory}`);
    if (!invocation.options.has("yes") && !confirm("Remove them?")) {
      say("nothing was removed");
      return EXIT_CODES.ok.code;
    }
  }
  const program = Deno.build.standalone
    ? Deno.execPath()
    : join(settings.directories.program, PROGRAM);
  await removeIfThere(program);
  await removeIfThere(statusPath(settings.stateDirectory));
  say(`removed ${program}`);
  for (const directory of kept) {
    if (purge) {
      await removeIfThere(directory);
      say(`removed ${directory}`);
    } else say(`kept ${directory}`);
  }
  return EXIT_CODES.ok.code;
}

async function refuseWhileRunning(settings: Settings): Promise<void> {
  const reading = await readStatus(settings.stateDirectory);
  if (
    reading.kind !== "document" ||
    !await isAlive(reading.document, processTable(Deno.build.os))
  ) return;
  throw new Mistake({
    place: `process ${reading.document.process.pid}`,
    rule: "still runs",
    fix: "stop it with: agent-daemon stop",
    exit: "held",
  });
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
