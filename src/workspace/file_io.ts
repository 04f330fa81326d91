/** Reads and writes on open descriptors, off the event loop, as promises. */
import * as fs from "node:fs";

/** Reads up to `length` bytes at the current position; fewer only at the end of the file. */
export async function readUpTo(
  descriptor: number,
  length: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const buffer = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const count = await readOnce(descriptor, buffer.subarray(filled));
    if (count === 0) break;
    filled += count;
  }
  return buffer.subarray(0, filled);
}

function readOnce(descriptor: number, into: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) =>
    fs.read(
      descriptor,
      into,
      0,
      into.length,
      null,
      (error, count) => error ? reject(error) : resolve(count),
    )
  );
}

/** Writes all of `data` at the current position. */
export async function writeAll(
  descriptor: number,
  data: Uint8Array,
): Promise<void> {
  let written = 0;
  while (written < data.length) {
    written += await writeOnce(descriptor, data.subarray(written));
  }
}

function writeOnce(descriptor: number, data: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) =>
    fs.write(
      descriptor,
      data,
      0,
      data.length,
      null,
      (error, count) => error ? reject(error) : resolve(count),
    )
  );
}

/** Makes the content of an open file durable. */
export function syncFile(descriptor: number): Promise<void> {
  return new Promise((resolve, reject) =>
    fs.fsync(descriptor, (error) => error ? reject(error) : resolve())
  );
}

/** Closes a descriptor; a failure throws, and the descriptor must not be used again either way. */
export function closeFile(descriptor: number): void {
  fs.closeSync(descriptor);
}
