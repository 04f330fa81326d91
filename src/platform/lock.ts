// Owns the rule that one process serves one device of one Core on this machine. The system releases
// the lock when its holder dies, in whatever way; a file left behind never blocks anyone.
import { createHash } from "node:crypto";
import { join } from "@std/path";
import { type AtomicWriteContext, writeFileAtomically } from "./atomic_file.ts";

/** Who holds a lock, for the message of the one who does not get it. */
export interface LockHolder {
  readonly pid: number;
  /** Start of the process in the kernel's own unit, so that a reused pid is told apart. */
  readonly start?: string;
  /** Unix milliseconds at which the lock was taken. */
  readonly since: number;
}

/** The outcome of asking for a lock. */
export type LockOutcome =
  | { readonly ok: true; readonly lock: DeviceLock }
  | {
    readonly ok: false;
    /** Absent when the holder left no readable record. */
    readonly holder?: LockHolder;
  };

/** A held lock. The process holds it until it releases it or ends. */
export interface DeviceLock {
  readonly path: string;
  /** Gives the lock up. The lock file stays: removing it would let two processes hold "the" lock. */
  release(): void;
}

/** What is locked. */
export interface LockSubject {
  /** Core's origin. */
  readonly origin: string;
  readonly deviceId: string;
}

/** The file name of a subject's lock: no part of the address shows. */
export function lockFileName(subject: LockSubject): string {
  const digest = createHash("sha256")
    .update(`${subject.origin}\n${subject.deviceId}`)
    .digest("hex");
  return `device-${digest.slice(0, 32)}.lock`;
}

/**
 * Takes the lock of `subject` in `directory`, which exists and is private, without waiting.
 *
 * @throws the system's error when the directory cannot be used.
 */
export async function takeDeviceLock(
  directory: string,
  subject: LockSubject,
  context: AtomicWriteContext,
): Promise<LockOutcome> {
  const path = join(directory, lockFileName(subject));
  const file = await Deno.open(path, {
    read: true,
    write: true,
    create: true,
    mode: 0o600,
  });
  let held = false;
  try {
    held = await file.tryLock(true);
    if (!held) return { ok: false, ...await readHolder(path) };
    const holder: LockHolder = {
      pid: Deno.pid,
      ...await processStart(Deno.pid),
      since: context.clock.now(),
    };
    await writeFileAtomically(
      recordPath(path),
      JSON.stringify(holder),
      context,
    );
    return { ok: true, lock: { path, release: () => file.close() } };
  } catch (error) {
    held = false;
    throw error;
  } finally {
    if (!held) file.close();
  }
}

/** A lock excludes readers on some systems, so the record is a file of its own. */
function recordPath(lockPath: string): string {
  return `${lockPath}.holder.json`;
}

async function readHolder(
  lockPath: string,
): Promise<{ readonly holder?: LockHolder }> {
  try {
    const record: unknown = JSON.parse(
      await Deno.readTextFile(recordPath(lockPath)),
    );
    if (typeof record !== "object" || record === null) return {};
    const { pid, start, since } = record as Partial<LockHolder>;
    if (typeof pid !== "number" || typeof since !== "number") return {};
    return {
      holder: {
        pid,
        since,
        ...(typeof start === "string" ? { start } : {}),
      },
    };
  } catch {
    return {}; // the refusal stands without a name
  }
}

/** The kernel's start time of a process: field 22 of its stat line. Linux only. */
async function processStart(
  pid: number,
): Promise<{ readonly start?: string }> {
  if (Deno.build.os !== "linux") return {};
  const line = await Deno.readTextFile(`/proc/${pid}/stat`);
  // The program name may hold spaces and brackets; the fields are counted after it.
  const start = line.slice(line.lastIndexOf(")") + 2).split(" ")[19];
  return start === undefined ? {} : { start };
}
