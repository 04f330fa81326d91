// Owns writing a small file so that a reader, a crash or a power loss meets the old content or the
// new one, never a part of either.
import { dirname } from "@std/path";
import { type Clock, sleep } from "./clock.ts";
import type { Ids } from "./ids.ts";

/** Waits between attempts to rename over a file that a scanner holds open, in milliseconds. */
export const RENAME_PAUSES: readonly number[] = [10, 20, 40, 80, 160, 320];

/** What writing may use. */
export interface AtomicWriteContext {
  readonly clock: Clock;
  readonly ids: Ids;
  /** The rename in use; a test gives a failing one. */
  readonly rename?: (from: string, to: string) => Promise<void>;
}

/**
 * Replaces `path` with `content`, readable and writable by the owner only. The directory exists.
 * A rename that is refused because another program holds the target is tried again for about
 * 600 ms; the old file stays in place meanwhile.
 *
 * @throws the system's error; the old file and no temporary one are left then.
 */
export async function writeFileAtomically(
  path: string,
  content: string | Uint8Array,
  context: AtomicWriteContext,
): Promise<void> {
  const temporary = `${path}.${context.ids.hex(8)}.tmp`;
  const bytes = typeof content === "string"
    ? new TextEncoder().encode(content)
    : content;
  try {
    await writeSynced(temporary, bytes);
    await renamePatiently(temporary, path, context);
  } catch (error) {
    await removeQuietly(temporary);
    throw error;
  }
  await syncDirectory(dirname(path));
}

async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  using file = await Deno.open(path, {
    write: true,
    createNew: true,
    mode: 0o600,
  });
  for (let written = 0; written < bytes.byteLength;) {
    written += await file.write(bytes.subarray(written));
  }
  await file.sync();
}

async function renamePatiently(
  from: string,
  to: string,
  context: AtomicWriteContext,
): Promise<void> {
  const rename = context.rename ?? Deno.rename;
  for (const pause of RENAME_PAUSES) {
    try {
      return await rename(from, to);
    } catch (error) {
      if (!isHeldElsewhere(error)) throw error;
      await sleep(context.clock, pause);
    }
  }
  await rename(from, to);
}

/** Windows refuses to replace a file that another program has open. */
function isHeldElsewhere(error: unknown): boolean {
  return error instanceof Deno.errors.PermissionDenied ||
    error instanceof Deno.errors.Busy;
}

async function removeQuietly(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    // The first error is the one to report; a temporary file that never existed is no news.
    if (error instanceof Deno.errors.NotFound) return;
  }
}

/** Makes the rename itself durable where the system can: a directory is no file on Windows. */
async function syncDirectory(path: string): Promise<void> {
  if (Deno.build.os === "windows") return;
  using directory = await Deno.open(path, { read: true });
  await directory.sync();
}
