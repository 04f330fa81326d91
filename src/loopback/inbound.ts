/**
 * Owns the reading of one connection: each text is decoded, traced and routed once, in order, and
 * the first frame must be a heartbeat.
 */
import { decodeEnvelope } from "../protocol/envelope.ts";
import type { Declarations } from "./declarations.ts";
import { traceFrame, type TraceListener } from "./frame_trace.ts";
import { decodeRuntimeFrame } from "./inbound_frames.ts";
import { ProtocolViolation } from "./observation.ts";
import type { Routes } from "./routes.ts";

/** Where a read frame goes. */
export interface InboundTargets {
  readonly declarations: Declarations;
  readonly routes: Routes;
  readonly trace: TraceListener;
}

/**
 * Reads one text message. Returns whether it was a heartbeat.
 *
 * @throws {ProtocolViolation} when it is malformed or cannot be true.
 */
export function readInbound(text: string, targets: InboundTargets): boolean {
  const { declarations, routes, trace } = targets;
  const envelope = decodeEnvelope(text);
  if (!envelope.ok) throw new ProtocolViolation("envelope", envelope.reason);
  const line = traceFrame("from_runtime", envelope.value);
  const frame = decodeRuntimeFrame(envelope.value);
  if (!frame.ok) {
    trace(line);
    throw new ProtocolViolation(line.type, frame.reason);
  }
  if (frame.value.type === "heartbeat") {
    declarations.replace(frame.value.payload);
    trace(line);
    return true;
  }
  if (!declarations.known) {
    throw new ProtocolViolation(line.type, "before the first heartbeat");
  }
  const note = routes.take(frame.value);
  const detail = note ? `${line.detail} (ignored: ${note})` : line.detail;
  trace({ ...line, detail });
  return false;
}
