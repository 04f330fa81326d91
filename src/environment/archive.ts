/**
 * Reads a capability archive: a ZIP with one directory around everything, of regular files only.
 * The whole archive is checked before anything is used of it.
 */
import {
  type Entry,
  type FileEntry,
  Uint8ArrayReader,
  Uint8ArrayWriter,
  ZipReader,
} from "@zip.js/zip.js";
import {
  InvalidPackage,
  PACKAGE_BOUNDS,
  type PackageFile,
} from "./package_files.ts";

const FILE_TYPE = 0o170000;
const REGULAR = 0o100000;
const DIRECTORY = 0o040000;
const ANY_EXECUTE = 0o111;
/** Systems, as the archive's creator byte names them, whose upper attribute bits are a Unix mode. */
const UNIX_CREATORS: ReadonlySet<number> = new Set([3, 19]);

/**
 * The files of an archive, the wrapping directory stripped.
 *
 * @throws {InvalidPackage} for anything the rules do not allow.
 */
export async function readArchive(
  data: Uint8Array,
): Promise<readonly PackageFile[]> {
  if (data.length > PACKAGE_BOUNDS.archiveBytes) {
    throw new InvalidPackage("the archive is too large");
  }
  const reader = new ZipReader(new Uint8ArrayReader(data), {
    useWebWorkers: false,
    checkSignature: true,
    strictness: "strict",
  });
  try {
    return await filesOf(await reader.getEntries());
  } catch (error) {
    if (error instanceof InvalidPackage) throw error;
    throw new InvalidPackage("the archive cannot be read", { cause: error });
  } finally {
    await reader.close();
  }
}

async function filesOf(entries: readonly Entry[]): Promise<PackageFile[]> {
  if (entries.length === 0 || entries.length > PACKAGE_BOUNDS.entries) {
    throw new InvalidPackage("the archive has no or too many entries");
  }
  checkNames(entries);
  let declared = 0;
  for (const entry of entries) declared += entry.uncompressedSize;
  if (declared > PACKAGE_BOUNDS.bytes) {
    throw new InvalidPackage("the archive expands too far");
  }
  const files: PackageFile[] = [];
  let expanded = 0;
  for (const entry of entries) {
    const mode = modeOf(entry);
    if (entry.directory) continue;
    const path = entry.filename.split("/").slice(1).join("/");
    if (path === "") {
      throw new InvalidPackage("a file stands beside the wrapper");
    }
    const content = await contentOf(entry, PACKAGE_BOUNDS.bytes - expanded);
    expanded += content.length;
    files.push({
      path,
      data: content,
      executable: (mode & ANY_EXECUTE) !== 0,
    });
  }
  return files;
}

/** One wrapper, clean unique names, and no file that is another one's directory. */
function checkNames(entries: readonly Entry[]): void {
  const wrapper = entries[0]?.filename.split("/")[0];
  const files = new Set<string>();
  const seen = new Set<string>();
  for (const entry of entries) {
    if (entry.encrypted) throw new InvalidPackage("an entry is encrypted");
    const name = cleanName(entry);
    if (name.split("/")[0] !== wrapper) {
      throw new InvalidPackage("the archive has more than one top directory");
    }
    if (seen.has(name)) throw new InvalidPackage("an entry's name is repeated");
    seen.add(name);
    if (!entry.directory) files.add(name);
  }
  for (const name of seen) {
    const parts = name.split("/");
    for (let length = 1; length < parts.length; length++) {
      if (files.has(parts.slice(0, length).join("/"))) {
        throw new InvalidPackage("a file is the parent of another entry");
      }
    }
  }
}

/** The entry's name without a directory's trailing slash, after it was found clean. */
function cleanName(entry: Entry): string {
  let name: string;
  try {
    name = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      entry.rawFilename,
    );
  } catch (error) {
    throw new InvalidPackage("an entry's name is not UTF-8", { cause: error });
  }
  if (
    name !== entry.filename ||
    entry.rawFilename.length > PACKAGE_BOUNDS.nameBytes ||
    /[\\\0\r\n]/.test(name)
  ) throw new InvalidPackage("an entry's name is unusable");
  const bare = entry.directory ? name.replace(/\/$/, "") : name;
  if (
    bare.split("/").some((part) => part === "" || part === "." || part === "..")
  ) {
    throw new InvalidPackage("an entry's name is not clean");
  }
  return bare;
}

/** The Unix mode, or that of a plain file where the creator has none. Other kinds are refused. */
function modeOf(entry: Entry): number {
  const creator = entry.versionMadeBy >>> 8;
  if (!UNIX_CREATORS.has(creator)) return entry.directory ? DIRECTORY : REGULAR;
  const mode = entry.externalFileAttributes >>> 16;
  const kind = mode & FILE_TYPE;
  const expected = entry.directory ? DIRECTORY : REGULAR;
  if (kind !== expected && kind !== 0) {
    throw new InvalidPackage("an entry is no regular file");
  }
  return mode;
}

async function contentOf(
  entry: FileEntry,
  limit: number,
): Promise<Uint8Array> {
  if (entry.uncompressedSize > limit) {
    throw new InvalidPackage("the archive expands too far");
  }
  const content = await entry.getData(new Uint8ArrayWriter(), {
    useWebWorkers: false,
    checkSignature: true,
  });
  if (content.length !== entry.uncompressedSize) {
    throw new InvalidPackage("an entry has another size than declared");
  }
  return content;
}
