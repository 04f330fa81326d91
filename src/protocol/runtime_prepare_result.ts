// Owns `runtime_prepare_result` and how Core judges it.
import * as z from "zod";
import { accepted, type Decoded, refused } from "./decoded.ts";
import type { InboundEnvelope } from "./envelope.ts";
import { MAX_EXIT_CODE } from "./limits.ts";
import {
  claimsNoProgress,
  type ExpectedTransferResult,
  isExpectedProgress,
} from "./transfer_result.ts";
import {
  integer,
  omitted,
  readPayload,
  type Wire,
  wireObject,
} from "./wire_object.ts";

const REJECTED_CODES = [
  "invalid_request",
  "resource_unavailable",
  "runtime_preparation_capacity",
  "runtime_preparation_unsupported",
  "runtime_preparation_rejected",
] as const;
const FAILED_CODE = "runtime_preparation_failed";
const UNKNOWN_CODE = "runtime_preparation_unconfirmed";

/** Why a step was rejected: nothing was applied. */
export type RuntimePrepareRejection = typeof REJECTED_CODES[number];
/** Every error code of the family. */
export type RuntimePrepareErrorCode =
  | RuntimePrepareRejection
  | typeof FAILED_CODE
  | typeof UNKNOWN_CODE;

/** Schema of `runtime_prepare_result`. */
export const runtimePrepareResultWire = wireObject({
  outcome: z.enum([
    "ready",
    "received",
    "completed",
    "rejected",
    "failed",
    "unknown",
  ]),
  offset: omitted(integer),
  size_bytes: omitted(integer),
  exit_code: omitted(integer),
  error_code: omitted(
    z.enum([...REJECTED_CODES, FAILED_CODE, UNKNOWN_CODE]),
  ),
}, "rejected");
/** Payload of `runtime_prepare_result`, Runtime to Core, one for each step. */
export type RuntimePrepareResult = Wire<typeof runtimePrepareResultWire>;

/** Reads `runtime_prepare_result`; whether it answers the step is a second question. */
export function decodeRuntimePrepareResult(
  envelope: InboundEnvelope,
): Decoded<RuntimePrepareResult> {
  const value = readPayload(runtimePrepareResultWire, envelope);
  return value === undefined
    ? refused("the runtime_prepare_result payload is malformed")
    : accepted(value);
}

/**
 * Checks a result against the step it must answer. `rejected`, `failed` and `unknown` answer any
 * step; a success answers only its own.
 */
export function checkRuntimePrepareResult(
  result: RuntimePrepareResult,
  expected: ExpectedTransferResult,
): Decoded<RuntimePrepareResult> {
  return isValid(result, expected)
    ? accepted(result)
    : refused("the runtime_prepare result does not answer its step");
}

function isValid(
  result: RuntimePrepareResult,
  expected: ExpectedTransferResult,
): boolean {
  const exitCode = result.exit_code ?? 0;
  if (result.outcome === "failed") {
    return result.error_code === FAILED_CODE && claimsNoProgress(result) &&
      exitCode >= 0 && exitCode <= MAX_EXIT_CODE;
  }
  if (exitCode !== 0) return false;
  switch (result.outcome) {
    case "rejected":
      return claimsNoProgress(result) &&
        REJECTED_CODES.some((code) => code === result.error_code);
    case "unknown":
      return claimsNoProgress(result) && result.error_code === UNKNOWN_CODE;
    case "ready":
    case "received":
    case "completed":
      return isExpectedProgress(result, expected);
  }
}
