// Owns the trace that correlates log lines and replies. It never identifies or refuses anything.
import type { Ids } from "../platform/ids.ts";

const TRACEPARENT =
  /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The trace of a frame, or a fresh local one where it is missing or malformed. */
export function traceOf(trace: string | undefined, ids: Ids): string {
  return trace !== undefined && TRACEPARENT.test(trace)
    ? trace
    : `00-${ids.hex(16)}-${ids.hex(8)}-00`;
}
