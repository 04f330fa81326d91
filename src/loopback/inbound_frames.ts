/**
 * Owns the decoding of every frame a Runtime may send, in one table. What a frame means for a
 * preparation, a Run or a receipt is decided by their owners.
 */
import { decodeInteractionDecisionAck } from "../protocol/decision_ack.ts";
import { accepted, type Decoded, refused } from "../protocol/decoded.ts";
import type { InboundEnvelope } from "../protocol/envelope.ts";
import type {
  PreparationOperation,
  PreparationStatus,
} from "../protocol/execution.ts";
import { preparationStatusWire } from "../protocol/execution.ts";
import {
  isRuntimeFrameType,
  type RuntimeFrames,
  type RuntimeFrameType,
} from "../protocol/frames.ts";
import { decodeFunctionCall } from "../protocol/functions.ts";
import { decodeHeartbeat } from "../protocol/heartbeat.ts";
import {
  decodePermissionRequest,
  decodePromptForUserChoice,
} from "../protocol/interactions.ts";
import {
  decodeDelta,
  decodeDone,
  decodeOutputMessage,
  decodeRunError,
  decodeThinking,
  decodeUsage,
} from "../protocol/run_output.ts";
import { decodeRuntimePrepareResult } from "../protocol/runtime_prepare_result.ts";
import { decodePromptSteerAck } from "../protocol/steering.ts";
import {
  decodeSubagentCoordination,
  decodeSubagentIdentity,
  decodeSubagentItem,
  decodeSubagentLifecycle,
  decodeSubagentTurn,
} from "../protocol/subagents.ts";
import {
  decodeEnvironmentQuiesced,
  decodeEnvironmentResumed,
} from "../protocol/suspension.ts";
import { decodeToolCall } from "../protocol/tool_call.ts";
import { readPayload } from "../protocol/wire_object.ts";
import { decodeWorkspaceExportResult } from "../protocol/workspace_export.ts";
import { decodeWorkspaceReadResult } from "../protocol/workspace_read.ts";
import { decodeWorkspaceWriteResult } from "../protocol/workspace_write.ts";

/** One decoded frame of a Runtime. `id` is empty where the envelope has none. */
export type RuntimeFrame = {
  [T in RuntimeFrameType]: {
    readonly type: T;
    readonly id: string;
    readonly payload: RuntimeFrames[T];
  };
}[RuntimeFrameType];

type Decoders = {
  readonly [T in RuntimeFrameType]: (
    envelope: InboundEnvelope,
  ) => Decoded<RuntimeFrames[T]>;
};

const decoders: Decoders = {
  heartbeat: decodeHeartbeat,
  runtime_prepare_result: decodeRuntimePrepareResult,
  preparation_status: decodePreparationStatus,
  delta: decodeDelta,
  thinking: decodeThinking,
  output_message: decodeOutputMessage,
  tool_call: decodeToolCall,
  usage: decodeUsage,
  error: decodeRunError,
  done: decodeDone,
  subagent_identity: decodeSubagentIdentity,
  subagent_lifecycle: decodeSubagentLifecycle,
  subagent_turn: decodeSubagentTurn,
  subagent_item: decodeSubagentItem,
  subagent_coordination: decodeSubagentCoordination,
  permission_request: decodePermissionRequest,
  permission_cancel: decodeBodyless,
  prompt_for_user_choice: decodePromptForUserChoice,
  interaction_decision_ack: decodeInteractionDecisionAck,
  prompt_steer_ack: decodePromptSteerAck,
  function_call: decodeFunctionCall,
  workspace_read_result: decodeWorkspaceReadResult,
  workspace_write_result: decodeWorkspaceWriteResult,
  workspace_export_result: decodeWorkspaceExportResult,
  environment_quiesced: decodeEnvironmentQuiesced,
  environment_resumed: decodeEnvironmentResumed,
};

/** Reads one frame. A type that no Runtime sends is refused like a malformed one. */
export function decodeRuntimeFrame(
  envelope: InboundEnvelope,
): Decoded<RuntimeFrame> {
  const { type } = envelope;
  if (!isRuntimeFrameType(type)) return refused("no Runtime sends this type");
  if (type !== "heartbeat" && !envelope.id) {
    return refused("the frame has no id");
  }
  const payload = decoders[type](envelope);
  if (!payload.ok) return payload;
  // The table pairs each type with its own payload; the union cannot express that for a variable.
  return accepted(
    { type, id: envelope.id ?? "", payload: payload.value } as RuntimeFrame,
  );
}

function decodeBodyless(envelope: InboundEnvelope): Decoded<undefined> {
  return envelope.payload === undefined
    ? accepted(undefined)
    : refused("the frame has no body on this wire");
}

const REJECTION_CODES: Readonly<
  Record<PreparationOperation, readonly string[]>
> = {
  execution_prepare: [
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
  ],
  execution_start: [
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
  ],
  execution_release: ["invalid_release", "unknown_preparation"],
};

const FAILURE_CODES: readonly string[] = [
  "preparation_failed",
  "executor_cleanup_unconfirmed",
  "executor_unavailable",
  "start_cancelled",
  "cleanup_unconfirmed",
  "status_delivery_failed",
  "connection_closed",
];

/** Reads `preparation_status` and holds its members to its state. */
export function decodePreparationStatus(
  envelope: InboundEnvelope,
): Decoded<PreparationStatus> {
  const status = readPayload(preparationStatusWire, envelope);
  if (status === undefined) {
    return refused("the preparation_status payload is malformed");
  }
  const consistent = status.state === "rejected"
    ? status.revision === 0 && isRejection(status)
    : status.revision >= 1 && isHandleStatus(status);
  return consistent
    ? accepted(status as PreparationStatus)
    : refused("the preparation_status contradicts its state");
}

interface StatusMembers {
  readonly state: string;
  readonly handle?: string;
  readonly executor_id?: string;
  readonly expires_at?: number;
  readonly run_id?: string;
  readonly error_code?: string;
  readonly operation?: string;
}

function isRejection({ operation, error_code }: StatusMembers): boolean {
  return operation !== undefined && error_code !== undefined &&
    Object.hasOwn(REJECTION_CODES, operation) &&
    REJECTION_CODES[operation as PreparationOperation].includes(error_code);
}

function isHandleStatus(status: StatusMembers): boolean {
  if (!status.handle || !status.expires_at || status.operation) return false;
  const runBound = status.state === "starting" || status.state === "started";
  if (runBound !== Boolean(status.run_id) && status.state !== "failed") {
    return false;
  }
  return status.state === "failed"
    ? FAILURE_CODES.includes(status.error_code ?? "")
    : status.error_code === undefined;
}
