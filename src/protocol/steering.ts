// Owns active input: `prompt_steer` in, `prompt_steer_ack` out, both with the Run id.
import * as z from "zod";
import { accepted, type Decoded } from "./decoded.ts";
import type { InboundEnvelope } from "./envelope.ts";
import { MAX_INPUT_ID_BYTES } from "./limits.ts";
import {
  checkMessageInput,
  type MessageInput,
  messageInputWire,
} from "./message_input.ts";
import { fitsUtf8, isBlank } from "./text.ts";
import {
  absentAs,
  omitted,
  readPayload,
  text,
  type Wire,
  wireObject,
} from "./wire_object.ts";

/** Schema of `prompt_steer`. */
export const promptSteerWire = wireObject({
  input_id: text,
  input: absentAs(messageInputWire, []),
  durable_receipt: omitted(z.boolean()),
});
/** Payload of `prompt_steer`, Core to Runtime. */
export interface PromptSteer {
  readonly input_id: string;
  readonly input: MessageInput;
  readonly durable_receipt?: boolean;
}

const ERROR_CODES = [
  "invalid_input",
  "run_inactive",
  "input_conflict",
  "input_limit",
  "not_ready",
  "busy",
  "in_flight",
  "unsupported",
  "contract_violation",
  "rejected",
  "outcome_unknown",
] as const;
/** Why an input was not accepted. Only `not_ready` and `busy` may be sent again with the same id. */
export type SteerErrorCode = typeof ERROR_CODES[number];

/** Schema of `prompt_steer_ack`. */
export const promptSteerAckWire = wireObject({
  input_id: z.string(),
  accepted: z.boolean(),
  written: omitted(z.boolean()),
  error_code: omitted(z.enum(ERROR_CODES)),
  error: omitted(z.string()),
}, "rejected");
/** Payload of `prompt_steer_ack`, Runtime to Core: `written`, `accepted` or an error code. */
export type PromptSteerAck = Wire<typeof promptSteerAckWire>;

/** A refused input. `input_id` goes into the `invalid_input` receipt; empty when it is unusable. */
export interface RefusedSteer {
  readonly input_id: string;
}

/** Reads `prompt_steer` with its input checked. A refusal is `invalid_input`. */
export function decodePromptSteer(
  envelope: InboundEnvelope,
): Decoded<PromptSteer, RefusedSteer> {
  const value = readPayload(promptSteerWire, envelope);
  if (value === undefined) {
    return refuse("the prompt_steer payload is malformed", "");
  }
  const { input_id } = value;
  if (!fitsUtf8(input_id, MAX_INPUT_ID_BYTES)) {
    return refuse("the input id is too long", "");
  }
  if (isBlank(input_id)) return refuse("the input id is blank", input_id);
  if (!envelope.id) return refuse("the active input names no Run", input_id);
  const input = checkMessageInput(value.input);
  return input.ok
    ? accepted({ ...value, input: input.value })
    : refuse(input.reason, input_id);
}

function refuse(
  reason: string,
  input_id: string,
): { readonly ok: false; readonly reason: string } & RefusedSteer {
  return { ok: false, reason, input_id };
}

/** Reads `prompt_steer_ack`: exactly one of written, accepted and an error code. */
export function decodePromptSteerAck(
  envelope: InboundEnvelope,
): Decoded<PromptSteerAck> {
  const value = readPayload(promptSteerAckWire, envelope);
  if (value === undefined) {
    return { ok: false, reason: "the prompt_steer_ack payload is malformed" };
  }
  const facts = [
    value.accepted,
    value.written === true,
    value.error_code !== undefined,
  ].filter(Boolean).length;
  return facts === 1
    ? accepted(value)
    : { ok: false, reason: "the receipt does not state exactly one fact" };
}
