/**
 * Values that are too large for one frame. A command's output keeps its beginning and its end
 * around a marker that counts what is left out; another value is replaced by such a marker.
 */
import { MAX_FRAME_BYTES } from "../../src/protocol/limits.ts";

/** Encoded bytes that one member may take; ids, names and other members share the rest. */
const MEMBER_BYTES = MAX_FRAME_BYTES / 2 - 64 * 1024;
/** Bytes kept at each end of an output at first; halved until the rest fits. */
const KEPT_BYTES = 1024 * 1024;

/** The output, or its two ends around a marker. */
export function boundedOutput(output: string): string {
  if (encodedBytes(output) <= MEMBER_BYTES) return output;
  const bytes = new TextEncoder().encode(output);
  for (let kept = KEPT_BYTES;; kept = Math.floor(kept / 2)) {
    if (2 * kept >= bytes.length) continue;
    const omitted = bytes.length - 2 * kept;
    const cut = whole(bytes.subarray(0, kept)) + marker(omitted) +
      whole(bytes.subarray(bytes.length - kept));
    if (kept === 0 || encodedBytes(cut) <= MEMBER_BYTES) return cut;
  }
}

/** The value, or a marker when it does not fit. */
export function boundedValue(value: unknown): unknown {
  const bytes = encodedBytes(value);
  return bytes <= MEMBER_BYTES ? value : marker(bytes);
}

/** Whether the value fits into a member as it is. */
export function fitsMember(value: unknown): boolean {
  return encodedBytes(value) <= MEMBER_BYTES;
}

/** What stands for `bytes` that are left out. */
export function marker(bytes: number): string {
  return `[${bytes} bytes omitted]`;
}

function encodedBytes(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value) ?? "").length;
}

/** A character that the cut divides is dropped, not replaced. */
function whole(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).replace(/^\ufffd+|\ufffd+$/g, "");
}
