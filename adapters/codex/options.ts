/**
 * What a configuration means natively: why it is refused, and the settings of the thread and of the
 * process. Pure. The provider key and MCP secrets appear only in the thread settings, which travel
 * over the private pipe.
 */
import { isAbsolute } from "@std/path";
import type {
  McpBinding,
  PreparedConfiguration,
  Refusal,
} from "../../src/harness/contract.ts";
import { isBlank } from "../../src/protocol/text.ts";
import { checkFunctionTools } from "./functions.ts";
import { stateKeyParts } from "./home.ts";
import type { CodexLimits } from "./limits.ts";
import { checkSchema } from "./structured.ts";

/** What of the daemon's situation decides native settings. */
export interface NativeSituation {
  readonly permissions: "unattended" | "ask";
  readonly limits: CodexLimits;
}

const PROVIDER = "agent_daemon";
const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"];
const MCP_LABEL = /^[a-zA-Z0-9_:@/.-]+$/;
/** Labels of servers that the engine brings itself. */
const RESERVED_LABELS = ["codex_apps"];
/** Enough for any text that fits one frame: a result must reach the model whole. */
const FUNCTION_OUTPUT_TOKENS = 2_000_000;
const DEFAULT_CHILDREN = 6;

/** Why the configuration cannot be enforced. Names no value. */
export function checkConfiguration(
  configuration: PreparedConfiguration,
): Refusal | undefined {
  const reason = modelRefusal(configuration) ??
    controlsRefusal(configuration) ??
    toolsRefusal(configuration) ??
    subagentRefusal(configuration) ??
    environmentRefusal(configuration);
  return reason === undefined ? undefined : { reason: `codex: ${reason}` };
}

function modelRefusal(
  { model, modelProvider, harnessConfig }: PreparedConfiguration,
): string | undefined {
  if (model !== undefined && isBlank(model)) return "the model is blank";
  if (modelProvider && model === undefined) {
    return "a model provider needs a model";
  }
  if (modelProvider && modelProvider.protocol !== "responses") {
    return "the model provider does not speak the responses protocol";
  }
  for (const [name, value] of Object.entries(harnessConfig)) {
    if (name !== "model_reasoning_effort") {
      return "the harness configuration has an unknown member";
    }
    if (typeof value !== "string" || !EFFORTS.includes(value)) {
      return "the reasoning effort is none the engine knows";
    }
  }
  return undefined;
}

function controlsRefusal(
  { executionControls: controls, model }: PreparedConfiguration,
): string | undefined {
  if (!controls) return undefined;
  // The engine turns `cached` into live access where nothing is sandboxed: not what was asked for.
  if (!["disabled", "live"].includes(controls.web_search)) {
    return "web_search must be disabled or live";
  }
  if (!["low", "medium", "high"].includes(controls.text_verbosity)) {
    return "text_verbosity must be low, medium or high";
  }
  if (controls.text_verbosity !== "medium" && model === undefined) {
    return "a text verbosity needs a model";
  }
  if (!controls.output_format) return undefined;
  return controls.output_format.type === "json_schema"
    ? checkSchema(controls.output_format.schema)
    : "the output format is unknown";
}

function toolsRefusal(
  configuration: PreparedConfiguration,
): string | undefined {
  const { functionTools, toolSearch, mcpServers } = configuration;
  if (toolSearch || functionTools.some((tool) => tool.defer_loading)) {
    return "tool search is not supported";
  }
  const functions = checkFunctionTools(functionTools);
  if (functions !== undefined) return functions;
  for (const { label } of mcpServers ?? []) {
    if (RESERVED_LABELS.includes(label)) return "an MCP label is reserved";
    if (!MCP_LABEL.test(label)) return "an MCP label is malformed";
  }
  return undefined;
}

