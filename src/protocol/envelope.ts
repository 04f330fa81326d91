// Owns the envelope around every frame: its JSON form, and nothing about what `payload` means.
import { accepted, type Decoded, refused } from "./decoded.ts";

/** One frame. `id` and `payload` are absent where the frame type has none. */
export interface Envelope {
  /** The frame type, exact and case-sensitive. */
  readonly type: string;
  /** Correlation; which identity it is depends on `type`. Absent and empty mean the same. */
  readonly id?: string;
  /** The body as JSON. Absent for a body-less frame, never `null`. */
  readonly payload?: unknown;
  /** W3C traceparent, for diagnosis only. */
  readonly trace?: string;
}

/** A received frame together with the text it came in. */
export interface InboundEnvelope extends Envelope {
  /** The received text: payload sizes and byte-exact members are measured on it. */
  readonly source: string;
}

/**
 * Reads one text message. Unknown members are ignored, a repeated member counts once with its last
 * value, and `null` means absent. A trace that is not text is dropped: it never refuses a frame.
 * This is the only `JSON.parse` of an inbound frame.
 */
export function decodeEnvelope(text: string): Decoded<InboundEnvelope> {
  let frame: unknown;
  try {
    frame = JSON.parse(text);
  } catch {
    return refused("the message is not JSON");
  }
  if (typeof frame !== "object" || frame === null || Array.isArray(frame)) {
    return refused("the message is not a JSON object");
  }
  const { type, id, payload, trace } = frame as Record<string, unknown>;
  if (typeof type !== "string" || type === "") {
    return refused("the envelope has no type");
  }
  if (id !== undefined && id !== null && typeof id !== "string") {
    return refused("the envelope id is not text");
  }
  return accepted({
    type,
    ...(id ? { id } : {}),
    ...(payload === undefined || payload === null ? {} : { payload }),
    ...(typeof trace === "string" && trace !== "" ? { trace } : {}),
    source: text,
  });
}

/**
 * Writes one frame with one `JSON.stringify`. `source` and every member outside the envelope stay
 * behind; empty members are left out.
 *
 * @throws {TypeError | RangeError} when the payload cannot be written as JSON.
 */
export function encodeEnvelope(envelope: Envelope): string {
  return JSON.stringify({
    type: envelope.type,
    id: envelope.id || undefined,
    payload: envelope.payload ?? undefined,
    trace: envelope.trace || undefined,
  });
}
