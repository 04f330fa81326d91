// Owns what a Run reports about itself: text, thinking, messages, usage, errors and the end. All of
// it flows Runtime to Core with the Run id. `tool_call` has its own file.
import * as z from "zod";
import { accepted, type Decoded, refused } from "./decoded.ts";
import type { InboundEnvelope } from "./envelope.ts";
import { ENGINE_FAILURE_CODES, normaliseFailure } from "./engine_failure.ts";
import {
  adjusted,
  integer,
  integer32,
  omitted,
  pointer,
  rawObject,
  readPayload,
  text,
  unsigned,
  type Wire,
  wireObject,
} from "./wire_object.ts";

export {
  ENGINE_FAILURE_CODES,
  type EngineFailure,
  type EngineFailureCode,
  normaliseFailure,
} from "./engine_failure.ts";

/** Schema of `delta`. */
export const deltaWire = wireObject({
  item_id: omitted(z.string()),
  delta: z.string(),
  sequence: unsigned,
}, "rejected");
/** Payload of `delta`. `sequence` counts per Run from 1; `item_id` only with `observe_messages`. */
export type Delta = Wire<typeof deltaWire>;

/** Schema of `thinking`. */
export const thinkingWire = wireObject({
  text: z.string(),
  sequence: omitted(unsigned),
}, "rejected");
/** Payload of `thinking`. `sequence` has its own count per Run from 1. */
export type Thinking = Wire<typeof thinkingWire>;

/** Schema of `output_message`. */
export const outputMessageWire = wireObject({
  id: z.string(),
  status: z.string(),
  phase: omitted(z.string()),
  text: pointer(z.string()),
}, "rejected");
/** Payload of `output_message`. `text` is there only as the completion snapshot; it may be empty. */
export type OutputMessage = Wire<typeof outputMessageWire>;

/** Schema of a complete token measurement. */
export const tokenUsageWire = wireObject({
  input_tokens: integer,
  cached_input_tokens: integer,
  output_tokens: integer,
  reasoning_output_tokens: integer,
  total_tokens: integer,
}, "rejected");
/** A complete measurement. When one counter is unknown the whole object is absent, never zero. */
export type TokenUsage = Wire<typeof tokenUsageWire>;

/** Schema of usage. */
export const usageWire = wireObject({
  tokens: pointer(tokenUsageWire),
  provider: omitted(z.string()),
  model: omitted(z.string()),
  input_tokens: omitted(integer32),
  output_tokens: omitted(integer32),
  cost_usd: omitted(z.number()),
  raw: omitted(rawObject),
}, "rejected");
/** Payload of `usage`: cumulative for this execution, replaces the former, is never added. */
export type Usage = Wire<typeof usageWire>;

/** Schema of `error`; what the classification may not hold is dropped before it is written. */
export const runErrorWire = adjusted(
  wireObject({
    error: text,
    code: omitted(z.enum(ENGINE_FAILURE_CODES)),
    http_status: pointer(integer),
  }),
  ({ error, ...failure }) => ({ error, ...normaliseFailure(failure) }),
);
/** Payload of `error`: an execution failure that is followed by `done`. */
export type RunError = Wire<typeof runErrorWire>;

/** Schema of `done`. */
export const doneWire = wireObject({
  source_completed_at_ms: pointer(integer),
  content: z.string(),
  transcript: omitted(z.string()),
  usage: omitted(usageWire),
  metadata: omitted(rawObject),
}, "rejected");
/** Payload of `done`, and the snapshot of an applied cancellation. */
export type Done = Wire<typeof doneWire>;

/** Reads `delta`. */
export function decodeDelta(envelope: InboundEnvelope): Decoded<Delta> {
  const value = readPayload(deltaWire, envelope);
  return value === undefined
    ? refused("the delta payload is malformed")
    : accepted(value);
}

/** Reads `thinking`. */
export function decodeThinking(envelope: InboundEnvelope): Decoded<Thinking> {
  const value = readPayload(thinkingWire, envelope);
  return value === undefined
    ? refused("the thinking payload is malformed")
    : accepted(value);
}

/** Reads `output_message`. */
export function decodeOutputMessage(
  envelope: InboundEnvelope,
): Decoded<OutputMessage> {
  const value = readPayload(outputMessageWire, envelope);
  return value === undefined
    ? refused("the output_message payload is malformed")
    : accepted(value);
}

/** Reads `usage`; its members sit at the top of the payload. */
export function decodeUsage(envelope: InboundEnvelope): Decoded<Usage> {
  const value = readPayload(usageWire, envelope);
  return value === undefined
    ? refused("the usage payload is malformed")
    : accepted(value);
}

/** Reads `error`. Malformed classification is dropped; only a text of the wrong type refuses. */
export function decodeRunError(envelope: InboundEnvelope): Decoded<RunError> {
  const value = readPayload(errorTextWire, envelope);
  if (value === undefined) return refused("the error payload is malformed");
  const { code, http_status } = value;
  return accepted({
    error: value.error,
    ...normaliseFailure({ code, http_status }),
  });
}

const errorTextWire = wireObject({
  error: text,
  code: z.unknown().optional(),
  http_status: z.unknown().optional(),
});

/** Reads `done`. */
export function decodeDone(envelope: InboundEnvelope): Decoded<Done> {
  const value = readPayload(doneWire, envelope);
  return value === undefined
    ? refused("the done payload is malformed")
    : accepted(value);
}