function subagentRefusal(
  configuration: PreparedConfiguration,
): string | undefined {
  const { maxConcurrentSubagents: most } = configuration;
  if (most !== undefined && most < 1) return "the subagent limit is below one";
  if (!configuration.observeSubagentIdentities) return undefined;
  if (configuration.disableSubagents) {
    return "disabled subagents cannot be observed";
  }
  return configuration.functionTools.length > 0 ||
      (configuration.mcpServers?.length ?? 0) > 0
    ? "observed subagents exclude functions and MCP servers"
    : undefined;
}

function environmentRefusal(
  { agentStateKey, environment }: PreparedConfiguration,
): string | undefined {
  if (!stateKeyParts(agentStateKey)) return "the state key names no directory";
  return environment.kind === "local" && !isAbsolute(environment.workspaceRoot)
    ? "the workspace root is not absolute"
    : undefined;
}

/** No network but the model provider, no login shell, no hooks or tools from elsewhere. */
const FEATURES = {
  api_key_model_discovery: false,
  apps: false,
  goals: false,
  hooks: false,
  memories: false,
  plugins: false,
  remote_plugin: false,
  shell_snapshot: false,
  // A steered answer ends first: its message stays whole and its tokens are counted.
  instant_interrupt: false,
  unbounded_connection_retries: false,
};

/** Settings that only the start of the process can carry. None of them is a secret. */
export function processArguments(
  workingDirectory: string,
  catalogue: string | undefined,
): readonly string[] {
  const settings: Readonly<Record<string, unknown>> = {
    "analytics.enabled": false,
    "check_for_update_on_startup": false,
    "mcp_oauth_credentials_store": "file",
    // Settings and instructions come from the configuration, not from files of the workspace: an
    // untrusted project's are not read, and no directory above it is taken for its root.
    "project_doc_max_bytes": 0,
    "project_root_markers": [],
    ...(catalogue === undefined ? {} : { model_catalog_json: catalogue }),
  };
  const trust = `{${
    JSON.stringify(workingDirectory)
  }={trust_level="untrusted"}}`;
  return [
    "-c",
    `projects=${trust}`,
    ...Object.entries({
      ...settings,
      ...prefixed("features", FEATURES),
    }).flatMap(([name, value]) => ["-c", `${name}=${JSON.stringify(value)}`]),
    "app-server",
  ];
}

function prefixed(
  table: string,
  settings: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(settings).map((
      [name, value],
    ) => [`${table}.${name}`, value]),
  );
}

/** Parameters that start and resume have in common. Holds secrets. */
export function threadParameters(
  configuration: PreparedConfiguration,
  workingDirectory: string,
  situation: NativeSituation,
): Record<string, unknown> {
  const { model, modelProvider, systemPrompt } = configuration;
  return {
    cwd: workingDirectory,
    // Nothing asks unless the operator wants to be asked. Isolation is the Environment's.
    approvalPolicy: situation.permissions === "ask" ? "untrusted" : "never",
    sandbox: "danger-full-access",
    ...(model === undefined ? {} : { model }),
    ...(modelProvider ? { modelProvider: PROVIDER } : {}),
    ...(systemPrompt ? { developerInstructions: systemPrompt } : {}),
    config: threadConfig(configuration, situation),
  };
}

