/**
 * What Claude Code can do behind this Runtime, each field with the native test that proves it or
 * the reason why it is not claimed. Nothing here is measured at run time except the context.
 */
import {
  CAPABILITY_NAMES,
  type CapabilityDeclaration,
  type CapabilityName,
} from "../../src/protocol/capabilities.ts";

/** What a declaration depends on. */
export interface DeclarationContext {
  readonly bound: boolean;
  readonly permissions: "unattended" | "ask";
  readonly operatingSystem: "linux" | "darwin" | "windows";
  /** Whether the installed version is one that the native tests ran on. */
  readonly testedVersion: boolean;
}

/** The support of one field in a context. */
export type Support = (
  context: DeclarationContext,
) => "supported" | "unsupported";

/** One field: proven by a native test, or not claimed for a reason. */
export type DeclaredCapability =
  | { readonly support: Support; readonly provenBy: string }
  | { readonly support: Support; readonly reason: string };

const always: Support = () => "supported";
const never: Support = () => "unsupported";
const whenBound: Support = ({ bound }) => bound ? "supported" : "unsupported";
const whenTested: Support = ({ testedVersion }) =>
  testedVersion ? "supported" : "unsupported";

/** Every capability field. `provenBy` is the exact name of a native test. */
export const CLAUDE_CAPABILITIES: Readonly<
  Record<CapabilityName, DeclaredCapability>
> = {
  subagent_observations: {
    support: never,
    reason:
      "The program reports neither the creation time nor all items of a subagent",
  },
  streaming: {
    support: always,
    provenBy:
      "claude streaming: deltas arrive in order before their message completes",
  },
  permissions: {
    support: ({ permissions }) =>
      permissions === "ask" ? "supported" : "unsupported",
    provenBy:
      "claude permissions: a native ask goes out and its answer is applied",
  },
  usage: {
    support: always,
    provenBy: "claude usage: raw snapshots of this Turn only, no token counts",
  },
  resume: {
    support: always,
    provenBy:
      "claude resume: a recorded id continues its history in a new process",
  },
  native_session_recovery: {
    support: whenTested,
    provenBy:
      "claude native_session_recovery: a killed first Turn is found again by its Session",
  },
  steering: {
    support: always,
    provenBy:
      "claude steering: active input reaches a request of the same Turn",
  },
  message_items: {
    support: always,
    provenBy:
      "claude message_items: one item for each native message, completed text exact",
  },
  tool_observations: {
    support: always,
    provenBy:
      "claude tool_observations: a command is seen before and after with its native id",
  },
  environment_none: {
    support: ({ bound }) => bound ? "unsupported" : "supported",
    provenBy:
      "claude environment_none: no local tool is offered and text arrives verbatim",
  },
  local_environment: {
    support: whenBound,
    provenBy:
      "claude local_environment: a command and an edit take effect in the workspace",
  },
  preparation: {
    support: always,
    provenBy: "claude preparation: ready without any provider request or input",
  },
  workspace_read_preparation: {
    support: whenBound,
    provenBy:
      "claude workspace_read_preparation: reading the workspace starts no program",
  },
  workspace_output_export: {
    support: whenBound,
    provenBy:
      "claude workspace_output_export: what a command wrote can be exported",
  },
  programmatic_tool_calling_disable: {
    support: always,
    provenBy:
      "claude programmatic_tool_calling_disable: no request offers a code tool",
  },
  web_search_control: {
    support: never,
    reason: "Only disabled web search can be enforced",
  },
  execution_controls: {
    support: always,
    provenBy:
      "claude execution_controls: an accepted control is enforced, another refused",
  },
  text_verbosity: {
    support: never,
    reason: "The program has no control for it",
  },
  structured_output: {
    support: always,
    provenBy:
      "claude structured_output: the accepted call is published byte for byte",
  },
  tool_search: {
    support: always,
    provenBy:
      "claude tool_search: a deferred function is found by search and called",
  },
  message_images: {
    support: always,
    provenBy: "claude message_images: images reach the request at their place",
  },
  function_result_images: {
    support: always,
    provenBy:
      "claude function_result_images: an image of a result reaches the model",
  },
  subagent_control: {
    support: always,
    provenBy: "claude subagent_control: no request offers a delegation tool",
  },
  durable_input_receipts: {
    support: always,
    provenBy:
      "claude durable_input_receipts: written once, accepted by proof, else unknown",
  },
  durable_turns: {
    support: always,
    provenBy: "claude durable_turns: two Turns share one process and history",
  },
  function_tools: {
    support: always,
    provenBy:
      "claude function_tools: parallel calls are answered by their native ids",
  },
  mcp_http_tools: {
    support: always,
    provenBy: "claude mcp_http_tools: exactly the allowed tools are offered",
  },
  mcp_http_required: {
    support: whenTested,
    provenBy:
      "claude mcp_http_required: an unusable required server fails the preparation",
  },
  mcp_http_bearer_auth: {
    support: always,
    provenBy:
      "claude mcp_http_bearer_auth: the server sees the bearer and nothing else does",
  },
};

/** The complete declaration in a context. */
export function claudeDeclaration(
  context: DeclarationContext,
): CapabilityDeclaration {
  return Object.fromEntries(
    CAPABILITY_NAMES.map((
      name,
    ) => [name, CLAUDE_CAPABILITIES[name].support(context)]),
  ) as CapabilityDeclaration;
}
