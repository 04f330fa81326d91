/**
 * An open directory below the workspace root. Every operation names one component of it; a symbolic
 * link is never followed, and what was opened is judged by its own handle.
 */
import * as fs from "node:fs";

/** Why a component could not be opened or made. */
export type DescentProblem =
  | "missing"
  | "denied"
  /** Something that is not a directory stands where one is needed. */
  | "not_directory"
  /** A symbolic link or another kind of redirection. */
  | "link"
  /** Not a regular file: a directory, FIFO, socket or device. */
  | "not_regular"
  /** The name exists already. */
  | "exists"
  /** Anything else, such as an I/O error or a full disk. */
  | "failed";

/** A refusal of the file system, as a kind; the system's own text stays local as the cause. */
export class DescentError extends Error {
  override readonly name = "DescentError";
  constructor(readonly problem: DescentProblem, options?: ErrorOptions) {
    super(problem, options);
  }
}

/** Identity of a file system object. */
export interface Identity {
  readonly device: bigint;
  readonly inode: bigint;
}

/** What is known of a directory entry without opening it. */
export interface EntryFacts extends Identity {
  readonly kind: "file" | "directory" | "symlink" | "other";
  readonly sizeBytes: number;
}

/** What an open regular file is at one moment; two equal snapshots mean it did not change. */
export interface FileFacts extends Identity {
  readonly sizeBytes: number;
  readonly modifiedNanoseconds: bigint;
  readonly changedNanoseconds: bigint;
}

/** One open directory. Names are validated components, see `path.ts`. */
export interface Directory {
  readonly identity: Identity;
  /** Whether {@linkcode makeChild} made it when it was opened. */
  readonly isNew: boolean;
  /** Opens a child directory. Throws {@linkcode DescentError}. */
  child(name: string): Directory;
  /** Makes a child directory (0700) when it is missing, then opens it. */
  makeChild(name: string): Directory;
  /** Opens a regular file for reading, without ever blocking on a FIFO or device. */
  openRegular(name: string): number;
  /** Creates a file (0600) that did not exist and opens it for writing. */
  createExclusive(name: string): number;
  /** Looks at an entry without following it. */
  facts(name: string): EntryFacts;
  /** Gives a file of this directory a second name that must not exist yet. */
  link(from: string, to: string): void;
  /** Moves a file of this directory over another name of it. */
  rename(from: string, to: string): void;
  /** Removes a file's name. */
  remove(name: string): void;
  /** Removes an empty directory; anything else throws {@linkcode DescentError}. */
  removeEmpty(name: string): void;
  /** Names in the order of the system, as far as the caller reads them. */
  names(): AsyncIterable<string>;
  /** Makes entries durable where the system can. */
  sync(): Promise<void>;
  /**
   * Confirms that this still is the directory at its place below the root. Where the system resolves
   * every name from the held handle there is nothing to confirm.
   */
  confirm(): void;
  /** Closes the handle; a failure to close throws. */
  close(): void;
}

/** Translates an error of the system. `whenNotDirectory` decides what ENOTDIR means at the caller. */
export function descentError(
  error: unknown,
  whenNotDirectory: DescentProblem = "not_directory",
): DescentError {
  return new DescentError(
    problemOf(codeOf(error), whenNotDirectory),
    { cause: error },
  );
}

/** The system's error code, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error &&
      typeof error.code === "string"
    ? error.code
    : undefined;
}

function problemOf(
  code: string | undefined,
  whenNotDirectory: DescentProblem,
): DescentProblem {
  switch (code) {
    case "ENOENT":
      return "missing";
    case "EACCES":
    case "EPERM":
      return "denied";
    case "ENOTDIR":
      return whenNotDirectory;
    case "ELOOP":
      return "link";
    case "EEXIST":
      return "exists";
    case "EISDIR":
    case "ENXIO":
      return "not_regular";
    default:
      return "failed";
  }
}

/** Facts of an entry from an `lstat` result. */
export function entryFacts(stat: fs.BigIntStats): EntryFacts {
  return {
    device: stat.dev,
    inode: stat.ino,
    kind: stat.isFile()
      ? "file"
      : stat.isDirectory()
      ? "directory"
      : stat.isSymbolicLink()
      ? "symlink"
      : "other",
    sizeBytes: Number(stat.size),
  };
}

/** Facts of an open file, or a refusal when it is not a regular one. */
export function regularFacts(descriptor: number): FileFacts {
  const stat = fs.fstatSync(descriptor, { bigint: true });
  if (!stat.isFile()) throw new DescentError("not_regular");
  return {
    device: stat.dev,
    inode: stat.ino,
    sizeBytes: Number(stat.size),
    modifiedNanoseconds: stat.mtimeNs,
    changedNanoseconds: stat.ctimeNs,
  };
}

/** Whether two objects are one. */
export function sameObject(left: Identity, right: Identity): boolean {
  return left.device === right.device && left.inode === right.inode;
}

/** Whether an open file is untouched between two looks. */
export function unchanged(left: FileFacts, right: FileFacts): boolean {
  return sameObject(left, right) && left.sizeBytes === right.sizeBytes &&
    left.modifiedNanoseconds === right.modifiedNanoseconds &&
    left.changedNanoseconds === right.changedNanoseconds;
}
