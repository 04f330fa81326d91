// Owns the pieces of configurations under test, and judges what is put together from them.
import type { CapabilityDeclaration } from "../../src/protocol/capabilities.ts";
import { checkConfigurationSupport } from "../../src/protocol/configuration_support.ts";
import type { Decoded } from "../../src/protocol/decoded.ts";
import { decodeExecutionPrepare } from "../../src/protocol/execution.ts";
import { supporting } from "./declarations.ts";
import { inboundText, valueOf } from "./wire_rows.ts";

export type Members = Readonly<Record<string, unknown>>;

export const NONE: Members = { disable_execution_environment: true };
export const LOCAL: Members = {
  local_environment: {
    id: "e",
    workspace_directory: "/workspace",
    capability_sources: {},
  },
};
export const SERVER: Members = {
  connection_origin: "service",
  server_label: "docs",
  server_url: "https://mcp.example/v1",
  allowed_tools: null,
};
export const CONTROLS: Members = {
  web_search: "disabled",
  text_verbosity: "medium",
};
export const TOOL: Members = { name: "f", description: "d", parameters: {} };

export const EVERYTHING = supporting(
  "environment_none",
  "local_environment",
  "workspace_read_preparation",
  "native_session_recovery",
  "message_items",
  "subagent_observations",
  "subagent_control",
  "execution_controls",
  "web_search_control",
  "text_verbosity",
  "structured_output",
  "programmatic_tool_calling_disable",
  "function_tools",
  "tool_search",
  "mcp_http_tools",
  "mcp_http_required",
  "mcp_http_bearer_auth",
);

/** Judges the JSON text of a configuration. */
export function judgeText(
  text: string,
  declaration: CapabilityDeclaration = EVERYTHING,
): Decoded<unknown> {
  const envelope = inboundText(
    `{"type":"execution_prepare","id":"p","payload":{"session_id":"s","configuration":${text}}}`,
  );
  const { configuration } = valueOf(decodeExecutionPrepare(envelope));
  const { source } = envelope;
  return checkConfigurationSupport({ configuration, source, declaration });
}

/** Judges a configuration of the members. */
export function judge(
  members: Members,
  declaration: CapabilityDeclaration = EVERYTHING,
): Decoded<unknown> {
  return judgeText(
    JSON.stringify({ agent_kind: "contract", run_id: "", ...members }),
    declaration,
  );
}

/** A configuration with one MCP server on the given Environment. */
export function mcp(environment: Members, server: Members): Members {
  return { ...environment, mcp_http_servers: [{ ...SERVER, ...server }] };
}
