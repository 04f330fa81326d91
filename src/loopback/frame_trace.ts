/**
 * Owns the one-line description of a frame for a reader: type, ids and states. Content, inputs,
 * arguments, results and error texts never appear.
 */
import type { Envelope } from "../protocol/envelope.ts";

/** One thing that Core sent, received or noticed. */
export interface TraceLine {
  /** `to_runtime` means it entered the local queue, nothing more. */
  readonly direction: "to_runtime" | "from_runtime" | "core";
  readonly type: string;
  readonly id: string;
  /** States, revisions and codes of the frame, or why Core ignored it. */
  readonly detail: string;
}

/** Receives each line as it happens. Must not throw. */
export type TraceListener = (line: TraceLine) => void;

/** Members that are ids, states, codes or counters, in the order they are shown. */
const SHOWN: readonly string[] = [
  "session_id",
  "state",
  "revision",
  "reused",
  "run_id",
  "operation",
  "step",
  "input_id",
  "durable_receipt",
  "delivery_id",
  "call_id",
  "request_id",
  "ask_id",
  "item_id",
  "sequence",
  "status",
  "stage",
  "written",
  "accepted",
  "applied",
  "approved",
  "outcome",
  "error_code",
  "code",
  "http_status",
];

/** The longest value shown; a peer chooses ids. */
const MAX_SHOWN = 80;

/** Describes a frame without anything it says. */
export function traceFrame(
  direction: "to_runtime" | "from_runtime",
  frame: Envelope,
): TraceLine {
  const payload = typeof frame.payload === "object" && frame.payload !== null
    ? frame.payload as Record<string, unknown>
    : {};
  const shown = SHOWN.flatMap((name) => {
    const value = payload[name];
    return value === undefined || typeof value === "object" ||
        typeof value === "function"
      ? []
      : [`${name}=${printable(String(value))}`];
  });
  return {
    direction,
    type: printable(frame.type),
    id: printable(frame.id ?? ""),
    detail: shown.join(" "),
  };
}

function printable(text: string): string {
  const escaped = JSON.stringify(text.slice(0, MAX_SHOWN)).slice(1, -1);
  return text.length > MAX_SHOWN ? `${escaped}…` : escaped;
}
