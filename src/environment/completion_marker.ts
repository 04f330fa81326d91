/**
 * The mark that initialization finished, outside of the capability root: a selection that is gone
 * or altered after it can then be told from one that was never made. Opening it holds an exclusive
 * lock, so that two daemons cannot initialize one Session.
 */
import { join } from "@std/path";
import type { BindingIdentity } from "./selection.ts";

/** The longest marker, in bytes. */
const MARKER_BYTES = 8 * 1024;

/** Another process holds the lock of the markers. */
export class MarkerLocked extends Error {
  override readonly name = "MarkerLocked";
}

/** The held lock and the marker's file. */
export class CompletionMarker implements Disposable {
  readonly #lock: Deno.FsFile;
  readonly #path: string;
  readonly #content: string;

  private constructor(lock: Deno.FsFile, path: string, content: string) {
    this.#lock = lock;
    this.#path = path;
    this.#content = content;
  }

  /**
   * Opens the marker of one binding below `folder` (made 0700 when missing).
   *
   * @throws {MarkerLocked} when another process works on it.
   */
  static async open(
    folder: string,
    identity: BindingIdentity,
    capabilityRoot: string,
  ): Promise<CompletionMarker> {
    await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
    const lock = await Deno.open(join(folder, ".lock"), {
      create: true,
      write: true,
      mode: 0o600,
    });
    if (!await lock.tryLock(true)) {
      lock.close();
      throw new MarkerLocked("another process initializes this Environment");
    }
    const name = `${identity.environmentId}-${identity.sessionId}.json`;
    const content = `${JSON.stringify({ capability_root: capabilityRoot })}\n`;
    return new CompletionMarker(lock, join(folder, name), content);
  }

  /**
   * Whether initialization finished.
   *
   * @throws when a marker for another capability root stands there.
   */
  async isComplete(): Promise<boolean> {
    let file: Deno.FsFile;
    try {
      file = await Deno.open(this.#path);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false;
      throw error;
    }
    using held = file;
    const buffer = new Uint8Array(MARKER_BYTES);
    const count = await held.read(buffer) ?? 0;
    const text = new TextDecoder().decode(buffer.subarray(0, count));
    if (text !== this.#content) {
      throw new Error("the completion marker belongs to another installation");
    }
    return true;
  }

  /** Writes the marker, durable. It must not exist. */
  async complete(): Promise<void> {
    using file = await Deno.open(this.#path, {
      createNew: true,
      write: true,
      mode: 0o600,
    });
    await file.write(new TextEncoder().encode(this.#content));
    await file.sync();
    using folder = await Deno.open(join(this.#path, ".."));
    if (Deno.build.os !== "windows") await folder.sync();
  }

  [Symbol.dispose](): void {
    this.#lock.close(); // the kernel drops the lock with the handle
  }
}
