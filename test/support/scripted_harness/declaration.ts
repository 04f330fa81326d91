/** What the scripted Harness can do, listed by hand: each field decided. */
import type { CapabilityDeclaration } from "../../../src/protocol/capabilities.ts";

/** `bound` decides the Environment fields, `asks` the permissions. */
export function scriptedDeclaration(
  { bound, asks }: { readonly bound: boolean; readonly asks: boolean },
): CapabilityDeclaration {
  const whenBound = bound ? "supported" : "unsupported";
  return {
    subagent_observations: "unsupported",
    streaming: "supported",
    permissions: asks ? "supported" : "unsupported",
    usage: "supported",
    resume: "supported",
    native_session_recovery: "supported",
    steering: "supported",
    message_items: "supported",
    tool_observations: "supported",
    environment_none: bound ? "unsupported" : "supported",
    local_environment: whenBound,
    preparation: "supported",
    workspace_read_preparation: whenBound,
    workspace_output_export: whenBound,
    programmatic_tool_calling_disable: "supported",
    web_search_control: "unsupported",
    execution_controls: "supported",
    text_verbosity: "unsupported",
    structured_output: "unsupported",
    tool_search: "unsupported",
    message_images: "unsupported",
    function_result_images: "unsupported",
    subagent_control: "supported",
    durable_input_receipts: "supported",
    durable_turns: "supported",
    function_tools: "supported",
    // The program is told of the servers and connects to none.
    mcp_http_tools: "supported",
    mcp_http_required: "supported",
    mcp_http_bearer_auth: "supported",
  };
}
