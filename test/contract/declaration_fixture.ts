/** The declaration of the controlled Harness: every field listed by hand, none by default. */
import type {
  CapabilityDeclaration,
  CapabilityName,
} from "../../src/protocol/capabilities.ts";

const everything: CapabilityDeclaration = {
  subagent_observations: "supported",
  streaming: "supported",
  permissions: "supported",
  usage: "supported",
  resume: "supported",
  native_session_recovery: "supported",
  steering: "supported",
  message_items: "supported",
  tool_observations: "supported",
  environment_none: "supported",
  local_environment: "unsupported",
  preparation: "supported",
  workspace_read_preparation: "unsupported",
  workspace_output_export: "unsupported",
  programmatic_tool_calling_disable: "supported",
  web_search_control: "supported",
  execution_controls: "supported",
  text_verbosity: "supported",
  structured_output: "supported",
  tool_search: "supported",
  message_images: "supported",
  function_result_images: "supported",
  subagent_control: "supported",
  durable_input_receipts: "supported",
  durable_turns: "supported",
  function_tools: "supported",
  mcp_http_tools: "supported",
  mcp_http_required: "supported",
  mcp_http_bearer_auth: "supported",
};

/** What a bound daemon declares otherwise than an unbound one. */
const bound = {
  environment_none: "unsupported",
  local_environment: "supported",
  workspace_read_preparation: "supported",
  workspace_output_export: "supported",
} as const;

/** The declaration of a daemon, without the named capabilities. */
export function contractDeclaration(
  unsupported: readonly CapabilityName[],
  binding: "bound" | "unbound" = "unbound",
): CapabilityDeclaration {
  const changed = Object.fromEntries(
    unsupported.map((name) => [name, "unsupported" as const]),
  );
  return {
    ...everything,
    ...(binding === "bound" ? bound : {}),
    ...changed,
  };
}
