// Owns the control file of planned suspensions: who may be woken, and for which suspension. It lies
// in a private directory, belongs to one process at a time and is removed at its end. Linux only.
import { Buffer } from "node:buffer";
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  writeSync,
} from "node:fs";
import { dirname } from "@std/path";
import * as z from "zod";
import {
  type AtomicWriteContext,
  writeFileAtomically,
} from "../platform/atomic_file.ts";
import { readProtectedFile } from "../platform/protected_file.ts";

/** Bytes of a control file; ids and numbers only. */
const MAX_CONTROL_BYTES = 4_096;

const controlDocument = z.strictObject({
  pid: z.number().int().positive(),
  start_time: z.number().int().nonnegative(),
  environment_id: z.string().min(1),
  /** Empty while no suspension can be woken. */
  suspend_id: z.string(),
});

/** What a control file says. */
export interface ControlRecord {
  readonly pid: number;
  /** Start of the process in the kernel's unit, so that a reused pid is told apart. */
  readonly startTime: number;
  readonly environmentId: string;
  /** The suspension that a wake signal is for; `undefined` while there is none. */
  readonly suspendId: string | undefined;
}

/** The owner's part of a record. */
export type ControlOwner = Omit<ControlRecord, "suspendId">;

/** A control file that cannot be used; `rule` and `fix` hold no content of it. */
export class ControlUnavailable extends Error {
  override readonly name = "ControlUnavailable";
  constructor(readonly rule: string, readonly fix: string) {
    super(`the suspension control ${rule}`);
  }
}

/** A control file that this process owns. */
export class SuspendControl {
  readonly #path: string;
  readonly #owner: ControlOwner;
  readonly #context: AtomicWriteContext;

  private constructor(
    path: string,
    owner: ControlOwner,
    context: AtomicWriteContext,
  ) {
    this.#path = path;
    this.#owner = owner;
    this.#context = context;
  }

  /**
   * Creates the file with nothing armed.
   *
   * @throws {ControlUnavailable} when the directory is not private, or another process owns the file.
   */
  static open(
    path: string,
    owner: ControlOwner,
    context: AtomicWriteContext & { readonly userId: number | null },
  ): SuspendControl {
    requirePrivateDirectory(dirname(path), context.userId);
    createExclusively(path, encode(owner, undefined));
    return new SuspendControl(path, owner, context);
  }

  /**
   * Names the suspension that may be woken, or none. Durable when it resolves.
   *
   * @throws the system's error; the file then says what it said before.
   */
  async store(suspendId: string | undefined): Promise<void> {
    const text = encode(this.#owner, suspendId);
    await writeFileAtomically(this.#path, text, this.#context);
  }

  /** Removes the file. A missing one is no error. */
  async remove(): Promise<void> {
    try {
      await Deno.remove(this.#path);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
}

/**
 * Reads a control file of the same user.
 *
 * @throws {ControlUnavailable} when it is missing, not private or not one.
 */
export function readControl(
  path: string,
  userId: number | null,
): ControlRecord {
  const file = readProtectedFile(path, {
    maximumBytes: MAX_CONTROL_BYTES,
    userId,
  });
  if (!file.ok) throw new ControlUnavailable(file.rule, file.fix);
  const record = controlDocument.safeParse(parsed(file.bytes));
  if (!record.success) {
    throw new ControlUnavailable(
      "is not a control file",
      "name the file that the running daemon has as --suspend-control",
    );
  }
  const { pid, start_time, environment_id, suspend_id } = record.data;
  return {
    pid,
    startTime: start_time,
    environmentId: environment_id,
    suspendId: suspend_id === "" ? undefined : suspend_id,
  };
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined; // the schema refuses it with words of its own
  }
}

function encode(owner: ControlOwner, suspendId: string | undefined): string {
  return JSON.stringify({
    pid: owner.pid,
    start_time: owner.startTime,
    environment_id: owner.environmentId,
    suspend_id: suspendId ?? "",
  });
}

/** Others must neither read which process can be woken nor put a file of theirs in its place. */
function requirePrivateDirectory(path: string, userId: number | null): void {
  const fix = `create a directory of your own: mkdir -m 700 -p '${path}'`;
  let descriptor: number;
  try {
    descriptor = openSync(
      path,
      constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW,
    );
  } catch {
    throw new ControlUnavailable("has no directory that can be opened", fix);
  }
  try {
    const { mode, uid } = fstatSync(descriptor);
    if (userId !== null && uid !== userId) {
      throw new ControlUnavailable("is in a directory of another user", fix);
    }
    if ((mode & 0o077) !== 0) {
      throw new ControlUnavailable(
        "is in a directory that other users can enter",
        `run: chmod 700 '${path}'`,
      );
    }
  } finally {
    closeSync(descriptor);
  }
}

function createExclusively(path: string, content: string): void {
  let descriptor: number;
  try {
    descriptor = openSync(
      path,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL |
        constants.O_NOFOLLOW,
      0o600,
    );
  } catch (error) {
    const exists = error instanceof Error && "code" in error &&
      error.code === "EEXIST";
    throw exists
      ? new ControlUnavailable(
        "exists already: another daemon owns it, or one ended without removing it",
        `when no daemon runs with it: rm '${path}'`,
      )
      : new ControlUnavailable("cannot be created", "check its directory");
  }
  try {
    const bytes = Buffer.from(content);
    for (let at = 0; at < bytes.length;) {
      at += writeSync(descriptor, bytes, at);
    }
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
