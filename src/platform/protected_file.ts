/**
 * Reads a file that must be private: it is opened without following a link and judged by its
 * descriptor, so that nothing can be exchanged between the check and the reading.
 */
import { dirname } from "@std/path";
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  type Stats,
} from "node:fs";

/** What a private file is judged by. */
export interface ProtectionRules {
  readonly maximumBytes: number;
  /** The effective user; `null` on Windows, where modes say nothing. */
  readonly userId: number | null;
  /** Directory of a service manager's credentials; files directly in it may be group-readable. */
  readonly credentialsDirectory?: string;
}

/** Tells one content of a path from another; compared, never interpreted. */
export type FileIdentity = string;

/** The bytes, or the broken rule with its remedy. Neither sentence holds content. */
export type ProtectedFile =
  | {
    readonly ok: true;
    readonly bytes: Uint8Array;
    readonly identity: FileIdentity;
  }
  | { readonly ok: false; readonly rule: string; readonly fix: string };

/** Reads `path` by the rules. Synchronous: the descriptor lives for one call only. */
export function readProtectedFile(
  path: string,
  rules: ProtectionRules,
): ProtectedFile {
  const parent = judgeParent(path, rules);
  if (parent) return parent;
  let descriptor: number;
  try {
    // Without O_NONBLOCK opening a pipe without a writer would wait for ever.
    descriptor = openSync(
      path,
      constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) |
        (constants.O_NONBLOCK ?? 0),
    );
  } catch (error) {
    return unopened(path, codeOf(error));
  }
  try {
    const stats = fstatSync(descriptor);
    const refusal = judge(path, stats, rules);
    if (refusal) return refusal;
    return readAll(path, descriptor, stats, rules.maximumBytes);
  } finally {
    closeSync(descriptor);
  }
}

/** The identity of the file at `path` now, or `undefined` when there is none. */
export function fileIdentity(path: string): FileIdentity | undefined {
  try {
    const stats = Deno.lstatSync(path);
    return identityOf(
      stats.dev,
      stats.ino,
      stats.mtime?.getTime() ?? 0,
      stats.size,
    );
  } catch {
    return undefined; // a missing file and an unreadable one are equally no file
  }
}

function identityOf(
  device: number,
  inode: number | null,
  modified: number,
  size: number,
): FileIdentity {
  return `${device}:${inode}:${Math.trunc(modified)}:${size}`;
}

function refuse(rule: string, fix: string): ProtectedFile {
  return { ok: false, rule, fix };
}

function judgeParent(
  path: string,
  rules: ProtectionRules,
): ProtectedFile | undefined {
  if (rules.userId === null) return undefined;
  const parent = dirname(path);
  let mode: number | null;
  let owner: number | null;
  try {
    ({ mode, uid: owner } = Deno.statSync(parent));
  } catch {
    return refuse(
      "its directory cannot be read",
      `create it: mkdir -m 700 -p '${parent}'`,
    );
  }
  if (((mode ?? 0) & 0o022) !== 0) {
    return refuse(
      "its directory is writable by others",
      `run: chmod go-w '${parent}'`,
    );
  }
  if (owner !== rules.userId && owner !== 0) {
    return refuse("its directory belongs to another user", "move the file");
  }
  return undefined;
}

function unopened(path: string, code: string): ProtectedFile {
  switch (code) {
    case "ENOENT":
      return refuse("does not exist", "create it with mode 0600");
    case "ELOOP":
    case "EMLINK":
      return refuse("is a symbolic link", "name the file itself");
    case "EACCES":
    case "EPERM":
      return refuse("cannot be read", `check its owner: ls -l '${path}'`);
    default:
      return refuse("cannot be opened", `check it: ls -l '${path}'`);
  }
}

function judge(
  path: string,
  stats: Stats,
  rules: ProtectionRules,
): ProtectedFile | undefined {
  if (!stats.isFile()) {
    return refuse("is not a regular file", "name a regular file");
  }
  if (stats.size > rules.maximumBytes) {
    return refuse(
      `is longer than ${rules.maximumBytes} bytes`,
      "check that it is the right file",
    );
  }
  if (rules.userId === null) return undefined;
  if (stats.uid !== rules.userId && stats.uid !== 0) {
    return refuse(
      "belongs to another user",
      `run: chown ${rules.userId} '${path}'`,
    );
  }
  if (stats.nlink !== 1) {
    return refuse(
      "has more than one hard link",
      "copy it to a file of its own",
    );
  }
  const credential = rules.credentialsDirectory !== undefined &&
    dirname(path) === rules.credentialsDirectory;
  // A service manager may hand credentials over as 0440 with an entry for the account.
  const forbidden = credential ? 0o037 : 0o077;
  return (stats.mode & forbidden) === 0 ? undefined : refuse(
    "is accessible to other users",
    `run: chmod 600 '${path}'`,
  );
}

function readAll(
  path: string,
  descriptor: number,
  stats: Stats,
  maximumBytes: number,
): ProtectedFile {
  const buffer = new Uint8Array(maximumBytes + 1);
  let length = 0;
  for (;;) {
    const count = readSync(
      descriptor,
      buffer,
      length,
      buffer.length - length,
      null,
    );
    if (count === 0) break;
    length += count;
    if (length > maximumBytes) {
      buffer.fill(0);
      return refuse("grew while it was read", `check it: ls -l '${path}'`);
    }
  }
  const bytes = buffer.slice(0, length);
  buffer.fill(0);
  return {
    ok: true,
    bytes,
    identity: identityOf(stats.dev, stats.ino, stats.mtimeMs, stats.size),
  };
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
