/** The state directory: private to this account, no link, held by one daemon at a time. */
import { join } from "@std/path";
import {
  type DeviceLock,
  type LockHolder,
  takeDeviceLock,
} from "../platform/lock.ts";
import { PROGRAM } from "./build.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";

/**
 * Makes the directory when it is missing and checks that only this account can change it.
 *
 * @throws {Mistake} when it cannot be used safely.
 */
export async function prepareStateDirectory(
  path: string,
  outside: Outside,
): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) {
      throw refused(path, "cannot be made", "choose another --state-dir");
    }
  }
  const { isDirectory, isSymlink, mode, uid } = await Deno.lstat(path);
  if (isSymlink) {
    throw refused(path, "is a symbolic link", "name the directory itself");
  }
  if (!isDirectory) {
    throw refused(path, "is not a directory", "choose another --state-dir");
  }
  if (outside.userId === null) return;
  if (uid !== outside.userId) {
    throw refused(
      path,
      "belongs to another user",
      "run as that user, or choose another --state-dir",
    );
  }
  if (((mode ?? 0) & 0o022) !== 0) {
    throw refused(
      path,
      "is writable by others",
      `run: chmod 700 '${path}'`,
    );
  }
}

/** Where a daemon with this state directory records its native processes. */
export function spawnRecordDirectory(stateDirectory: string): string {
  return join(stateDirectory, "processes");
}

/** What a daemon holds while it runs. */
export interface InstanceLock {
  /** Gives both locks up; the system does it too when the process ends. */
  release(): void;
}

/** Stands for the directory itself in a lock's subject. */
const WHOLE_DIRECTORY = { origin: "state-directory", deviceId: "" };

/**
 * Takes the state directory and the device id for this process.
 *
 * @throws {Mistake} that says which process holds it.
 */
export async function takeInstance(
  stateDirectory: string,
  subject: { readonly origin: string; readonly deviceId: string },
  outside: Outside,
): Promise<InstanceLock> {
  const directory = await take(
    stateDirectory,
    WHOLE_DIRECTORY,
    `--state-dir ${stateDirectory}`,
    outside,
  );
  try {
    const device = await take(
      await deviceLockDirectory(stateDirectory, outside),
      subject,
      `device ${subject.deviceId}`,
      outside,
    );
    return {
      release() {
        device.release();
        directory.release();
      },
    };
  } catch (error) {
    directory.release();
    throw error;
  }
}

/** One directory for all daemons of the account where the system has one, else the state's own. */
async function deviceLockDirectory(
  stateDirectory: string,
  outside: Outside,
): Promise<string> {
  const runtime = outside.environment.XDG_RUNTIME_DIR;
  if (!runtime?.startsWith("/")) return stateDirectory;
  const path = `${runtime}/${PROGRAM}`;
  try {
    await prepareStateDirectory(path, outside);
    return path;
  } catch {
    return stateDirectory; // a runtime directory that is gone or not ours
  }
}

async function take(
  directory: string,
  subject: { readonly origin: string; readonly deviceId: string },
  place: string,
  outside: Outside,
): Promise<DeviceLock> {
  const outcome = await takeDeviceLock(directory, subject, outside);
  if (outcome.ok) return outcome.lock;
  throw new Mistake({
    place,
    rule: `is held by ${describeHolder(outcome.holder)}`,
    fix: "stop it with: agent-daemon stop",
    exit: "held",
  });
}

function describeHolder(holder: LockHolder | undefined): string {
  return holder === undefined
    ? "another process"
    : `process ${holder.pid} since ${new Date(holder.since).toISOString()}`;
}

function refused(place: string, rule: string, fix: string): Mistake {
  return new Mistake({ place, rule, fix, exit: "configuration" });
}
