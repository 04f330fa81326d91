/**
 * Native values that are too large for one frame. A command's output keeps its beginning and its
 * end around a marker that counts what is left out; any other value is replaced by a marker.
 */
import { MAX_FRAME_BYTES } from "../../src/protocol/limits.ts";

/** Encoded bytes one field may take; the rest of the frame holds names, ids and other members. */
const FIELD_BYTES = MAX_FRAME_BYTES - 512 * 1024;
/** Bytes kept at each end of an output. */
const KEPT_BYTES = 1024 * 1024;

/** A message text: whole as long as it fits one frame at all. */
export function boundText(text: string): string {
  const fits = text.length * 6 <= FIELD_BYTES || // the longest escape of a character
    encodedBytes(text) <= FIELD_BYTES;
  return fits ? text : boundOutput(text);
}

/** `text`, or its two ends with a marker between them that states the omitted bytes. */
export function boundOutput(text: string): string {
  const short = text.length <= 2 * KEPT_BYTES;
  if (short && encodedBytes(text) <= 2 * KEPT_BYTES) return text;
  const bytes = new TextEncoder().encode(text);
  for (let kept = KEPT_BYTES;; kept = Math.floor(kept / 2)) {
    if (2 * kept >= bytes.length) continue;
    const head = decode(bytes.subarray(0, kept));
    const tail = decode(bytes.subarray(bytes.length - kept));
    const omitted = bytes.length - 2 * kept;
    const cut = `${head}\n[… ${omitted} bytes omitted …]\n${tail}`;
    if (kept === 0 || encodedBytes(cut) <= FIELD_BYTES) return cut;
  }
}

/** `value`, or a marker string when it does not fit. */
export function boundValue(value: unknown): unknown {
  const bytes = encodedBytes(value);
  return bytes <= FIELD_BYTES / 2 ? value : `[… ${bytes} bytes omitted …]`;
}

/** Bytes of the JSON text; a value without one counts as nothing. */
function encodedBytes(value: unknown): number {
  const text = JSON.stringify(value);
  return text === undefined ? 0 : new TextEncoder().encode(text).length;
}

/** Decodes a cut piece; a character split by the cut is dropped, not replaced. */
function decode(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes);
  const first = /^\uFFFD*/.exec(text)?.[0].length ?? 0;
  let last = text.length;
  while (last > first && text[last - 1] === "\uFFFD") last--;
  return text.slice(first, last);
}
