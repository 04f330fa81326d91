/**
 * Exports the `outputs` directory of the workspace as one tar stream, produced as it is pulled. A
 * file that changes while it is read, an entry that is neither file, directory nor link, or a bound
 * that is passed ends the export as failed; a prefix of it proves nothing.
 */
import {
  DescentError,
  type Directory,
  regularFacts,
  unchanged,
} from "./directory.ts";
import { closeFile, readUpTo } from "./file_io.ts";
import { compareUtf8 } from "./list_directory.ts";
import { isComponent, PATH_BYTES } from "./path.ts";
import type { PinnedRoot } from "./root.ts";
import { TAR_END, tarHeader, tarPadding } from "./tar.ts";

/** The bounds of one export; the protocol's numbers are in {@linkcode EXPORT_BOUNDS}. */
export interface ExportBounds {
  /** Entries seen, directories and links included. */
  readonly entries: number;
  /** Directory levels below `outputs`. */
  readonly depth: number;
  /** Bytes of one file. */
  readonly fileBytes: number;
  /** Bytes of all files. */
  readonly contentBytes: number;
}

/** The protocol's bounds: 4096 entries, depth 64, 200 MiB a file, 500 MiB in all. */
export const EXPORT_BOUNDS: ExportBounds = {
  entries: 4096,
  depth: 64,
  fileBytes: 200 * 1024 * 1024,
  contentBytes: 500 * 1024 * 1024,
};

/** The exported directory below the root. */
export const OUTPUTS = "outputs";
/** How much of a file is read at once. */
const READ_BYTES = 64 * 1024;

/** The export cannot be completed; the reason is local. */
export class ExportFailed extends Error {
  override readonly name = "ExportFailed";
}

interface Progress {
  entries: number;
  contentBytes: number;
}

/**
 * The tar stream of `outputs`, in pieces of at most 64 KiB; an absent directory gives an empty,
 * closed archive. Handles are closed when the generator ends, also by `return()`.
 *
 * @throws {ExportFailed} instead of the rest.
 */
export async function* exportOutputs(
  root: PinnedRoot,
  bounds: ExportBounds = EXPORT_BOUNDS,
): AsyncGenerator<Uint8Array, void, void> {
  const progress: Progress = { entries: 0, contentBytes: 0 };
  const outputs = openOutputs(root);
  if (outputs) yield* directoryBlocks(outputs, OUTPUTS, 0, progress, bounds);
  yield TAR_END;
}

function openOutputs(root: PinnedRoot): Directory | undefined {
  try {
    return root.descend([OUTPUTS]);
  } catch (error) {
    if (error instanceof DescentError && error.problem === "missing") {
      return undefined;
    }
    throw new ExportFailed("outputs is not a directory", { cause: error });
  }
}

/** Takes over `directory` and closes it. */
async function* directoryBlocks(
  directory: Directory,
  path: string,
  depth: number,
  progress: Progress,
  bounds: ExportBounds,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    for (const name of await sortedNames(directory, progress, bounds)) {
      const entryPath = `${path}/${name}`;
      if (new TextEncoder().encode(entryPath).length > PATH_BYTES) {
        throw new ExportFailed("a path is too long");
      }
      switch (factsOf(directory, name).kind) {
        case "symlink":
          break;
        case "directory":
          if (depth === bounds.depth) {
            throw new ExportFailed("directories are nested too deep");
          }
          yield* directoryBlocks(
            childOf(directory, name),
            entryPath,
            depth + 1,
            progress,
            bounds,
          );
          break;
        case "file":
          yield* fileBlocks(directory, name, entryPath, progress, bounds);
          break;
        case "other":
          throw new ExportFailed("an entry is no file, directory or link");
      }
    }
  } finally {
    directory.close();
  }
}

async function sortedNames(
  directory: Directory,
  progress: Progress,
  bounds: ExportBounds,
): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const name of directory.names()) {
      if (++progress.entries > bounds.entries) {
        throw new ExportFailed("there are too many entries");
      }
      if (!isComponent(name, "posix")) {
        throw new ExportFailed("an entry has an unusable name");
      }
      names.push(name);
    }
  } catch (error) {
    throw exportFailure(error);
  }
  return names.sort(compareUtf8);
}

/** One file: its size is fixed when it is opened, and it must not change until it was read. */
async function* fileBlocks(
  directory: Directory,
  name: string,
  path: string,
  progress: Progress,
  bounds: ExportBounds,
): AsyncGenerator<Uint8Array, void, void> {
  const descriptor = openedFile(directory, name);
  try {
    const before = regularFacts(descriptor);
    progress.contentBytes += before.sizeBytes;
    if (
      before.sizeBytes > bounds.fileBytes ||
      progress.contentBytes > bounds.contentBytes
    ) throw new ExportFailed("the files are too large");
    yield tarHeader(path, before.sizeBytes);
    let left = before.sizeBytes;
    while (left > 0) {
      const piece = await pieceOf(descriptor, Math.min(left, READ_BYTES));
      if (piece.length === 0) throw new ExportFailed("a file became shorter");
      left -= piece.length;
      yield piece;
    }
    if (!unchanged(before, regularFacts(descriptor))) {
      throw new ExportFailed("a file changed while it was read");
    }
    const padding = tarPadding(before.sizeBytes);
    if (padding > 0) yield new Uint8Array(padding);
  } finally {
    closeFile(descriptor);
  }
}

function factsOf(directory: Directory, name: string) {
  try {
    return directory.facts(name);
  } catch (error) {
    throw exportFailure(error);
  }
}

function childOf(directory: Directory, name: string): Directory {
  try {
    return directory.child(name);
  } catch (error) {
    throw exportFailure(error);
  }
}

function openedFile(directory: Directory, name: string): number {
  try {
    return directory.openRegular(name);
  } catch (error) {
    throw exportFailure(error);
  }
}

async function pieceOf(
  descriptor: number,
  length: number,
): Promise<Uint8Array> {
  try {
    return await readUpTo(descriptor, length);
  } catch (error) {
    throw exportFailure(error);
  }
}

function exportFailure(error: unknown): ExportFailed {
  return error instanceof ExportFailed
    ? error
    : new ExportFailed("an entry cannot be read", { cause: error });
}
