/** The checks of `doctor` that stay on this machine: program, files, identity, workspace, daemon. */
import { statfs } from "node:fs/promises";
import { type ProcessTable, processTable } from "../harness/process_table.ts";
import { PROTOCOL_VERSION } from "../protocol/version.ts";
import { type Binding, readBinding } from "./binding_file.ts";
import { BUILD_VERSION } from "./build.ts";
import { loadCredential, type LoadedCredential } from "./credential.ts";
import { type Check, fail, ok, skip, warn } from "./doctor_check.ts";
import { type DaemonIdentity, decideIdentity } from "./identity.ts";
import { leftProcessesCheck } from "./doctor_processes.ts";
import { isAlive } from "./live_process.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import type { Settings } from "./settings.ts";
import { readStatus } from "./status_document.ts";
import { ageText } from "./status_text.ts";

/** Less free space than this is worth a warning, in bytes. */
const LITTLE_SPACE = 1024 ** 3;

/** The program itself. */
export function programCheck(outside: Outside): Check {
  return ok(
    "program",
    `${BUILD_VERSION}, wire ${PROTOCOL_VERSION}, ${outside.operatingSystem}-${Deno.build.arch}`,
  );
}

/** The user that tools would run as. */
export function userCheck(outside: Outside): Check {
  return outside.userId === 0
    ? warn(
      "user",
      "root: tools of a Harness would run as root",
      "run the daemon as an ordinary user",
    )
    : ok(
      "user",
      outside.userId === null ? "this account" : `uid ${outside.userId}`,
    );
}

/** The configuration file. */
export function configurationCheck(settings: Settings): Check {
  return settings.configExists
    ? ok("configuration", settings.configPath)
    : ok("configuration", `no file at ${settings.configPath}, defaults apply`);
}

/** The state directory, without making it. */
export async function stateCheck(
  settings: Settings,
  outside: Outside,
): Promise<Check> {
  const name = "state directory";
  const path = settings.stateDirectory;
  try {
    const { isDirectory, isSymlink, mode, uid } = await Deno.lstat(path);
    if (isSymlink || !isDirectory) {
      return fail(
        name,
        `${path} is no directory`,
        "choose another --state-dir",
      );
    }
    if (outside.userId !== null && uid !== outside.userId) {
      return fail(name, `${path} belongs to another user`, "run as that user");
    }
    if (outside.userId !== null && ((mode ?? 0) & 0o022) !== 0) {
      return fail(
        name,
        `${path} is writable by others`,
        `run: chmod 700 '${path}'`,
      );
    }
    return ok(name, path);
  } catch {
    return ok(name, `${path} will be made at the first run`);
  }
}

/** What the credential's file is, or why it cannot be used. Reads stdin for nobody. */
export async function credentialCheck(
  settings: Settings,
  outside: Outside,
): Promise<{ readonly check: Check; readonly loaded?: LoadedCredential }> {
  const name = "token file";
  if (settings.values.tokenFile === "-") {
    return { check: skip(name, "comes from stdin") };
  }
  try {
    const loaded = await loadCredential(settings, outside);
    return {
      check: ok(name, `${loaded.path} (${loaded.credential.kind})`),
      loaded,
    };
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    const { place, rule, fix } = error.parts;
    return { check: fail(name, `${place} ${rule}`, fix) };
  }
}

/** Who the daemon would be. */
export async function identityCheck(
  settings: Settings,
  loaded: LoadedCredential | undefined,
  outside: Outside,
): Promise<{ readonly checks: Check[]; readonly identity?: DaemonIdentity }> {
  const name = "identity";
  if (loaded === undefined) {
    return { checks: [skip(name, "needs the token file")] };
  }
  try {
    const binding: Binding | undefined = await readBinding(
      settings.stateDirectory,
    );
    const identity = await decideIdentity({
      settings,
      credential: loaded.credential,
      tokenFile: loaded.path,
      ...(binding === undefined ? {} : { binding }),
    }, outside);
    return {
      identity,
      checks: [
        ok(
          name,
          `device ${identity.deviceId} at ${identity.core.origin}${
            binding === undefined ? "" : ", enrolled"
          }`,
        ),
        await workspaceCheck(identity, loaded),
      ],
    };
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    const { place, rule, fix } = error.parts;
    return { checks: [fail(name, `${place} ${rule}`, fix)] };
  }
}

async function workspaceCheck(
  identity: DaemonIdentity,
  loaded: LoadedCredential,
): Promise<Check> {
  const name = "workspace";
  if (identity.bound === undefined) {
    return ok(name, "none: serves Sessions without a local Environment");
  }
  const { root } = identity.bound;
  if (loaded.path.startsWith(`${root}/`)) {
    return fail(
      name,
      "the token file lies in it",
      "move the token file elsewhere",
    );
  }
  const { bavail, bsize } = await statfs(root);
  const free = Number(bavail) * Number(bsize);
  const gibibytes = `${(free / 1024 ** 3).toFixed(1)} GiB free`;
  return free < LITTLE_SPACE
    ? warn(name, `${root}, ${gibibytes}`, "free some space")
    : ok(name, `${root}, ${gibibytes}`);
}

/** The daemon of this state directory: whether it runs and what it or an earlier one left. */
export async function daemonChecks(
  settings: Settings,
  outside: Outside,
): Promise<{ readonly checks: Check[]; readonly running: boolean }> {
  const processes = processTable(Deno.build.os);
  const { checks, running } = await statusChecks(settings, outside, processes);
  const left = await leftProcessesCheck(
    settings.stateDirectory,
    running,
    processes,
  );
  return { checks: [...checks, left], running };
}

async function statusChecks(
  settings: Settings,
  outside: Outside,
  processes: ProcessTable,
): Promise<{ readonly checks: Check[]; readonly running: boolean }> {
  const reading = await readStatus(settings.stateDirectory);
  if (reading.kind === "none") {
    return { checks: [ok("daemon", "has not run here yet")], running: false };
  }
  if (reading.kind === "unreadable") {
    return {
      checks: [warn(
        "daemon",
        `its status ${reading.rule}`,
        "run doctor as the daemon's user",
      )],
      running: false,
    };
  }
  const { document } = reading;
  const running = await isAlive(document, processes);
  const refusal = document.connection.last_refusal;
  const checks = [
    running
      ? ok("daemon", `process ${document.process.pid} runs`)
      : ok("daemon", "does not run"),
    ...(refusal === null ? [] : [warn(
      "last refusal",
      `${refusal.description}, ${
        ageText(outside.clock.now() - refusal.at)
      } ago`,
      "see the Core checks below",
    )]),
    ...document.unknown.map((each) =>
      fail("unknown outcome", each.owner, each.remedy)
    ),
    ...document.orphans.map((each) =>
      fail("orphan", `${each} of an earlier daemon lives`, "end it by hand")
    ),
  ];
  return { checks, running };
}
