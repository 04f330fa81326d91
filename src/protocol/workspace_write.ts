// Owns writing of one file into a workspace without a Turn. The envelope id is the mutation id, a
// canonical UUID; without one there is no reply. One write per connection and Environment.
import * as z from "zod";
import { accepted, type Decoded, refused } from "./decoded.ts";
import type { InboundEnvelope } from "./envelope.ts";
import {
  MAX_TRANSFER_BYTES,
  MAX_WORKSPACE_WRITE_PAYLOAD_BYTES,
} from "./limits.ts";
import { isRelativePath } from "./paths.ts";
import { payloadFits } from "./raw.ts";
import {
  isChunkInRange,
  type TransferChunk,
  type TransferCommit,
} from "./transfer_chunk.ts";
import { isCanonicalUuid, isSha256Hex } from "./text.ts";
import {
  claimsNoProgress,
  type ExpectedTransferResult,
  isExpectedProgress,
} from "./transfer_result.ts";
import {
  bytes,
  integer,
  omitted,
  readPayload,
  text,
  type Wire,
  wireObject,
} from "./wire_object.ts";

/** Schema of `workspace_write`. */
export const workspaceWriteWire = wireObject({
  step: text,
  environment_id: omitted(z.string()),
  session_id: omitted(z.string()),
  path: omitted(z.string()),
  sha256: omitted(z.string()),
  size_bytes: omitted(integer),
  offset: omitted(integer),
  data: omitted(bytes),
});
type Message = Wire<typeof workspaceWriteWire>;

/** The first step of a write. `size_bytes` absent is 0. */
export interface WorkspaceWriteBegin {
  readonly step: "begin";
  readonly environment_id: string;
  readonly session_id: string;
  /** Workspace-relative. */
  readonly path: string;
  /** SHA-256 of the complete body. */
  readonly sha256: string;
  readonly size_bytes?: number;
}

/** Payload of `workspace_write`, Core to Runtime. */
export type WorkspaceWrite =
  | WorkspaceWriteBegin
  | TransferChunk
  | TransferCommit;

const REJECTED_CODES = [
  "invalid_request",
  "resource_unavailable",
  "write_capacity",
  "write_unsupported",
  "write_rejected",
] as const;
const UNKNOWN_CODE = "write_unconfirmed";

/** Why a write was rejected: the workspace is unchanged. */
export type WorkspaceWriteRejection = typeof REJECTED_CODES[number];
/** Why the destination was refused; only beside `write_rejected`. */
export type WorkspaceWriteReason =
  | "destination_directory"
  | "unsafe_destination";

/** Schema of `workspace_write_result`. */
export const workspaceWriteResultWire = wireObject({
  outcome: z.enum(["ready", "received", "completed", "rejected", "unknown"]),
  offset: omitted(integer),
  size_bytes: omitted(integer),
  error_code: omitted(z.enum([...REJECTED_CODES, UNKNOWN_CODE])),
  reason: omitted(z.enum(["destination_directory", "unsafe_destination"])),
}, "rejected");
/** Payload of `workspace_write_result`, Runtime to Core, one for each step. */
export type WorkspaceWriteResult = Wire<typeof workspaceWriteResultWire>;

/** Reads `workspace_write`. A refusal is `invalid_request`. The envelope id is not judged here. */
export function decodeWorkspaceWrite(
  envelope: InboundEnvelope,
): Decoded<WorkspaceWrite> {
  if (!payloadFits(envelope, MAX_WORKSPACE_WRITE_PAYLOAD_BYTES)) {
    return refused("the workspace_write payload is too large");
  }
  const value = readPayload(workspaceWriteWire, envelope);
  if (value === undefined) {
    return refused("the workspace_write payload is malformed");
  }
  return isRequest(value)
    ? accepted(value)
    : refused("the workspace_write request is invalid");
}

function isRequest(message: Message): message is Message & WorkspaceWrite {
  const { offset, data, path, sha256, size_bytes } = message;
  const named = path !== undefined || sha256 !== undefined ||
    size_bytes !== undefined || message.environment_id !== undefined ||
    message.session_id !== undefined;
  switch (message.step) {
    case "begin":
      return isCanonicalUuid(message.environment_id ?? "") &&
        isCanonicalUuid(message.session_id ?? "") &&
        isSha256Hex(sha256 ?? "") && isRelativePath(path ?? "") &&
        (size_bytes ?? 0) >= 0 && (size_bytes ?? 0) <= MAX_TRANSFER_BYTES &&
        offset === undefined && data === undefined;
    case "chunk":
      return !named && isChunkInRange(offset ?? 0, data);
    case "commit":
      return !named && offset === undefined && data === undefined;
    default:
      return false;
  }
}

/** Reads `workspace_write_result`; whether it answers the step is a second question. */
export function decodeWorkspaceWriteResult(
  envelope: InboundEnvelope,
): Decoded<WorkspaceWriteResult> {
  const value = readPayload(workspaceWriteResultWire, envelope);
  return value === undefined
    ? refused("the workspace_write_result payload is malformed")
    : accepted(value);
}

/** Checks a result against the step it must answer. */
export function checkWorkspaceWriteResult(
  result: WorkspaceWriteResult,
  expected: ExpectedTransferResult,
): Decoded<WorkspaceWriteResult> {
  return isAnswer(result, expected)
    ? accepted(result)
    : refused("the workspace_write result does not answer its step");
}

function isAnswer(
  result: WorkspaceWriteResult,
  expected: ExpectedTransferResult,
): boolean {
  const { error_code, reason } = result;
  if (reason !== undefined && error_code !== "write_rejected") return false;
  switch (result.outcome) {
    case "rejected":
      return claimsNoProgress(result) &&
        REJECTED_CODES.some((code) => code === error_code);
    case "unknown":
      return claimsNoProgress(result) && error_code === UNKNOWN_CODE;
    case "ready":
    case "received":
    case "completed":
      return isExpectedProgress(result, expected);
  }
}
