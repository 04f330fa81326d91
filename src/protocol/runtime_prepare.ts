// Owns the exchange that initializes an Environment: the steps of `runtime_prepare`, what each may
// carry, and its results. The envelope id is the transfer id, a canonical UUID; without one there
// is no reply. One transfer per connection.
import * as z from "zod";
import { accepted, type Decoded, refused } from "./decoded.ts";
import type { InboundEnvelope } from "./envelope.ts";
import {
  type Initialization,
  initializationWire,
  isInitialization,
} from "./initialization.ts";
import {
  MAX_PLUGIN_SLOT,
  MAX_RUNTIME_PREPARE_PAYLOAD_BYTES,
  MAX_TRANSFER_BUDGET_MS,
  MAX_TRANSFER_BYTES,
} from "./limits.ts";
import { isWorkspacePath } from "./paths.ts";
import { payloadFits } from "./raw.ts";
import {
  type CapabilityMetadata,
  capabilityMetadataWire,
  type CapabilitySources,
  capabilitySourcesWire,
  isCapabilityMetadata,
  isCapabilitySelection,
} from "./sources.ts";
import {
  isChunkInRange,
  type TransferChunk,
  type TransferCommit,
} from "./transfer_chunk.ts";
import { fitsUtf8, isCanonicalUuid, isSha256Hex } from "./text.ts";
import {
  bytes,
  integer,
  omitted,
  pointer,
  readPayload,
  text,
  type Wire,
  wireObject,
  writeWire,
} from "./wire_object.ts";

export * from "./runtime_prepare_result.ts";

/** Schema of `runtime_prepare`. */
export const runtimePrepareWire = wireObject({
  step: text,
  budget_ms: pointer(integer),
  environment_id: omitted(z.string()),
  session_id: omitted(z.string()),
  action: omitted(z.string()),
  slot: omitted(integer),
  skill: pointer(capabilityMetadataWire),
  plugin: pointer(capabilityMetadataWire),
  file: pointer(wireObject({ path: text })),
  initialization: pointer(initializationWire),
  sources: pointer(capabilitySourcesWire),
  size_bytes: omitted(integer),
  sha256: omitted(z.string()),
  offset: omitted(integer),
  data: omitted(bytes),
});
type Message = Wire<typeof runtimePrepareWire>;

/** What every begin says. */
interface BeginHeader {
  readonly step: "begin";
  readonly environment_id: string;
  readonly session_id: string;
  /** Milliseconds for the whole transfer; absent means the default. */
  readonly budget_ms?: number;
}

/** Size and digest of the body that follows a begin. */
interface BeginBody {
  /** Bytes of the body; absent is 0. */
  readonly size_bytes?: number;
  /** SHA-256 of the complete body. */
  readonly sha256: string;
}

/** The first step of a transfer: one action with the one member that belongs to it. */
export type RuntimePrepareBegin =
  & BeginHeader
  & (
    | BeginBody & {
      readonly action: "skill";
      readonly skill: CapabilityMetadata;
    }
    | BeginBody & {
      readonly action: "plugin";
      readonly plugin: CapabilityMetadata;
      /** 0 to 49; absent is 0. */
      readonly slot?: number;
    }
    | BeginBody & {
      readonly action: "file";
      readonly file: { readonly path: string };
    }
    | {
      readonly action: "initialize";
      readonly initialization: Initialization;
    }
    | { readonly action: "finalize"; readonly sources: CapabilitySources }
  );

/** Payload of `runtime_prepare`, Core to Runtime. */
export type RuntimePrepare =
  | RuntimePrepareBegin
  | TransferChunk
  | TransferCommit;

const MALFORMED = "the runtime_prepare payload is malformed";

/**
 * Reads `runtime_prepare`. A refusal is `invalid_request`, or ends the transfer when the id is
 * pending. The envelope id is not judged here.
 */
export function decodeRuntimePrepare(
  envelope: InboundEnvelope,
): Decoded<RuntimePrepare> {
  if (!payloadFits(envelope, MAX_RUNTIME_PREPARE_PAYLOAD_BYTES)) {
    return refused("the runtime_prepare payload is too large");
  }
  const value = readPayload(runtimePrepareWire, envelope);
  if (value === undefined) return refused(MALFORMED);
  return checkRuntimePrepare(value);
}

/** Checks a message of the declared shape against the rules of its step. */
export function checkRuntimePrepare(message: Message): Decoded<RuntimePrepare> {
  switch (message.step) {
    case "begin":
      return checkBegin(message);
    case "chunk":
      return isChunk(message)
        ? accepted(message as TransferChunk)
        : refused("the chunk is malformed");
    case "commit":
      return onlyHas(message, "step")
        ? accepted({ step: "commit" })
        : refused("the commit carries more than its step");
    default:
      return refused("the transfer step is unknown");
  }
}

function checkBegin(message: Message): Decoded<RuntimePrepare> {
  const { budget_ms } = message;
  if (
    budget_ms !== undefined &&
    (budget_ms < 1 || budget_ms > MAX_TRANSFER_BUDGET_MS)
  ) {
    return refused("the transfer budget is out of range");
  }
  if (
    !isCanonicalUuid(message.environment_id ?? "") ||
    !isCanonicalUuid(message.session_id ?? "")
  ) {
    return refused("the begin lacks its identities");
  }
  if (message.offset !== undefined || message.data !== undefined) {
    return refused("the begin carries a part of the body");
  }
  if (subjects(message) !== 1 || !isActionValid(message)) {
    return refused("the begin does not describe its action");
  }
  const header = JSON.stringify(writeWire(runtimePrepareWire, message));
  return fitsUtf8(header, MAX_RUNTIME_PREPARE_PAYLOAD_BYTES)
    ? accepted(message as RuntimePrepareBegin)
    : refused("the begin is too large");
}

/** How many of the members that describe an action are present. */
function subjects(message: Message): number {
  const { skill, plugin, file, initialization, sources } = message;
  return [skill, plugin, file, initialization, sources]
    .filter((subject) => subject !== undefined).length;
}

function isActionValid(message: Message): boolean {
  const { action, skill, plugin, file, initialization, sources } = message;
  const slot = message.slot ?? 0;
  if (action === "plugin" ? slot < 0 || slot > MAX_PLUGIN_SLOT : slot !== 0) {
    return false;
  }
  switch (action) {
    case "skill":
      return skill !== undefined && isCapabilityMetadata(skill) &&
        isBody(message, 1);
    case "plugin":
      return plugin !== undefined && isCapabilityMetadata(plugin) &&
        isBody(message, 1);
    case "file":
      return file !== undefined && isWorkspacePath(file.path) &&
        isBody(message, 0);
    case "initialize":
      return initialization !== undefined && isInitialization(initialization) &&
        hasNoBody(message);
    case "finalize":
      return sources !== undefined && isCapabilitySelection(sources) &&
        hasNoBody(message);
    default:
      return false;
  }
}

function isBody(message: Message, least: number): boolean {
  const size = message.size_bytes ?? 0;
  return size >= least && size <= MAX_TRANSFER_BYTES &&
    isSha256Hex(message.sha256 ?? "");
}

function hasNoBody(message: Message): boolean {
  return message.size_bytes === undefined && message.sha256 === undefined;
}

/** Whether the message is a chunk: a position, some bytes, and nothing of the other steps. */
function isChunk(message: Message): boolean {
  return onlyHas(message, "step", "offset", "data") &&
    isChunkInRange(message.offset ?? 0, message.data);
}

function onlyHas(message: object, ...allowed: string[]): boolean {
  return Object.keys(message).every((name) => allowed.includes(name));
}
