// Owns the admission family: `execution_prepare`, `execution_start`, `execution_release` and
// `preparation_status`. All four carry the preparation request id.
import * as z from "zod";
import { configurationWire } from "./configuration.ts";
import { accepted, type Decoded, refused } from "./decoded.ts";
import type { InboundEnvelope } from "./envelope.ts";
import {
  checkMessageInput,
  type MessageInput,
  messageInputWire,
} from "./message_input.ts";
import { isBlank } from "./text.ts";
import {
  absentAs,
  integer,
  omitted,
  readPayload,
  text,
  unsigned,
  type Wire,
  wireObject,
} from "./wire_object.ts";

/** Schema of `execution_prepare`. */
export const executionPrepareWire = wireObject({
  session_id: text,
  configuration: configurationWire,
});
/** Payload of `execution_prepare`, Core to Runtime. */
export type ExecutionPrepare = Wire<typeof executionPrepareWire>;

/** Schema of `execution_start`. */
export const executionStartWire = wireObject({
  executor_id: text,
  handle: text,
  run_id: text,
  input: absentAs(messageInputWire, []),
});
/** Payload of `execution_start`, Core to Runtime. */
export interface ExecutionStart {
  readonly executor_id: string;
  readonly handle: string;
  readonly run_id: string;
  readonly input: MessageInput;
}

/** Schema of `execution_release`. */
export const executionReleaseWire = wireObject({ handle: text });
/** Payload of `execution_release`, Core to Runtime. */
export type ExecutionRelease = Wire<typeof executionReleaseWire>;

/** Where a handle stands; `rejected` is a refused operation and says nothing about the handle. */
export type PreparationState =
  | "preparing"
  | "ready"
  | "starting"
  | "started"
  | "released"
  | "expired"
  | "failed"
  | "rejected";

const PREPARE_ERROR_CODES = [
  "invalid_request",
  "invalid_configuration",
  "unsupported_configuration",
  "unsupported_preparation",
  "unsupported_read_preparation",
  "resource_unavailable",
  "request_conflict",
  "preparation_capacity",
  "executor_capacity",
  "session_binding_conflict",
  "configuration_conflict",
  "native_session_conflict",
  "history_unavailable",
  "executor_cleanup_unconfirmed",
] as const;
const START_ERROR_CODES = [
  "invalid_start",
  "resource_unavailable",
  "unknown_preparation",
  "read_only_preparation",
  "unknown_executor",
  "start_conflict",
  "preparation_not_ready",
  "run_conflict",
  "executor_unavailable",
  "executor_cleanup_unconfirmed",
  "start_cancelled",
] as const;
const RELEASE_ERROR_CODES = ["invalid_release", "unknown_preparation"] as const;
const FAILURE_CODES = [
  "preparation_failed",
  "executor_cleanup_unconfirmed",
  "executor_unavailable",
  "start_cancelled",
  "cleanup_unconfirmed",
  "status_delivery_failed",
  "connection_closed",
] as const;

/** Why `execution_prepare` was rejected. Only `preparation_capacity` may be tried again by a Worker. */
export type PrepareErrorCode = typeof PREPARE_ERROR_CODES[number];

/** Why `execution_start` was rejected. */
export type StartErrorCode = typeof START_ERROR_CODES[number];

/** Why `execution_release` was rejected. */
export type ReleaseErrorCode = typeof RELEASE_ERROR_CODES[number];

/** Why a handle is `failed`. The last two normally cannot be delivered any more. */
export type PreparationFailureCode = typeof FAILURE_CODES[number];

const OPERATIONS = [
  "execution_prepare",
  "execution_start",
  "execution_release",
] as const;
/** The operation that a `rejected` status answers. */
export type PreparationOperation = typeof OPERATIONS[number];

const REJECTION_CODES: Readonly<
  Record<PreparationOperation, readonly string[]>
