/** A capability package as files: what an archive brings, and what is read back from disk. */

/** The protocol's bounds of one package. */
export const PACKAGE_BOUNDS = {
  /** Entries, directories included. */
  entries: 1000,
  /** Bytes of all files. */
  bytes: 20 * 1024 * 1024,
  /** Bytes of the compressed archive. */
  archiveBytes: 5 * 1024 * 1024,
  /** Bytes of an entry's name. */
  nameBytes: 4096,
  /** Bytes of each manifest: `SKILL.md`, `plugin.json`, `.mcp.json`, `installed.json`. */
  manifestBytes: 256 * 1024,
} as const;

/** One regular file of a package. */
export interface PackageFile {
  /** Slash-separated, relative to the package's root. */
  readonly path: string;
  readonly data: Uint8Array;
  readonly executable: boolean;
}

/** The content of a package is not what its rules allow. Carries no part of it. */
export class InvalidPackage extends Error {
  override readonly name = "InvalidPackage";
}

/** Decodes a manifest strictly. Throws {@linkcode InvalidPackage}. */
export function manifestText(file: PackageFile): string {
  if (file.data.length > PACKAGE_BOUNDS.manifestBytes) {
    throw new InvalidPackage("a manifest is too large");
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      file.data,
    );
  } catch (error) {
    throw new InvalidPackage("a manifest is not UTF-8", { cause: error });
  }
}

/** Parses a JSON manifest as an object without repeated members at its top. */
export function manifestObject(file: PackageFile): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(manifestText(file));
  } catch (error) {
    if (error instanceof InvalidPackage) throw error;
    throw new InvalidPackage("a manifest is not JSON", { cause: error });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new InvalidPackage("a manifest is not an object");
  }
  return value as Record<string, unknown>;
}
