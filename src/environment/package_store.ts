/**
 * Packages on disk, below the private capability root: written once with read-only modes, read back
 * and judged again at each use. A tree that was written in part stays as it is and makes every later
 * step fail; it is never repaired or replaced.
 */
import * as fs from "node:fs";
import {
  DescentError,
  type Directory,
  regularFacts,
  unchanged,
} from "../workspace/directory.ts";
import {
  closeFile,
  readUpTo,
  syncFile,
  writeAll,
} from "../workspace/file_io.ts";
import { isComponent } from "../workspace/path.ts";
import type { PinnedRoot } from "../workspace/root.ts";
import {
  InvalidPackage,
  PACKAGE_BOUNDS,
  type PackageFile,
} from "./package_files.ts";

const READ_ONLY = 0o400;
const READ_ONLY_EXECUTABLE = 0o500;
const ANY_WRITE = 0o222;
const ANY_EXECUTE = 0o111;

/**
 * Writes a package as a new directory at `components`. Files end with mode 0400 or 0500 and are
 * durable when this resolves.
 *
 * @throws {InvalidPackage} when something stands there already.
 */
export async function writePackage(
  root: PinnedRoot,
  components: readonly string[],
  files: readonly PackageFile[],
): Promise<void> {
  const parent = root.descend(components.slice(0, -1), "make");
  try {
    const directory = newChild(parent, components.at(-1) ?? "");
    try {
      await writeLevel(directory, files, "");
    } finally {
      directory.close();
    }
    await parent.sync();
  } finally {
    parent.close();
  }
  const top = root.open();
  try {
    await top.sync();
  } finally {
    top.close();
  }
}

function newChild(parent: Directory, name: string): Directory {
  try {
    parent.facts(name);
  } catch (error) {
    if (error instanceof DescentError && error.problem === "missing") {
      return parent.makeChild(name);
    }
    throw error;
  }
  throw new InvalidPackage("a package of this name is installed");
}

/** Writes the files of one directory level, then each subdirectory. */
async function writeLevel(
  directory: Directory,
  files: readonly PackageFile[],
  prefix: string,
): Promise<void> {
  const below = new Map<string, PackageFile[]>();
  for (const file of files) {
    const [name = "", ...rest] = file.path.slice(prefix.length).split("/");
    if (rest.length === 0) await writeSealedFile(directory, name, file);
    else below.set(name, [...(below.get(name) ?? []), file]);
  }
  for (const [name, children] of below) {
    const child = directory.makeChild(name);
    try {
      await writeLevel(child, children, `${prefix}${name}/`);
    } finally {
      child.close();
    }
  }
  await directory.sync();
}

/** Writes one new file, sealed and durable; its entry is durable after the directory's sync. */
export async function writeSealedFile(
  directory: Directory,
  name: string,
  file: PackageFile,
): Promise<void> {
  const descriptor = directory.createExclusive(name);
  try {
    await writeAll(descriptor, file.data);
    fs.fchmodSync(
      descriptor,
      file.executable ? READ_ONLY_EXECUTABLE : READ_ONLY,
    );
    await syncFile(descriptor);
  } finally {
    closeFile(descriptor);
  }
}

/** How a tree must be to count as a package. */
export interface TreeRules {
  /** `sealed` refuses files with a write bit, as installed ones have none. */
  readonly files: "sealed" | "any";
}

/**
 * Reads a whole directory as a package. Takes over `directory` and closes it. Order is that of the
 * system.
 *
 * @throws {InvalidPackage} on links, special files, bounds or a file that changes meanwhile.
 */
export async function readPackage(
  directory: Directory,
  rules: TreeRules,
): Promise<readonly PackageFile[]> {
  const files: PackageFile[] = [];
  const used = { entries: 0, bytes: 0 };
  await readLevel(directory, "", rules, files, used);
  return files;
}

async function readLevel(
  directory: Directory,
  prefix: string,
  rules: TreeRules,
  files: PackageFile[],
  used: { entries: number; bytes: number },
): Promise<void> {
  try {
    for await (const name of directory.names()) {
      if (++used.entries > PACKAGE_BOUNDS.entries) {
        throw new InvalidPackage("a package has too many entries");
      }
      if (!isComponent(name, "posix")) {
        throw new InvalidPackage("a package has an unusable name");
      }
      const { kind } = directory.facts(name);
      if (kind === "directory") {
        const child = directory.child(name);
        await readLevel(child, `${prefix}${name}/`, rules, files, used);
      } else if (kind === "file") {
        const file = await readFile(directory, name, prefix, rules, used);
        files.push(file);
      } else throw new InvalidPackage("a package holds no plain file");
    }
  } catch (error) {
    if (error instanceof InvalidPackage) throw error;
    throw new InvalidPackage("a package cannot be read", { cause: error });
  } finally {
    directory.close();
  }
}

/**
 * Reads one sealed file of a directory.
 *
 * @throws {InvalidPackage} or a `DescentError` when it is not a plain sealed file.
 */
export function readSealedFile(
  directory: Directory,
  name: string,
): Promise<PackageFile> {
  const used = { entries: 0, bytes: 0 };
  return readFile(directory, name, "", { files: "sealed" }, used);
}

async function readFile(
  directory: Directory,
  name: string,
  prefix: string,
  rules: TreeRules,
  used: { entries: number; bytes: number },
): Promise<PackageFile> {
  const descriptor = directory.openRegular(name);
  try {
    const before = regularFacts(descriptor);
    used.bytes += before.sizeBytes;
    if (used.bytes > PACKAGE_BOUNDS.bytes) {
      throw new InvalidPackage("a package is too large");
    }
    const { mode } = fs.fstatSync(descriptor);
    if (rules.files === "sealed" && (mode & ANY_WRITE) !== 0) {
      throw new InvalidPackage("a package's file was unsealed");
    }
    const data = await readUpTo(descriptor, before.sizeBytes + 1);
    if (
      data.length !== before.sizeBytes ||
      !unchanged(before, regularFacts(descriptor))
    ) throw new InvalidPackage("a package's file changed");
    return {
      path: prefix + name,
      data,
      executable: (mode & ANY_EXECUTE) !== 0,
    };
  } finally {
    closeFile(descriptor);
  }
}
