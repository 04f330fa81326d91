// Owns suspension fencing: quiesce and resume, and their replies. A suspension is the pair of
// Environment id and suspend id.
import * as z from "zod";
import { accepted, type Decoded, refused } from "./decoded.ts";
import type { InboundEnvelope } from "./envelope.ts";
import {
  MAX_ENVIRONMENT_RESUME_PAYLOAD_BYTES,
  MAX_SUSPEND_ID_BYTES,
} from "./limits.ts";
import { payloadFits } from "./raw.ts";
import { fitsUtf8, isBlank, isOperationId } from "./text.ts";
import {
  omitted,
  readPayload,
  text,
  type Wire,
  wireObject,
} from "./wire_object.ts";

/** Schema of `environment_quiesce` and `environment_resume`. */
export const suspensionRequestWire = wireObject({
  environment_id: text,
  suspend_id: text,
  rollback: omitted(z.boolean()),
});
/** Payload of `environment_quiesce`, Core to Runtime; `rollback` is never set. */
export type EnvironmentQuiesce = Wire<typeof suspensionRequestWire>;
/** Payload of `environment_resume`, Core to Runtime. */
export type EnvironmentResume = Wire<typeof suspensionRequestWire>;

const ERROR_CODES = [
  "invalid_request",
  "resource_busy",
  "not_suspended",
] as const;
/** Why a suspension request was refused. */
export type SuspensionErrorCode = typeof ERROR_CODES[number];

/** Schema of `environment_quiesced` and `environment_resumed`. */
export const suspensionReplyWire = wireObject({
  environment_id: z.string(),
  suspend_id: z.string(),
  accepted: z.boolean(),
  error_code: omitted(z.enum(ERROR_CODES)),
}, "rejected");
/** Payload of `environment_quiesced`, Runtime to Core; the ids repeat the request. */
export type EnvironmentQuiesced = Wire<typeof suspensionReplyWire>;
/** Payload of `environment_resumed`, Runtime to Core; the ids repeat the request. */
export type EnvironmentResumed = Wire<typeof suspensionReplyWire>;

/** A refused request: the ids that its reply repeats, empty when they could not be read. */
export interface RefusedSuspension {
  readonly environment_id: string;
  readonly suspend_id: string;
}

const UNREADABLE: RefusedSuspension = { environment_id: "", suspend_id: "" };

/** Reads `environment_quiesce`. A refusal is `invalid_request`. */
export function decodeEnvironmentQuiesce(
  envelope: InboundEnvelope,
): Decoded<EnvironmentQuiesce, RefusedSuspension> {
  const request = decodeRequest(envelope);
  if (!request.ok || request.value.rollback === undefined) return request;
  return refuse("a quiesce asks for a rollback", request.value);
}

/** Reads `environment_resume`. A refusal is `not_suspended`. */
export function decodeEnvironmentResume(
  envelope: InboundEnvelope,
): Decoded<EnvironmentResume, RefusedSuspension> {
  return payloadFits(envelope, MAX_ENVIRONMENT_RESUME_PAYLOAD_BYTES)
    ? decodeRequest(envelope)
    : refuse("the environment_resume payload is too large", UNREADABLE);
}

function decodeRequest(
  envelope: InboundEnvelope,
): Decoded<EnvironmentResume, RefusedSuspension> {
  const value = readPayload(suspensionRequestWire, envelope);
  if (value === undefined) {
    return refuse("the suspension request is malformed", UNREADABLE);
  }
  const identified = isOperationId(envelope.id ?? "") &&
    value.environment_id !== "" && !isBlank(value.suspend_id) &&
    fitsUtf8(value.suspend_id, MAX_SUSPEND_ID_BYTES);
  return identified
    ? accepted(value)
    : refuse("the suspension request lacks an identity", value);
}

function refuse(
  reason: string,
  ids: RefusedSuspension,
): { readonly ok: false; readonly reason: string } & RefusedSuspension {
  const { environment_id, suspend_id } = ids;
  return { ok: false, reason, environment_id, suspend_id };
}

/** Reads `environment_quiesced`. */
export function decodeEnvironmentQuiesced(
  envelope: InboundEnvelope,
): Decoded<EnvironmentQuiesced> {
  return decodeReply(envelope);
}

/** Reads `environment_resumed`. */
export function decodeEnvironmentResumed(
  envelope: InboundEnvelope,
): Decoded<EnvironmentResumed> {
  return decodeReply(envelope);
}

function decodeReply(envelope: InboundEnvelope): Decoded<EnvironmentResumed> {
  const value = readPayload(suspensionReplyWire, envelope);
  if (value === undefined) return refused("the suspension reply is malformed");
  return value.accepted === (value.error_code === undefined)
    ? accepted(value)
    : refused("the suspension reply contradicts itself");
}
