// Owns `interaction_decision_ack`, the receipt of a decision, a function result or a cancellation.
// It never precedes the fact it proves.
import * as z from "zod";
import { accepted, type Decoded, refused } from "./decoded.ts";
import type { InboundEnvelope } from "./envelope.ts";
import { doneWire } from "./run_output.ts";
import {
  omitted,
  pointer,
  readPayload,
  type Wire,
  wireObject,
} from "./wire_object.ts";

const DECISION_CODES = [
  "not_pending",
  "not_ready",
  "unsupported",
  "contract_violation",
  "runtime_error",
  "decision_conflict",
] as const;
const CANCEL_CODES = [
  "run_inactive",
  "not_ready",
  "cancel_failed",
  "cancel_timeout",
  "cancel_output_unavailable",
  "cancel_outcome_unavailable",
] as const;

/** Why a permission or user-choice decision was not applied. */
export type DecisionErrorCode = typeof DECISION_CODES[number];

/** Why a function result was not applied. */
export type FunctionResultErrorCode = DecisionErrorCode | "invalid_result";

/** Why a cancellation was not applied. */
export type CancelErrorCode = typeof CANCEL_CODES[number];

/** Schema of `interaction_decision_ack`. */
export const interactionDecisionAckWire = wireObject({
  delivery_id: z.string().min(1),
  applied: z.boolean(),
  error_code: omitted(z.enum([
    ...new Set([...DECISION_CODES, "invalid_result" as const, ...CANCEL_CODES]),
  ])),
  error: omitted(z.string()),
  outcome: pointer(doneWire),
}, "rejected");
/**
 * Payload of `interaction_decision_ack`, Runtime to Core. The envelope id is the interaction id for
 * decisions and the Run id for function results and cancellations. `outcome` belongs to an applied
 * cancellation only.
 */
export type InteractionDecisionAck = Wire<typeof interactionDecisionAckWire>;

/** Reads `interaction_decision_ack`: applied without a code, or refused with one. */
export function decodeInteractionDecisionAck(
  envelope: InboundEnvelope,
): Decoded<InteractionDecisionAck> {
  const value = readPayload(interactionDecisionAckWire, envelope);
  if (value === undefined) {
    return refused("the interaction_decision_ack payload is malformed");
  }
  const consistent = value.applied
    ? value.error_code === undefined
    : value.error_code !== undefined && value.outcome === undefined;
  return consistent
    ? accepted(value)
    : refused("the receipt contradicts itself");
}
