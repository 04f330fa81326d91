/**
 * What Codex can do behind this adapter, field by field: the value, when it holds, and the native
 * test that fails when it is a lie. The capability documentation is generated from this table.
 */
import {
  type Condition,
  type DeclarationSituation,
  declare,
  type DeclaredField,
  type DeclaredFields,
} from "../../src/harness/declared_fields.ts";
import type { CapabilityDeclaration } from "../../src/protocol/capabilities.ts";
import type { VersionRange } from "../../src/harness/version.ts";

/** The versions this adapter was measured against. */
export const CODEX_VERSIONS: VersionRange = {
  minimum: "0.171.0",
  newestTested: "0.171.0",
};

const proved = (
  provenBy: string,
  supported: readonly Condition[] = [],
): DeclaredField => ({ supported, provenBy });

/** The table. Names of tests are exact: a test compares them with the suite. */
export const CODEX_DECLARATION: DeclaredFields = {
  streaming: proved("deltas arrive before the message is whole, in order"),
  steering: proved("active input reaches a request of the same Turn"),
  durable_turns: proved("two Turns share one process and one history"),
  durable_input_receipts: proved(
    "an input that an interrupt loses is written and never accepted",
  ),
  preparation: proved("a preparation writes no input and asks no provider"),
  execution_controls: proved("every accepted control is in the request", [
    "not_windows",
  ]),
  tool_observations: proved(
    "a command is observed before and after with its native id",
  ),
  environment_none: proved(
    "without an Environment every local tool is refused and nothing changes",
    ["unbound"],
  ),
  local_environment: proved("commands and edits work in the bound root", [
    "bound",
  ]),
  workspace_read_preparation: {
    supported: ["bound"],
    provenBy: "commands and edits work in the bound root",
    reason:
      "served by the Runtime's own workspace owner without an engine process; its tests prove the reading itself",
  },
  workspace_output_export: {
    supported: ["bound"],
    provenBy: "commands and edits work in the bound root",
    reason:
      "served by the Runtime's own workspace owner without an engine process; its tests prove the export itself",
  },
  native_session_recovery: proved(
    "after a kill in the first Turn exactly that history is found again",
    ["tested_version"],
  ),
  resume: proved("a recorded id continues the history in a new process"),
  message_items: proved("each native message is one item with its own text"),
  usage: proved("usage is cumulative for the Run and excludes history"),
  permissions: proved("a decision reaches the engine and is applied", ["ask"]),
  web_search_control: proved("web search is offered as controlled"),
  text_verbosity: proved("text verbosity is sent or refused", ["not_windows"]),
  structured_output: proved(
    "a final text that breaks the schema ends in an error",
  ),
  tool_search: {
    supported: "never",
    reason:
      "deferred tools need namespaces and a model with search support; the wire's tools have no namespace",
  },
  programmatic_tool_calling_disable: proved(
    "no code mode is offered to a model that knows nothing else",
  ),
  function_tools: proved("parallel function calls are answered and received"),
  message_images: proved("images reach the request at their position"),
  function_result_images: proved("an image in a result reaches the model"),
  subagent_control: proved("disabled subagents are not offered"),
  subagent_observations: proved(
    "a child is observed from its identity to its end",
  ),
  mcp_http_tools: proved("exactly the declared MCP tools are offered"),
  mcp_http_required: proved(
    "a required MCP server that is down fails the preparation",
    ["tested_version"],
  ),
  mcp_http_bearer_auth: proved("an MCP bearer reaches its server only"),
};

/** The declaration of a situation, every field decided. */
export function declareCodex(
  situation: DeclarationSituation,
): CapabilityDeclaration {
  return declare(CODEX_DECLARATION, situation);
}
