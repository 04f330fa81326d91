/**
 * What Claude Code can do behind this Runtime, field by field: the value, when it holds, and the
 * native test that fails when it is a lie. The capability documentation is generated from it.
 */
import {
  type DeclarationSituation,
  declare,
  type DeclaredFields,
} from "../../src/harness/declared_fields.ts";
import type { CapabilityDeclaration } from "../../src/protocol/capabilities.ts";
import type { VersionRange } from "../../src/harness/version.ts";

/** The versions this adapter was measured against. */
export const CLAUDE_VERSIONS: VersionRange = {
  minimum: "2.1.332",
  newestTested: "2.1.332",
};

/** The table. A test compares the names of tests with the suite. */
export const CLAUDE_DECLARATION: DeclaredFields = {
  subagent_observations: {
    supported: "never",
    reason:
      "The program reports neither the creation time nor all items of a subagent",
  },
  streaming: {
    supported: [],
    provenBy:
      "claude streaming: deltas arrive in order before their message completes",
  },
  permissions: {
    supported: ["ask"],
    provenBy:
      "claude permissions: a native ask goes out and its answer is applied",
  },
  usage: {
    supported: [],
    provenBy: "claude usage: raw snapshots of this Turn only, no token counts",
  },
  resume: {
    supported: [],
    provenBy:
      "claude resume: a recorded id continues its history in a new process",
  },
  native_session_recovery: {
    supported: ["tested_version"],
    provenBy:
      "claude native_session_recovery: a killed first Turn is found again by its Session",
  },
  steering: {
    supported: [],
    provenBy:
      "claude steering: active input reaches a request of the same Turn",
  },
  message_items: {
    supported: [],
    provenBy:
      "claude message_items: one item for each native message, completed text exact",
  },
  tool_observations: {
    supported: [],
    provenBy:
      "claude tool_observations: a command is seen before and after with its native id",
  },
  environment_none: {
    supported: ["unbound"],
    provenBy:
      "claude environment_none: no local tool is offered and text arrives verbatim",
  },
  local_environment: {
    supported: ["bound"],
    provenBy:
      "claude local_environment: a command and an edit take effect in the workspace",
  },
  preparation: {
    supported: [],
    provenBy: "claude preparation: ready without any provider request or input",
  },
  workspace_read_preparation: {
    supported: ["bound"],
    provenBy:
      "claude local_environment: a command and an edit take effect in the workspace",
    reason:
      "served by the Runtime's own workspace owner, whose tests prove the rest",
  },
  workspace_output_export: {
    supported: ["bound"],
    provenBy:
      "claude local_environment: a command and an edit take effect in the workspace",
    reason:
      "served by the Runtime's own workspace owner, whose tests prove the rest",
  },
  programmatic_tool_calling_disable: {
    supported: [],
    provenBy:
      "claude programmatic_tool_calling_disable: no request offers a code tool",
  },
  web_search_control: {
    supported: "never",
    reason: "Only disabled web search can be enforced",
  },
  execution_controls: {
    supported: [],
    provenBy:
      "claude execution_controls: an accepted control is enforced, another refused",
  },
  text_verbosity: {
    supported: "never",
    reason: "The program has no control for it",
  },
  structured_output: {
    supported: [],
    provenBy:
      "claude structured_output: the accepted call is published byte for byte",
  },
  tool_search: {
    supported: [],
    provenBy:
      "claude tool_search: a deferred function is found by search and called",
  },
  message_images: {
    supported: [],
    provenBy: "claude message_images: images reach the request at their place",
  },
  function_result_images: {
    supported: [],
    provenBy:
      "claude function_result_images: an image of a result reaches the model",
  },
  subagent_control: {
    supported: [],
    provenBy: "claude subagent_control: no request offers a delegation tool",
  },
  durable_input_receipts: {
    supported: [],
    provenBy:
      "claude durable_input_receipts: written once, accepted by proof, else unknown",
  },
  durable_turns: {
    supported: [],
    provenBy: "claude durable_turns: two Turns share one process and history",
  },
  function_tools: {
    supported: [],
    provenBy:
      "claude function_tools: parallel calls are answered by their native ids",
  },
  mcp_http_tools: {
    supported: [],
    provenBy: "claude mcp_http_tools: exactly the allowed tools are offered",
  },
  mcp_http_required: {
    supported: ["tested_version"],
    provenBy:
      "claude mcp_http_required: an unusable required server fails the preparation",
  },
  mcp_http_bearer_auth: {
    supported: [],
    provenBy:
      "claude mcp_http_bearer_auth: the server sees the bearer and nothing else does",
  },
};

/** The declaration of a situation, every field decided. */
export function declareClaude(
  situation: DeclarationSituation,
): CapabilityDeclaration {
  return declare(CLAUDE_DECLARATION, situation);
}
