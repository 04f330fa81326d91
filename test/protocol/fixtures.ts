// Owns valid examples: one payload for every frame type, with all members that may stand together.
import { encodeDeclaration } from "../../src/protocol/capabilities.ts";
import type { CoreFrames, RuntimeFrames } from "../../src/protocol/frames.ts";
import { NOTHING_SUPPORTED } from "./declarations.ts";

export const UUID_A = "11111111-2222-3333-4444-555555555555";
export const UUID_B = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee";
export const DIGEST = "a".repeat(64);

const INPUT = [{
  content: [
    { type: "input_text", text: " before " },
    { type: "input_image", image_url: "data:image/png;base64,aW1hZ2U=" },
  ],
}] as const;

/** One payload of every type Core sends, with all members that may stand together. */
export const CORE_PAYLOADS: CoreFrames = {
  runtime_prepare: {
    step: "begin",
    environment_id: UUID_A,
    session_id: UUID_B,
    action: "plugin",
    slot: 49,
    plugin: { type: "inline", name: "n", description: "d" },
    size_bytes: 10,
    sha256: DIGEST,
  },
  execution_prepare: {
    session_id: "session",
    configuration: {
      agent_kind: "contract",
      run_id: "",
      agent_options: { model: "m", harness_config: { a: [1, null] } },
      execution_controls: {
        web_search: "disabled",
        text_verbosity: "medium",
        output_format: { type: "json_schema", schema: { type: "object" } },
        disable_programmatic_tool_calling: true,
      },
      mcp_http_servers: [{
        connection_origin: "environment",
        server_label: "l",
        server_url: "https://mcp.example/",
        allowed_tools: null,
        required: true,
        bearer_token: "t",
      }],
      local_environment: {
        id: UUID_A,
        workspace_directory: "/workspace",
        capability_sources: { directories: ["/a"] },
        tool_environment: true,
      },
      agent_session_id: "native",
      agent_state_key: "agents-api-session",
      require_existing_native_session: true,
      observe_messages: true,
      disable_subagents: true,
      max_concurrent_subagents: 0,
      function_tools: [{
        name: "f",
        description: "",
        parameters: null,
        defer_loading: true,
      }],
      tool_search: true,
    },
  },
  execution_start: {
    executor_id: "executor",
    handle: "handle",
    run_id: "run",
    input: INPUT,
  },
  execution_release: { handle: "handle" },
  prompt_cancel: { delivery_id: "cancel" },
  device_shutdown: { reason: "maintenance" },
  permission_decision: {
    delivery_id: "d",
    approved: false,
    message: "no",
    updated_input: { command: "pwd" },
  },
  prompt_for_user_choice_decision: {
    delivery_id: "d",
    question_answers: [
      { question_id: "b", answers: ["two,three", "four"] },
      { question_id: "a", answers: [] },
    ],
    reason: "timeout",
  },
  prompt_steer: { input_id: "1", input: INPUT, durable_receipt: true },
  function_result: {
    delivery_id: "d",
    call_id: "c",
    success: false,
    content: INPUT[0].content,
  },
  workspace_read: {
    run_id: "run",
    environment_id: UUID_A,
    path: "",
    max_bytes: 0,
    operation: "directory",
    max_entries: 1024,
  },
  workspace_write: {
    step: "chunk",
    offset: 1,
    data: new Uint8Array([0, 255, 16]),
  },
  workspace_export: { step: "next", offset: 65_536 },
  environment_quiesce: { environment_id: UUID_A, suspend_id: "s" },
  environment_resume: {
    environment_id: UUID_A,
    suspend_id: "s",
    rollback: true,
  },
};

const USAGE = {
  tokens: {
    input_tokens: 1,
    cached_input_tokens: 0,
    output_tokens: 2,
    reasoning_output_tokens: 0,
    total_tokens: 3,
  },
  provider: "anthropic",
  model: "m",
  input_tokens: 100,
  cost_usd: 0.5,
  raw: { nested: { zero: 0 } },
};

