// Owns the table of every decoder by frame type.
import {
  decodeDeviceShutdown,
  decodePromptCancel,
} from "../../src/protocol/cancellation.ts";
import type { Decoded } from "../../src/protocol/decoded.ts";
import type { InboundEnvelope } from "../../src/protocol/envelope.ts";
import {
  decodeExecutionPrepare,
  decodeExecutionRelease,
  decodeExecutionStart,
  decodePreparationStatus,
} from "../../src/protocol/execution.ts";
import type {
  CoreFrameType,
  RuntimeFrameType,
} from "../../src/protocol/frames.ts";
import {
  decodeFunctionCall,
  decodeFunctionResult,
} from "../../src/protocol/functions.ts";
import { decodeHeartbeat } from "../../src/protocol/heartbeat.ts";
import {
  decodeInteractionDecisionAck,
  decodePermissionDecision,
  decodePermissionRequest,
  decodePromptForUserChoice,
  decodeUserChoiceDecision,
} from "../../src/protocol/interactions.ts";
import {
  decodeDelta,
  decodeDone,
  decodeOutputMessage,
  decodeRunError,
  decodeThinking,
  decodeUsage,
} from "../../src/protocol/run_output.ts";
import {
  decodeRuntimePrepare,
  decodeRuntimePrepareResult,
} from "../../src/protocol/runtime_prepare.ts";
import {
  decodePromptSteer,
  decodePromptSteerAck,
} from "../../src/protocol/steering.ts";
import {
  decodeSubagentCoordination,
  decodeSubagentIdentity,
  decodeSubagentItem,
  decodeSubagentLifecycle,
  decodeSubagentTurn,
} from "../../src/protocol/subagents.ts";
import {
  decodeEnvironmentQuiesce,
  decodeEnvironmentQuiesced,
  decodeEnvironmentResume,
  decodeEnvironmentResumed,
} from "../../src/protocol/suspension.ts";
import { decodeToolCall } from "../../src/protocol/tool_call.ts";
import {
  decodeWorkspaceExport,
  decodeWorkspaceExportResult,
} from "../../src/protocol/workspace_export.ts";
import {
  decodeWorkspaceRead,
  decodeWorkspaceReadResult,
} from "../../src/protocol/workspace_read.ts";
import {
  decodeWorkspaceWrite,
  decodeWorkspaceWriteResult,
} from "../../src/protocol/workspace_write.ts";

/** Any decoder. */
export type Decoder = (envelope: InboundEnvelope) => Decoded<unknown>;

/** The decoder of every frame type of Core. */
export const CORE_DECODERS: Readonly<Record<CoreFrameType, Decoder>> = {
  runtime_prepare: decodeRuntimePrepare,
  execution_prepare: decodeExecutionPrepare,
  execution_start: decodeExecutionStart,
  execution_release: decodeExecutionRelease,
  prompt_cancel: decodePromptCancel,
  device_shutdown: decodeDeviceShutdown,
  permission_decision: decodePermissionDecision,
  prompt_for_user_choice_decision: decodeUserChoiceDecision,
  prompt_steer: decodePromptSteer,
  function_result: decodeFunctionResult,
  workspace_read: decodeWorkspaceRead,
  workspace_write: decodeWorkspaceWrite,
  workspace_export: decodeWorkspaceExport,
  environment_quiesce: decodeEnvironmentQuiesce,
  environment_resume: decodeEnvironmentResume,
};

/** The decoder of every frame type of the Runtime that has a body. */
export const RUNTIME_DECODERS: Readonly<
  Record<Exclude<RuntimeFrameType, "permission_cancel">, Decoder>
> = {
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
