// Owns the question "is this configuration supported by this declaration". Pure, and asked before
// any native effect: what is not declared is refused, never left out.
import { type AgentOptions, readAgentOptions } from "./agent_options.ts";
import type { CapabilityDeclaration, CapabilityName } from "./capabilities.ts";
import type { Configuration } from "./configuration.ts";
import { type Decoded, refused } from "./decoded.ts";
import { keepsNumbers } from "./exact_numbers.ts";
import { MAX_HARNESS_CONFIG_BYTES } from "./limits.ts";
import { mcpServersRefusal } from "./mcp_servers.ts";
import { hasRepeatedMember, rawMember } from "./raw.ts";
import { fitsUtf8 } from "./text.ts";

/** What is judged: a configuration, the text of the frame it came in, and the declaration. */
export interface ConfigurationRequest {
  readonly configuration: Configuration;
  /** `InboundEnvelope.source` of the `execution_prepare`. */
  readonly source: string;
  readonly declaration: CapabilityDeclaration;
}

/**
 * The options of the configuration when all of it is supported. A refusal is
 * `unsupported_configuration`.
 */
export function checkConfigurationSupport(
  request: ConfigurationRequest,
): Decoded<AgentOptions> {
  const { configuration, declaration, source } = request;
  const options = readAgentOptions(configuration.agent_options);
  if (!options.ok) return options;
  const refusal = harnessConfigRefusal(options.value, source) ??
    environmentRefusal(configuration) ??
    contradiction(configuration) ??
    missingCapability(configuration, declaration) ??
    mcpServersRefusal(configuration) ??
    alteredNumber(configuration, source);
  return refusal === undefined ? options : refused(refusal);
}

/** The text is not that of the configuration: nothing about it can be confirmed. */
const NOT_IN_SOURCE = "the configuration is not in the received text";

/** Judged on the received text: a parsed object has already lost its repeated members. */
function harnessConfigRefusal(
  options: AgentOptions,
  source: string,
): string | undefined {
  if (options.harness_config === undefined) return undefined;
  const text = rawMember(source, [
    "payload",
    "configuration",
    "agent_options",
    "harness_config",
  ]);
  if (text === undefined) return NOT_IN_SOURCE;
  if (!fitsUtf8(text, MAX_HARNESS_CONFIG_BYTES)) {
    return "the harness configuration is too large";
  }
  return hasRepeatedMember(text)
    ? "the harness configuration repeats a member"
    : undefined;
}

function environmentRefusal(configuration: Configuration): string | undefined {
  const local = configuration.local_environment;
  const none = configuration.disable_execution_environment === true;
  if ((local !== undefined) === none) {
    return "the configuration does not make exactly one Environment choice";
  }
  if (local === undefined) return undefined;
  const { network_access = "enabled", allowed_domains = [] } = local;
  return network_access === "enabled" && allowed_domains.length === 0
    ? undefined
    : "the network policy is not enforced here";
}

/** Combinations that no declaration supports. */
function contradiction(configuration: Configuration): string | undefined {
  const { execution_controls: controls, function_tools = [] } = configuration;
  if (controls?.web_search === "" || controls?.text_verbosity === "") {
    return "an execution control is missing";
  }
  const format = controls?.output_format;
  if (format !== undefined && format.type !== "json_schema") {
    return "the output format is unknown";
  }
  const deferred = function_tools.some((tool) => tool.defer_loading === true);
  if ((configuration.tool_search === true) !== deferred) {
    return "tool search and deferred functions need each other";
  }
  return subagentContradiction(configuration);
}

function subagentContradiction(
  configuration: Configuration,
): string | undefined {
  const limit = configuration.max_concurrent_subagents;
  const observed = configuration.observe_subagent_identities === true;
  if (limit !== undefined && limit < (observed ? 1 : 0)) {
    return "the number of concurrent subagents is out of range";
  }
  if (!observed) return undefined;
  if (configuration.disable_subagents === true) {
    return "subagents are both observed and disabled";
  }
  const tools = (configuration.function_tools?.length ?? 0) +
    (configuration.mcp_http_servers?.length ?? 0);
  return tools === 0
    ? undefined
    : "observed subagents exclude functions and MCP servers";
}

/** Each capability with the question whether the configuration asks for it. */
const needs: readonly (readonly [
  CapabilityName,
  (configuration: Configuration) => boolean,
])[] = [
  ["environment_none", (c) => c.disable_execution_environment === true],
  ["local_environment", (c) => c.local_environment !== undefined],
  ["workspace_read_preparation", (c) => c.workspace_read_only === true],
  [
    "native_session_recovery",
    (c) => c.require_existing_native_session === true,
  ],
  ["message_items", (c) => c.observe_messages === true],
  ["subagent_observations", (c) => c.observe_subagent_identities === true],
  ["subagent_control", (c) => c.disable_subagents === true],
  ["execution_controls", (c) => c.execution_controls !== undefined],
  [
    "web_search_control",
    (c) => (c.execution_controls?.web_search ?? "disabled") !== "disabled",
  ],
  [
    "text_verbosity",
    (c) => (c.execution_controls?.text_verbosity ?? "medium") !== "medium",
  ],
  [
    "structured_output",
    (c) => c.execution_controls?.output_format !== undefined,
  ],
  [
    "programmatic_tool_calling_disable",
    (c) => c.execution_controls?.disable_programmatic_tool_calling === true,
  ],
  ["function_tools", (c) => c.function_tools !== undefined],
  ["tool_search", (c) => c.tool_search === true],
  // An empty list asks too: it owns the native MCP configuration and empties it.
  ["mcp_http_tools", (c) => c.mcp_http_servers !== undefined],
  [
    "mcp_http_required",
    (c) => (c.mcp_http_servers ?? []).some(({ required }) => required === true),
  ],
  [
    "mcp_http_bearer_auth",
    (c) =>
      (c.mcp_http_servers ?? []).some(({ bearer_token }) =>
        bearer_token !== undefined
      ),
  ],
];

function missingCapability(
  configuration: Configuration,
  declaration: CapabilityDeclaration,
): string | undefined {
  for (const [name, isAskedFor] of needs) {
    if (isAskedFor(configuration) && declaration[name] !== "supported") {
      return `the configuration needs ${name}, which is not declared`;
    }
  }
  return undefined;
}

/**
 * Schemas are to arrive unchanged, but this program reads their numbers as binary64: one that would
 * change refuses the configuration.
 */
function alteredNumber(
  configuration: Configuration,
  source: string,
): string | undefined {
  const { execution_controls, function_tools } = configuration;
  const schemas = {
    execution_controls: execution_controls?.output_format,
    function_tools,
  };
  for (const [name, schema] of Object.entries(schemas)) {
    if (schema === undefined) continue;
    const text = rawMember(source, ["payload", "configuration", name]);
    if (text === undefined) return NOT_IN_SOURCE;
    if (!keepsNumbers(text)) {
      return "a schema holds a number that cannot be carried exactly";
    }
  }
  return undefined;
}