const DONE = {
  source_completed_at_ms: 0,
  content: "partial",
  transcript: "t",
  usage: USAGE,
  metadata: { agent_session_id: "native-session" },
};

/** One payload of every type the Runtime sends. */
export const RUNTIME_PAYLOADS: RuntimeFrames = {
  heartbeat: {
    ts: 1_767_225_600,
    active_requests: 0,
    daemon_version: "1.0.0",
    supported_agent_kinds: [{
      kind: "contract",
      available: false,
      version: "1",
      capabilities: encodeDeclaration(NOTHING_SUPPORTED),
    }],
  },
  runtime_prepare_result: {
    outcome: "failed",
    exit_code: 1,
    error_code: "runtime_preparation_failed",
  },
  preparation_status: {
    executor_id: "executor",
    reused: true,
    handle: "handle",
    revision: 1,
    state: "ready",
    expires_at: 1_800_000_000_000,
  },
  delta: { item_id: "i", delta: "", sequence: 42 },
  thinking: { text: "", sequence: 1 },
  output_message: {
    id: "i",
    status: "completed",
    phase: "commentary",
    text: "",
  },
  tool_call: {
    observation: {
      kind: "command",
      status: "completed",
      command: "pwd",
      cwd: "",
      exit_code: 0,
      duration_ms: 0,
      output: "/workspace\n",
      error: null,
    },
    id: "tool-1",
    name: "Bash",
    stage: "after",
    args: { a: 1 },
    result: { b: 0 },
  },
  usage: USAGE,
  error: { error: "e", code: "connection_failed", http_status: 503 },
  done: DONE,
  subagent_identity: {
    native_id: "n",
    parent_native_id: "p",
    native_created_at: 1,
    parent_turn_id: "t",
    source_item_id: "",
    name: null,
    instructions: "i",
  },
  subagent_lifecycle: {
    native_id: "n",
    effect_id: "e",
    status: "closed",
    occurred_at_ms: 1,
  },
  subagent_turn: {
    native_id: "n",
    turn_id: "t",
    status: "completed",
    created_at_ms: 1,
    started_at_ms: null,
    completed_at_ms: 2,
    usage: USAGE,
  },
  subagent_item: {
    native_id: "n",
    turn_id: "t",
    item_id: "i",
    position: 0,
    kind: "message",
    payload: { input: [] },
  },
  subagent_coordination: {
    id: "c",
    kind: "create_subagent_call",
    status: "in_progress",
    actor_id: "",
    recipients: [],
    text: null,
    model: "m",
    reasoning_effort: null,
  },
  permission_request: {
    request_id: "perm_1",
    tool: "Bash",
    title: "t",
    detail: "d",
    payload: { command: "pwd" },
  },
  permission_cancel: undefined,
  prompt_for_user_choice: {
    ask_id: "ask_1",
    questions: [{
      id: "a",
      header: "h",
      question: "q",
      multi_select: true,
      is_other: true,
      is_secret: true,
      options: [{ label: "l", description: "d" }],
    }],
    tool_use_id: "t",
    auto_resolution_ms: 0,
  },
  interaction_decision_ack: {
    delivery_id: "cancel",
    applied: true,
    outcome: DONE,
  },
  prompt_steer_ack: { input_id: "1", accepted: false, written: true },
  function_call: { call_id: "c", name: "f", arguments: { z: 1, a: null } },
  workspace_read_result: {
    outcome: "completed",
    data: new Uint8Array([1, 2]),
    truncated: true,
    close_acknowledged: true,
  },
  workspace_write_result: {
    outcome: "rejected",
    error_code: "write_rejected",
    reason: "unsafe_destination",
  },
  workspace_export_result: {
    outcome: "chunk",
    offset: 0,
    data: new Uint8Array([1]),
  },
  environment_quiesced: {
    environment_id: UUID_A,
    suspend_id: "s",
    accepted: true,
  },
  environment_resumed: {
    environment_id: UUID_A,
    suspend_id: "s",
    accepted: false,
    error_code: "not_suspended",
  },
};
