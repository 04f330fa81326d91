/**
 * Owns what Core demands of a declaration before it sends a preparation, and the defaults Core puts
 * into a configuration. Nothing is inferred from a missing kind or a missing heartbeat.
 */
import type {
  CapabilityDeclaration,
  CapabilityName,
} from "../protocol/capabilities.ts";
import type { Configuration } from "../protocol/configuration.ts";

/** Needed for every execution. */
const ALWAYS: readonly CapabilityName[] = [
  "streaming",
  "steering",
  "durable_turns",
  "durable_input_receipts",
  "preparation",
  "execution_controls",
  "tool_observations",
];

/** The capabilities that a configuration needs and the declaration does not support. */
export function missingCapabilities(
  configuration: Configuration,
  declaration: CapabilityDeclaration,
): readonly CapabilityName[] {
  return needed(configuration).filter((name) =>
    declaration[name] !== "supported"
  );
}

function needed(configuration: Configuration): CapabilityName[] {
  if (configuration.workspace_read_only) {
    return ["preparation", "workspace_read_preparation"];
  }
  const controls = configuration.execution_controls;
  const servers = configuration.mcp_http_servers ?? [];
  const tools = configuration.function_tools ?? [];
  const when = (condition: unknown, ...names: CapabilityName[]) =>
    condition ? names : [];
  return [
    ...ALWAYS,
    ...when(configuration.disable_execution_environment, "environment_none"),
    ...when(
      configuration.local_environment,
      "local_environment",
      "workspace_read_preparation",
      "workspace_output_export",
    ),
    ...when(
      configuration.require_existing_native_session,
      "native_session_recovery",
    ),
    ...when(controls?.output_format, "structured_output", "message_items"),
    ...when(
      controls?.disable_programmatic_tool_calling,
      "programmatic_tool_calling_disable",
    ),
    ...when(
      configuration.observe_subagent_identities,
      "subagent_observations",
    ),
    ...when(configuration.disable_subagents, "subagent_control"),
    ...when(
      configuration.tool_search || tools.some((tool) => tool.defer_loading),
      "tool_search",
    ),
    ...when(tools.length > 0, "function_tools"),
    ...when(servers.length > 0, "mcp_http_tools"),
    ...when(servers.some((server) => server.required), "mcp_http_required"),
    ...when(
      servers.some((server) => server.bearer_token !== undefined),
      "mcp_http_bearer_auth",
    ),
  ];
}

/** What differs between Sessions of {@linkcode sessionConfiguration}. */
export interface SessionChoices {
  readonly agentKind: string;
  readonly sessionId: string;
  readonly agentOptions?: Readonly<Record<string, unknown>>;
  readonly agentSessionId?: string;
  /** Absent means no Environment. */
  readonly localEnvironment?: Configuration["local_environment"];
}

/**
 * The configuration Core sends for an ordinary Agent: explicit controls, message items when they
 * are declared, subagents off when that can be controlled.
 */
export function sessionConfiguration(
  choices: SessionChoices,
  declaration: CapabilityDeclaration,
): Configuration {
  return {
    agent_kind: choices.agentKind,
    run_id: "",
    agent_state_key: `agents-api-${choices.sessionId}`,
    ...(choices.agentOptions ? { agent_options: choices.agentOptions } : {}),
    execution_controls: { web_search: "disabled", text_verbosity: "medium" },
    ...(choices.agentSessionId
      ? { agent_session_id: choices.agentSessionId }
      : {}),
    ...(choices.localEnvironment
      ? { local_environment: choices.localEnvironment }
      : { disable_execution_environment: true }),
    ...(declaration.message_items === "supported"
      ? { observe_messages: true }
      : {}),
    ...(declaration.subagent_control === "supported"
      ? { disable_subagents: true }
      : {}),
  };
}
