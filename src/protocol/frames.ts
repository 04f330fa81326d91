// Owns the two lists of frame types, one for each direction, and the making of frames from payloads.
import type * as z from "zod";
import type { Envelope } from "./envelope.ts";
import {
  type DeviceShutdown,
  deviceShutdownWire,
  type PromptCancel,
  promptCancelWire,
} from "./cancellation.ts";
import {
  type InteractionDecisionAck,
  interactionDecisionAckWire,
} from "./decision_ack.ts";
import {
  type ExecutionPrepare,
  executionPrepareWire,
  type ExecutionRelease,
  executionReleaseWire,
  type ExecutionStart,
  executionStartWire,
  type PreparationStatus,
  preparationStatusWire,
} from "./execution.ts";
import {
  type FunctionCall,
  functionCallWire,
  type FunctionResult,
  functionResultWire,
} from "./functions.ts";
import { type Heartbeat, heartbeatWire } from "./heartbeat.ts";
import {
  type PermissionDecision,
  permissionDecisionWire,
  type PermissionRequest,
  permissionRequestWire,
  type PromptForUserChoice,
  promptForUserChoiceWire,
  type UserChoiceDecision,
  userChoiceDecisionWire,
} from "./interactions.ts";
import {
  type Delta,
  deltaWire,
  type Done,
  doneWire,
  type OutputMessage,
  outputMessageWire,
  type RunError,
  runErrorWire,
  type Thinking,
  thinkingWire,
  type Usage,
  usageWire,
} from "./run_output.ts";
import { type RuntimePrepare, runtimePrepareWire } from "./runtime_prepare.ts";
import {
  type RuntimePrepareResult,
  runtimePrepareResultWire,
} from "./runtime_prepare_result.ts";
import {
  type PromptSteer,
  type PromptSteerAck,
  promptSteerAckWire,
  promptSteerWire,
} from "./steering.ts";
import {
  type SubagentCoordination,
  subagentCoordinationWire,
  type SubagentIdentity,
  subagentIdentityWire,
  type SubagentItem,
  subagentItemWire,
  type SubagentLifecycle,
  subagentLifecycleWire,
  type SubagentTurn,
  subagentTurnWire,
} from "./subagents.ts";
import {
  type EnvironmentQuiesce,
  type EnvironmentQuiesced,
  type EnvironmentResume,
  type EnvironmentResumed,
  suspensionReplyWire,
  suspensionRequestWire,
} from "./suspension.ts";
import { type ToolCall, toolCallWire } from "./tool_call.ts";
import {
  type WorkspaceExport,
  type WorkspaceExportResult,
  workspaceExportResultWire,
  workspaceExportWire,
} from "./workspace_export.ts";
import {
  type WorkspaceRead,
  type WorkspaceReadResult,
  workspaceReadResultWire,
  workspaceReadWire,
} from "./workspace_read.ts";
import {
  type WorkspaceWrite,
  type WorkspaceWriteResult,
  workspaceWriteResultWire,
  workspaceWriteWire,
} from "./workspace_write.ts";
import { writeWire } from "./wire_object.ts";

/** Every frame type Core sends, with its payload. */
export interface CoreFrames {
  runtime_prepare: RuntimePrepare;
  execution_prepare: ExecutionPrepare;
  execution_start: ExecutionStart;
  execution_release: ExecutionRelease;
  prompt_cancel: PromptCancel | undefined;
  device_shutdown: DeviceShutdown | undefined;
  permission_decision: PermissionDecision;
  prompt_for_user_choice_decision: UserChoiceDecision;
  prompt_steer: PromptSteer;
  function_result: FunctionResult;
  workspace_read: WorkspaceRead;
  workspace_write: WorkspaceWrite;
  workspace_export: WorkspaceExport;
  environment_quiesce: EnvironmentQuiesce;
  environment_resume: EnvironmentResume;
}

