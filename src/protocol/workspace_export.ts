// Owns the export of a workspace's outputs: Core pulls a tar stream chunk by chunk, one request
// outstanding.
import * as z from "zod";
import { accepted, type Decoded, refused } from "./decoded.ts";
import type { InboundEnvelope } from "./envelope.ts";
import {
  MAX_CHUNK_BYTES,
  MAX_EXPORT_BYTES,
  MAX_EXPORT_IDENTITY_BYTES,
  MAX_WORKSPACE_EXPORT_PAYLOAD_BYTES,
} from "./limits.ts";
import { payloadFits } from "./raw.ts";
import { fitsUtf8, isOperationId } from "./text.ts";
import {
  bytes,
  integer,
  omitted,
  readPayload,
  text,
  type Wire,
  wireObject,
} from "./wire_object.ts";

/** Schema of `workspace_export`. */
export const workspaceExportWire = wireObject({
  step: text,
  handle: omitted(z.string()),
  environment_id: omitted(z.string()),
  offset: omitted(integer),
});

/** Payload of `workspace_export`, Core to Runtime. `offset` of `next` is the bytes received so far. */
export type WorkspaceExport =
  | {
    readonly step: "begin";
    readonly handle: string;
    readonly environment_id: string;
  }
  | { readonly step: "next"; readonly offset?: number }
  | { readonly step: "cancel" };

const ERROR_CODES = [
  "invalid_request",
  "export_failed",
  "resource_unavailable",
] as const;
/** Why an export ended or did not begin. */
export type WorkspaceExportErrorCode = typeof ERROR_CODES[number];

/** Schema of `workspace_export_result`. */
export const workspaceExportResultWire = wireObject({
  outcome: z.enum(["chunk", "completed", "failed", "rejected"]),
  offset: integer,
  data: omitted(bytes),
  error_code: omitted(z.enum(ERROR_CODES)),
}, "rejected");
/**
 * Payload of `workspace_export_result`, Runtime to Core. `offset` is the position of the chunk's
 * first byte, or the total of a completed export.
 */
export type WorkspaceExportResult = Wire<typeof workspaceExportResultWire>;

/** Reads `workspace_export`. A refused request is not answered. */
export function decodeWorkspaceExport(
  envelope: InboundEnvelope,
): Decoded<WorkspaceExport> {
  if (!isOperationId(envelope.id ?? "")) {
    return refused("the operation id is empty or too long");
  }
  if (!payloadFits(envelope, MAX_WORKSPACE_EXPORT_PAYLOAD_BYTES)) {
    return refused("the workspace_export payload is too large");
  }
  const value = readPayload(workspaceExportWire, envelope);
  if (value === undefined) {
    return refused("the workspace_export payload is malformed");
  }
  return isRequest(value)
    ? accepted(value)
    : refused("the workspace_export request is invalid");
}

function isRequest(
  request: Wire<typeof workspaceExportWire>,
): request is WorkspaceExport & Wire<typeof workspaceExportWire> {
  const { step, handle, environment_id, offset } = request;
  if (step === "begin") {
    return offset === undefined && isIdentity(handle) &&
      isIdentity(environment_id);
  }
  if (handle !== undefined || environment_id !== undefined) return false;
  if (step === "cancel") return offset === undefined;
  return step === "next" && (offset ?? 0) >= 0 &&
    (offset ?? 0) <= MAX_EXPORT_BYTES;
}

function isIdentity(id: string | undefined): boolean {
  return id !== undefined && fitsUtf8(id, MAX_EXPORT_IDENTITY_BYTES);
}

/** Reads `workspace_export_result`; whether it answers the request is a second question. */
export function decodeWorkspaceExportResult(
  envelope: InboundEnvelope,
): Decoded<WorkspaceExportResult> {
  const value = readPayload(workspaceExportResultWire, envelope);
  return value === undefined
    ? refused("the workspace_export_result payload is malformed")
    : accepted(value);
}

/** Checks a result against the bytes that Core has received so far. */
export function checkWorkspaceExportResult(
  result: WorkspaceExportResult,
  received: number,
): Decoded<WorkspaceExportResult> {
  return isAnswer(result, received)
    ? accepted(result)
    : refused("the workspace_export result does not answer its request");
}

function isAnswer(result: WorkspaceExportResult, received: number): boolean {
  const { offset, data, error_code } = result;
  if (result.outcome === "chunk") {
    return data !== undefined && data.length <= MAX_CHUNK_BYTES &&
      offset === received && offset + data.length <= MAX_EXPORT_BYTES &&
      error_code === undefined;
  }
  if (data !== undefined) return false;
  switch (result.outcome) {
    case "completed":
      return offset === received && error_code === undefined;
    case "failed":
      return error_code === "invalid_request" || error_code === "export_failed";
    case "rejected":
      return error_code === "resource_unavailable";
  }
}
