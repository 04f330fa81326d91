// Owns the shape of the immutable configuration of a Session's Executor. Whether a declaration
// supports it is `configuration_support.ts`; what `agent_options` hold is `agent_options.ts`.
import * as z from "zod";
import { messageInputWire } from "./message_input.ts";
import { capabilitySourcesWire } from "./sources.ts";
import {
  absentAs,
  integer,
  list,
  nullable,
  omitted,
  pointer,
  rawObject,
  rawValue,
  text,
  type Wire,
  wireObject,
} from "./wire_object.ts";

export { type AgentOptions, readAgentOptions } from "./agent_options.ts";
export { checkModelProvider, type ModelProvider } from "./model_provider.ts";
export type { CapabilityMetadata, CapabilitySources } from "./sources.ts";

/** Schema of the output format. */
export const outputFormatWire = wireObject({ type: text, schema: rawValue });
/** The one structured output: `json_schema` with a schema that is passed on unchanged. */
export type OutputFormat = Wire<typeof outputFormatWire>;

/** Schema of the execution controls. */
export const executionControlsWire = wireObject({
  web_search: text,
  text_verbosity: text,
  output_format: pointer(outputFormatWire),
  disable_programmatic_tool_calling: omitted(z.boolean()),
});
/** Neutral controls; both texts are mandatory. Their native names are the adapter's business. */
export type ExecutionControls = Wire<typeof executionControlsWire>;

/** Schema of a function tool. */
export const functionToolWire = wireObject({
  name: text,
  description: text,
  parameters: rawValue,
  defer_loading: omitted(z.boolean()),
});
/** A function that Core executes. `parameters` is a JSON Schema. */
export type FunctionTool = Wire<typeof functionToolWire>;

/** Schema of an MCP server reached over HTTP. */
export const mcpHttpServerWire = wireObject({
  connection_origin: text,
  server_label: text,
  server_url: text,
  allowed_tools: absentAs(nullable(list(z.string())), null),
  required: omitted(z.boolean()),
  bearer_token: pointer(z.string()),
});
/** One MCP server. Holds a secret. `allowed_tools`: `null` is all of them, `[]` is none. */
export type McpHttpServer = Wire<typeof mcpHttpServerWire>;

/** Schema of the local Environment. */
export const localEnvironmentWire = wireObject({
  id: text,
  workspace_directory: text,
  capability_sources: absentAs(nullable(capabilitySourcesWire), null),
  tool_environment: omitted(z.boolean()),
  capabilities: omitted(z.boolean()),
  network_access: omitted(z.string()),
  allowed_domains: omitted(list(z.string())),
});
/** The bound Environment that an execution names. Says nothing about where it lies on disk. */
export type LocalEnvironment = Wire<typeof localEnvironmentWire>;

/** Schema of the configuration. */
export const configurationWire = wireObject({
  agent_kind: text,
  run_id: text,
  input: omitted(messageInputWire),
  agent_options: omitted(rawObject),
  execution_controls: pointer(executionControlsWire),
  mcp_http_servers: pointer(list(mcpHttpServerWire)),
  local_environment: pointer(localEnvironmentWire),
  disable_execution_environment: omitted(z.boolean()),
  agent_session_id: omitted(z.string()),
  agent_state_key: omitted(z.string()),
  workspace_read_only: omitted(z.boolean()),
  require_existing_native_session: omitted(z.boolean()),
  observe_messages: omitted(z.boolean()),
  observe_subagent_identities: omitted(z.boolean()),
  disable_subagents: omitted(z.boolean()),
  max_concurrent_subagents: pointer(integer),
  function_tools: omitted(list(functionToolWire)),
  tool_search: omitted(z.boolean()),
});
/**
 * The configuration of `execution_prepare` as decoded. `run_id` must be empty and `input` absent;
 * `agent_options` is unjudged. Retired members were dropped. Holds secrets.
 */
export type Configuration = Wire<typeof configurationWire>;