> = {
  execution_prepare: PREPARE_ERROR_CODES,
  execution_start: START_ERROR_CODES,
  execution_release: RELEASE_ERROR_CODES,
};

/** Schema of `preparation_status`. */
export const preparationStatusWire = wireObject({
  executor_id: omitted(z.string()),
  reused: omitted(z.boolean()),
  handle: omitted(z.string()),
  revision: unsigned,
  state: z.enum([
    "preparing",
    "ready",
    "starting",
    "started",
    "released",
    "expired",
    "failed",
    "rejected",
  ]),
  expires_at: omitted(integer),
  run_id: omitted(z.string()),
  error_code: omitted(z.enum([
    ...new Set([
      ...PREPARE_ERROR_CODES,
      ...START_ERROR_CODES,
      ...RELEASE_ERROR_CODES,
      ...FAILURE_CODES,
    ]),
  ])),
  operation: omitted(z.enum(OPERATIONS)),
}, "rejected");
/**
 * Payload of `preparation_status`, Runtime to Core. `revision` is 0 only in `rejected`;
 * `expires_at` is Unix milliseconds and never moves.
 */
export type PreparationStatus = Wire<typeof preparationStatusWire>;

/** Reads `execution_prepare`. A refusal is `invalid_request`; the configuration is not judged yet. */
export function decodeExecutionPrepare(
  envelope: InboundEnvelope,
): Decoded<ExecutionPrepare> {
  if (isBlank(envelope.id ?? "")) {
    return refused("the preparation request id is blank");
  }
  const value = readPayload(executionPrepareWire, envelope);
  return value === undefined
    ? refused("the execution_prepare payload is malformed")
    : accepted(value);
}

/** Reads `execution_start` with its input checked. A refusal is `invalid_start`. */
export function decodeExecutionStart(
  envelope: InboundEnvelope,
): Decoded<ExecutionStart> {
  const value = readPayload(executionStartWire, envelope);
  if (value === undefined) {
    return refused("the execution_start payload is malformed");
  }
  if (value.handle === "" || value.executor_id === "") {
    return refused("the start names no handle or no executor");
  }
  if (isBlank(value.run_id)) return refused("the run id is blank");
  const input = checkMessageInput(value.input);
  return input.ok ? accepted({ ...value, input: input.value }) : input;
}

/** Reads `execution_release`. A refusal is `invalid_release`. */
export function decodeExecutionRelease(
  envelope: InboundEnvelope,
): Decoded<ExecutionRelease> {
  const value = readPayload(executionReleaseWire, envelope);
  return value === undefined || value.handle === ""
    ? refused("the execution_release payload is malformed")
    : accepted(value);
}

/** Reads `preparation_status`; whether it is news for its handle is the subscriber's question. */
export function decodePreparationStatus(
  envelope: InboundEnvelope,
): Decoded<PreparationStatus> {
  const value = readPayload(preparationStatusWire, envelope);
  if (value === undefined) {
    return refused("the preparation_status payload is malformed");
  }
  return isConsistent(value)
    ? accepted(value)
    : refused("the preparation_status contradicts itself");
}

/** A refusal names its operation and has no revision; every other state is one of a handle's. */
function isConsistent(status: Wire<typeof preparationStatusWire>): boolean {
  const { state, handle, revision, run_id, error_code, operation } = status;
  if (state === "rejected") {
    return revision === 0 && operation !== undefined &&
      includes(REJECTION_CODES[operation], error_code);
  }
  if (handle === undefined || revision === 0 || operation !== undefined) {
    return false;
  }
  switch (state) {
    case "preparing":
    case "ready":
      return run_id === undefined && error_code === undefined;
    case "starting":
    case "started":
      return run_id !== undefined && error_code === undefined;
    case "failed":
      return includes(FAILURE_CODES, error_code);
    case "released":
    case "expired":
      return error_code === undefined;
  }
}

function includes(codes: readonly string[], code: string | undefined): boolean {
  return code !== undefined && codes.includes(code);
}
