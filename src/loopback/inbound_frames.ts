/**
 * Owns the decoding of every frame a Runtime may send, in one table. What a frame means for a
 * preparation, a Run or a receipt is decided by their owners.
 */
import { decodeInteractionDecisionAck } from "../protocol/decision_ack.ts";
import { accepted, type Decoded, refused } from "../protocol/decoded.ts";
import type { InboundEnvelope } from "../protocol/envelope.ts";
import {
  decodePreparationStatus,
  type PreparationStatus,
} from "../protocol/execution.ts";
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
  preparation_status: decodeHandleStatus,
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

/** A handle that was released or expired never had a Run. */
function decodeHandleStatus(
  envelope: InboundEnvelope,
): Decoded<PreparationStatus> {
  const decoded = decodePreparationStatus(envelope);
  if (!decoded.ok) return decoded;
  const { run_id, state } = decoded.value;
  const ended = state === "released" || state === "expired";
  return ended && run_id !== undefined
    ? refused("the preparation_status contradicts its state")
    : decoded;
}
