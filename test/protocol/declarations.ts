// Owns capability declarations with every field written down by hand. No field has a default: a new
// one fails to compile here first.
import type {
  CapabilityDeclaration,
  CapabilityName,
  CapabilitySupport,
} from "../../src/protocol/capabilities.ts";

/** Every field unsupported. */
export const NOTHING_SUPPORTED: CapabilityDeclaration = {
  subagent_observations: "unsupported",
  streaming: "unsupported",
  permissions: "unsupported",
  usage: "unsupported",
  resume: "unsupported",
  native_session_recovery: "unsupported",
  steering: "unsupported",
  message_items: "unsupported",
  tool_observations: "unsupported",
  environment_none: "unsupported",
  local_environment: "unsupported",
  preparation: "unsupported",
  workspace_read_preparation: "unsupported",
  workspace_output_export: "unsupported",
  programmatic_tool_calling_disable: "unsupported",
  web_search_control: "unsupported",
  execution_controls: "unsupported",
  text_verbosity: "unsupported",
  structured_output: "unsupported",
  tool_search: "unsupported",
  message_images: "unsupported",
  function_result_images: "unsupported",
  subagent_control: "unsupported",
  durable_input_receipts: "unsupported",
  durable_turns: "unsupported",
  function_tools: "unsupported",
  mcp_http_tools: "unsupported",
  mcp_http_required: "unsupported",
  mcp_http_bearer_auth: "unsupported",
};

/** A declaration that supports exactly the named fields. */
export function supporting(
  ...names: CapabilityName[]
): CapabilityDeclaration {
  const overrides: Partial<Record<CapabilityName, CapabilitySupport>> = {};
  for (const name of names) overrides[name] = "supported";
  return { ...NOTHING_SUPPORTED, ...overrides };
}
