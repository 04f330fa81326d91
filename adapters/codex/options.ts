/**
 * What a configuration means natively: the settings of the thread and of the process. Pure. The provider key and MCP secrets appear only in the thread settings, which travel
 * over the private pipe.
 */
import type {
  McpBinding,
  PreparedConfiguration,
} from "../../src/harness/contract.ts";
import type { CodexLimits } from "./limits.ts";

/** What of the daemon's situation decides native settings. */
export interface NativeSituation {
  readonly permissions: "unattended" | "ask";
  readonly limits: CodexLimits;
}

const PROVIDER = "agent_daemon";
/** Enough for any text that fits one frame: a result must reach the model whole. */
const FUNCTION_OUTPUT_TOKENS = 2_000_000;
const DEFAULT_CHILDREN = 6;

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

/** Parameters that each Turn repeats: the engine keeps them for no later one. */
export function turnParameters(
  configuration: PreparedConfiguration,
): Record<string, unknown> {
  const format = configuration.executionControls?.output_format;
  return {
    ...(configuration.environment.kind === "none" ? { environments: [] } : {}),
    ...(format ? { outputSchema: format.schema } : {}),
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

/** Children run only where they are observed: an unobserved one would belong to nobody. */
function agentsConfig(
  configuration: PreparedConfiguration,
): Record<string, unknown> {
  if (!configuration.observeSubagentIdentities) return { enabled: false };
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