/** Every frame type the Runtime sends, with its payload; `undefined` for a frame without a body. */
export interface RuntimeFrames {
  heartbeat: Heartbeat;
  runtime_prepare_result: RuntimePrepareResult;
  preparation_status: PreparationStatus;
  delta: Delta;
  thinking: Thinking;
  output_message: OutputMessage;
  tool_call: ToolCall;
  usage: Usage;
  error: RunError;
  done: Done;
  subagent_identity: SubagentIdentity;
  subagent_lifecycle: SubagentLifecycle;
  subagent_turn: SubagentTurn;
  subagent_item: SubagentItem;
  subagent_coordination: SubagentCoordination;
  permission_request: PermissionRequest;
  permission_cancel: undefined;
  prompt_for_user_choice: PromptForUserChoice;
  interaction_decision_ack: InteractionDecisionAck;
  prompt_steer_ack: PromptSteerAck;
  function_call: FunctionCall;
  workspace_read_result: WorkspaceReadResult;
  workspace_write_result: WorkspaceWriteResult;
  workspace_export_result: WorkspaceExportResult;
  environment_quiesced: EnvironmentQuiesced;
  environment_resumed: EnvironmentResumed;
}

/** A frame type of Core. */
export type CoreFrameType = keyof CoreFrames;
/** A frame type of the Runtime. */
export type RuntimeFrameType = keyof RuntimeFrames;

const coreWires: Readonly<Record<CoreFrameType, z.ZodType>> = {
  runtime_prepare: runtimePrepareWire,
  execution_prepare: executionPrepareWire,
  execution_start: executionStartWire,
  execution_release: executionReleaseWire,
  prompt_cancel: promptCancelWire,
  device_shutdown: deviceShutdownWire,
  permission_decision: permissionDecisionWire,
  prompt_for_user_choice_decision: userChoiceDecisionWire,
  prompt_steer: promptSteerWire,
  function_result: functionResultWire,
  workspace_read: workspaceReadWire,
  workspace_write: workspaceWriteWire,
  workspace_export: workspaceExportWire,
  environment_quiesce: suspensionRequestWire,
  environment_resume: suspensionRequestWire,
};

const runtimeWires: Readonly<Record<RuntimeFrameType, z.ZodType | undefined>> =
  {
    heartbeat: heartbeatWire,
    runtime_prepare_result: runtimePrepareResultWire,
    preparation_status: preparationStatusWire,
    delta: deltaWire,
    thinking: thinkingWire,
    output_message: outputMessageWire,
    tool_call: toolCallWire,
    usage: usageWire,
    error: runErrorWire,
    done: doneWire,
    subagent_identity: subagentIdentityWire,
    subagent_lifecycle: subagentLifecycleWire,
    subagent_turn: subagentTurnWire,
    subagent_item: subagentItemWire,
    subagent_coordination: subagentCoordinationWire,
    permission_request: permissionRequestWire,
    permission_cancel: undefined,
    prompt_for_user_choice: promptForUserChoiceWire,
    interaction_decision_ack: interactionDecisionAckWire,
    prompt_steer_ack: promptSteerAckWire,
    function_call: functionCallWire,
    workspace_read_result: workspaceReadResultWire,
    workspace_write_result: workspaceWriteResultWire,
    workspace_export_result: workspaceExportResultWire,
    environment_quiesced: suspensionReplyWire,
    environment_resumed: suspensionReplyWire,
  };

/** Whether Core may send frames of this type. */
export function isCoreFrameType(type: string): type is CoreFrameType {
  return Object.hasOwn(coreWires, type);
}

/** Whether the Runtime may send frames of this type. */
export function isRuntimeFrameType(type: string): type is RuntimeFrameType {
  return Object.hasOwn(runtimeWires, type);
}

/**
 * A frame of Core. Only declared members are written, in their declared order; zeros that the wire
 * omits are left out.
 */
export function coreFrame<T extends CoreFrameType>(
  type: T,
  id: string | undefined,
  payload: CoreFrames[T],
  trace?: string,
): Envelope {
  return frame(coreWires[type], { type, id, payload, trace });
}

/** A frame of the Runtime, written like {@linkcode coreFrame}. */
export function runtimeFrame<T extends RuntimeFrameType>(
  type: T,
  id: string | undefined,
  payload: RuntimeFrames[T],
  trace?: string,
): Envelope {
  return frame(runtimeWires[type], { type, id, payload, trace });
}

interface Parts {
  readonly type: string;
  readonly id: string | undefined;
  readonly payload: unknown;
  readonly trace: string | undefined;
}

function frame(wire: z.ZodType | undefined, parts: Parts): Envelope {
  const { type, id, payload, trace } = parts;
  return {
    type,
    ...(id === undefined ? {} : { id }),
    ...(wire === undefined || payload === undefined
      ? {}
      : { payload: writeWire(wire, payload) }),
    ...(trace === undefined ? {} : { trace }),
  };
}
