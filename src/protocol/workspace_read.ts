// Owns reading of a workspace without a Turn: bytes of a file or the entries of a directory.
import * as z from "zod";
import { accepted, type Decoded, refused } from "./decoded.ts";
import type { InboundEnvelope } from "./envelope.ts";
import {
  MAX_DIRECTORY_ENTRIES,
  MAX_ENTRY_NAME_BYTES,
  MAX_READ_BYTES,
  MAX_WORKSPACE_READ_PAYLOAD_BYTES,
} from "./limits.ts";
import { payloadFits } from "./raw.ts";
import {
  fitsUtf8,
  hasLineBreakOrNul,
  isBlank,
  isOperationId,
  isWellFormed,
} from "./text.ts";
import {
  bytes,
  integer,
  list,
  nullable,
  omitted,
  pointer,
  readPayload,
  text,
  type Wire,
  wireObject,
} from "./wire_object.ts";

/** Schema of `workspace_read`. */
export const workspaceReadWire = wireObject({
  handle: omitted(z.string()),
  run_id: omitted(z.string()),
  environment_id: text,
  path: text,
  max_bytes: integer.default(0),
  operation: omitted(z.string()),
  max_entries: omitted(integer),
});

/** The resource a read goes through. */
type ReadResource =
  | { readonly handle: string; readonly run_id?: undefined }
  | { readonly run_id: string; readonly handle?: undefined };

/**
 * Payload of `workspace_read`, Core to Runtime. `path` is workspace-relative, the empty path is the
 * root. The envelope id is the operation id: over 128 bytes there is no reply.
 */
export type WorkspaceRead =
  & { readonly environment_id: string; readonly path: string }
  & ReadResource
  & (
    | { readonly operation?: undefined; readonly max_bytes: number }
    | {
      readonly operation: "directory";
      readonly max_bytes: 0;
      readonly max_entries: number;
    }
  );

const REJECTED_CODES = [
  "invalid_request",
  "resource_unavailable",
  "read_capacity",
  "read_unsupported",
  "not_found",
  "permission_denied",
  "not_directory",
] as const;
const UNKNOWN_CODE = "read_unconfirmed";

/** Why a read was rejected; no byte left the workspace. */
export type WorkspaceReadRejection = typeof REJECTED_CODES[number];

/** Schema of a directory entry. */
export const directoryEntryWire = wireObject({
  name: z.string(),
  kind: z.enum(["file", "directory", "symlink", "other"]),
  size_bytes: nullable(integer),
}, "rejected");
/** One entry. Only a regular file has a size. */
export type DirectoryEntry = Wire<typeof directoryEntryWire>;

/** Schema of a directory listing. */
export const directoryWire = wireObject({
  entries: list(directoryEntryWire),
  truncated: z.boolean(),
}, "rejected");
/** A listing; whether it is complete is always said. */
export type Directory = Wire<typeof directoryWire>;

/** Schema of `workspace_read_result`. */
export const workspaceReadResultWire = wireObject({
  outcome: z.enum(["completed", "rejected", "unknown"]),
  data: omitted(bytes),
  truncated: omitted(z.boolean()),
  close_acknowledged: omitted(z.boolean()),
  error_code: omitted(z.enum([...REJECTED_CODES, UNKNOWN_CODE])),
  directory: pointer(directoryWire),
}, "rejected");
/** Payload of `workspace_read_result`, Runtime to Core. */
export type WorkspaceReadResult = Wire<typeof workspaceReadResultWire>;

/** Reads `workspace_read`. A refusal is `invalid_request`. */
export function decodeWorkspaceRead(
  envelope: InboundEnvelope,
): Decoded<WorkspaceRead> {
  const { id = "" } = envelope;
  if (isBlank(id) || !isOperationId(id)) {
    return refused("the operation id is blank or too long");
  }
  if (!payloadFits(envelope, MAX_WORKSPACE_READ_PAYLOAD_BYTES)) {
    return refused("the workspace_read payload is too large");
  }
  const value = readPayload(workspaceReadWire, envelope);
  if (value === undefined) {
    return refused("the workspace_read payload is malformed");
  }
  return isRequest(value)
    ? accepted(value)
    : refused("the workspace_read request is invalid");
}

function isRequest(
  request: Wire<typeof workspaceReadWire>,
): request is WorkspaceRead & Wire<typeof workspaceReadWire> {
  const { handle, run_id, environment_id, max_bytes, max_entries } = request;
  if ((handle === undefined) === (run_id === undefined)) return false;
  if (environment_id === "") return false;
  if (request.operation === undefined) {
    return max_entries === undefined && max_bytes >= 1 &&
      max_bytes <= MAX_READ_BYTES;
  }
  return request.operation === "directory" && max_bytes === 0 &&
    max_entries !== undefined && max_entries >= 1 &&
    max_entries <= MAX_DIRECTORY_ENTRIES;
}

/** Reads `workspace_read_result`; whether it answers the request is a second question. */
export function decodeWorkspaceReadResult(
  envelope: InboundEnvelope,
): Decoded<WorkspaceReadResult> {
  const value = readPayload(workspaceReadResultWire, envelope);
  return value === undefined
    ? refused("the workspace_read_result payload is malformed")
    : accepted(value);
}

/** Checks a result against the request it must answer. Both ends of the wire apply it. */
export function checkWorkspaceReadResult(
  result: WorkspaceReadResult,
  request: WorkspaceRead,
): Decoded<WorkspaceReadResult> {
  return isAnswer(result, request)
    ? accepted(result)
    : refused("the workspace_read result does not answer its request");
}

function isAnswer(
  result: WorkspaceReadResult,
  request: WorkspaceRead,
): boolean {
  const { error_code, directory, truncated = false } = result;
  if (result.outcome !== "completed") {
    const bare = result.data === undefined && !truncated &&
      result.close_acknowledged === undefined && directory === undefined;
    return bare &&
      (result.outcome === "unknown"
        ? error_code === UNKNOWN_CODE
        : isRejection(error_code, request));
  }
  if (result.close_acknowledged !== true || error_code !== undefined) {
    return false;
  }
  const size = result.data?.length ?? 0;
  if (request.operation === "directory") {
    return size === 0 && !truncated && directory !== undefined &&
      isDirectory(directory, request.max_entries);
  }
  return directory === undefined && size <= request.max_bytes &&
    (!truncated || size === request.max_bytes);
}

function isRejection(
  code: WorkspaceReadResult["error_code"],
  request: WorkspaceRead,
): boolean {
  if (code === undefined || code === UNKNOWN_CODE) return false;
  return code !== "not_directory" || request.operation === "directory";
}

/** Whether a listing keeps the limit that was asked for and all of its entries are well formed. */
export function isDirectory(directory: Directory, maxEntries: number): boolean {
  const { entries } = directory;
  return entries.length <= Math.min(maxEntries, MAX_DIRECTORY_ENTRIES) &&
    new Set(entries.map(({ name }) => name)).size === entries.length &&
    entries.every(isDirectoryEntry);
}

function isDirectoryEntry({ name, kind, size_bytes }: DirectoryEntry): boolean {
  const named = name !== "" && name !== "." && name !== ".." &&
    fitsUtf8(name, MAX_ENTRY_NAME_BYTES) && isWellFormed(name) &&
    !/[\\/]/.test(name) && !hasLineBreakOrNul(name);
  const sized = kind === "file"
    ? size_bytes !== null && size_bytes >= 0
    : size_bytes === null;
  return named && sized;
}
