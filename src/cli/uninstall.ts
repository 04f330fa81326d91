/** `uninstall`: takes the service and the program away, and says what stays. */
import { dirname, join } from "@std/path";
import { processTable } from "../harness/process_table.ts";
import { readBinding } from "./binding_file.ts";
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

/** What the launcher of a checkout has in its first lines; `install.sh` writes it. */
const LAUNCHER_MARK = "Written by install.sh --from-source.";
/** As much of a file as is read to find that, in bytes. */
const LAUNCHER_HEAD = 200;

/** Removes what an installation put here; the workspace is never touched. */
export async function uninstallCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  const settings = await resolveSettings(invocation, outside);
  const say = (text: string) => outside.stdout.write(`${text}\n`);
  const purge = invocation.options.has("purge");
  const kept = [settings.directories.configuration, settings.stateDirectory];
  if (purge) {
    await refuseWorkspaceWithin(kept, settings);
    say("This removes for good:");
    for (const directory of kept) say(`  ${directory}`);
    if (!invocation.options.has("yes") && !confirm("Remove them?")) {
      say("nothing was removed");
      return EXIT_CODES.ok.code;
    }
  }
  const host = systemServiceHost(outside);
  const plan = await servicePlan(invocation, settings, outside, host);
  await managerOf(managerKind(invocation, outside), plan, outside, host)
    .uninstall();
  await refuseWhileRunning(settings);
  say(await removeProgram(settings));
  await removeIfThere(statusPath(settings.stateDirectory));
  for (const directory of kept) {
    if (purge) {
      await removeIfThere(directory);
      say(`removed ${directory}`);
    } else say(`kept ${directory}`);
  }
  return EXIT_CODES.ok.code;
}

/** Removes the program, if it is this one, with the receipt of its installer; says what it did. */
async function removeProgram(settings: Settings): Promise<string> {
  const program = Deno.build.standalone
    ? Deno.execPath()
    : join(settings.directories.program, PROGRAM);
  if (!Deno.build.standalone) {
    const head = await headOf(program);
    if (head === undefined) return `no program at ${program}`;
    // Somebody else's program of the same name is not ours to remove.
    if (!head.includes(LAUNCHER_MARK)) {
      return `kept ${program}: install.sh --from-source did not write it`;
    }
  }
  await removeIfThere(program);
  await removeIfThere(join(dirname(program), `.${PROGRAM}.installed`));
  return `removed ${program}`;
}

/** The beginning of a file that is there. */
async function headOf(path: string): Promise<string | undefined> {
  try {
    using file = await Deno.open(path);
    const buffer = new Uint8Array(LAUNCHER_HEAD);
    const length = await file.read(buffer) ?? 0;
    return new TextDecoder().decode(buffer.subarray(0, length));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** A workspace inside of what is removed for good would go with it. */
async function refuseWorkspaceWithin(
  directories: readonly string[],
  settings: Settings,
): Promise<void> {
  const binding = await readBinding(settings.stateDirectory);
  for (const workspace of [settings.values.workspace, binding?.workspace]) {
    if (workspace === undefined) continue;
    const inside = await realName(workspace);
    for (const directory of directories) {
      if (!inside.startsWith(await realName(directory))) continue;
      throw new Mistake({
        place: "--purge",
        rule: `would remove the workspace inside ${directory}`,
        fix: "move the workspace elsewhere first",
        exit: "configuration",
      });
    }
  }
}

/** The name without links, with a separator at its end; of what is not there, the name given. */
async function realName(path: string): Promise<string> {
  const real = await Deno.realPath(path).catch(() => path);
  return `${real.replaceAll("\\", "/")}/`;
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