function threadConfig(
  configuration: PreparedConfiguration,
  situation: NativeSituation,
): Record<string, unknown> {
  const { executionControls: controls, environment } = configuration;
  const effort = configuration.harnessConfig.model_reasoning_effort;
  const asks = situation.permissions === "ask";
  const none = environment.kind === "none";
  return {
    ...(controls
      ? {
        web_search: controls.web_search,
        model_verbosity: controls.text_verbosity,
      }
      : none
      ? { web_search: "disabled" }
      : {}),
    ...(effort === undefined ? {} : { model_reasoning_effort: effort }),
    ...providerConfig(configuration, situation.limits),
    agents: agentsConfig(configuration),
    tools: { experimental_request_user_input: { enabled: asks } },
    // A table of the thread replaces that of the process, it does not add to it.
    features: {
      ...FEATURES,
      ...(asks ? { default_mode_request_user_input: true } : {}),
      ...(codeModeOff(configuration)
        ? { code_mode: false, code_mode_only: false }
        : {}),
      ...(none ? LOCAL_TOOLS_OFF : {}),
    },
    project_doc_max_bytes: 0,
    ...(none ? { skills: { include_instructions: false } } : {}),
    ...(configuration.functionTools.length > 0
      ? { tool_output_token_limit: FUNCTION_OUTPUT_TOKENS }
      : {}),
    ...(environment.kind === "local"
      ? {
        shell_environment_policy: {
          exclude: ["CODEX_HOME"],
          set: toolVariables(environment.toolEnvironment),
        },
      }
      : {}),
    mcp_servers: Object.fromEntries(
      (configuration.mcpServers ?? []).map((server) => [
        server.label,
        mcpConfig(server, situation.limits),
      ]),
    ),
  };
}

/** Whether the model may not program its tool calls. */
export function codeModeOff(configuration: PreparedConfiguration): boolean {
  return configuration.environment.kind === "none" ||
    configuration.observeSubagentIdentities ||
    configuration.executionControls?.disable_programmatic_tool_calling === true;
}

/** Tools that read, write or run on this machine. */
const LOCAL_TOOLS_OFF = {
  shell_tool: false,
  unified_exec: false,
  view_image: false,
  image_generation: false,
  tool_suggest: false,
  sleep_tool: false,
};

function providerConfig(
  { modelProvider: provider }: PreparedConfiguration,
  limits: CodexLimits,
): Record<string, unknown> {
  if (!provider) return {};
  const { providerRetries: retries } = limits;
  return {
    model_providers: {
      [PROVIDER]: {
        name: PROVIDER,
        base_url: provider.base_url,
        experimental_bearer_token: provider.api_key,
        wire_api: "responses",
        stream_idle_timeout_ms: limits.streamIdle,
        ...(retries
          ? {
            request_max_retries: retries.request,
            stream_max_retries: retries.stream,
          }
          : {}),
      },
    },
    ...(provider.context_window
      ? { model_context_window: provider.context_window }
      : {}),
  };
}

function agentsConfig(
  configuration: PreparedConfiguration,
): Record<string, unknown> {
  if (
    configuration.disableSubagents ||
    configuration.environment.kind === "none" &&
      !configuration.observeSubagentIdentities
  ) return { enabled: false };
  return {
    enabled: true,
    max_threads: configuration.maxConcurrentSubagents ?? DEFAULT_CHILDREN,
  };
}

function mcpConfig(
  server: McpBinding,
  limits: CodexLimits,
): Record<string, unknown> {
  const common = {
    required: server.required,
    startup_timeout_sec: Math.ceil(limits.mcpStartup / 1000),
    ...(server.allowedTools ? { enabled_tools: server.allowedTools } : {}),
    ...(server.origin === "environment"
      ? { default_tools_approval_mode: "approve" }
      : {}),
  };
  if (server.transport === "stdio") {
    return {
      ...common,
      command: server.command,
      args: server.arguments,
      env: server.environment,
    };
  }
  const headers = {
    ...server.headers,
    ...(server.bearerToken === undefined
      ? {}
      : { Authorization: `Bearer ${server.bearerToken}` }),
  };
  return {
    ...common,
    url: server.url,
    ...(Object.keys(headers).length > 0 ? { http_headers: headers } : {}),
  };
}

/** Variables of the tool environment, without those that would move the Session's own homes. */
function toolVariables(
  variables: Readonly<Record<string, string>>,
): Record<string, string> {
  const kept = ["CODEX_HOME", "HOME", "USERPROFILE"];
  return Object.fromEntries(
    Object.entries(variables).filter(([name]) =>
      !kept.includes(name.toUpperCase())
    ),
  );
}
