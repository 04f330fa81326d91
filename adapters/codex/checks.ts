/** Why a configuration is refused: what the engine cannot enforce. Pure; names no value. */
import { isAbsolute } from "@std/path";
import type {
  PreparedConfiguration,
  Refusal,
} from "../../src/harness/contract.ts";
import { isBlank } from "../../src/protocol/text.ts";
import { checkFunctionTools } from "./functions.ts";
import { stateKeyParts } from "./home.ts";
import { checkSchema } from "./structured.ts";

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"];
const MCP_LABEL = /^[a-zA-Z0-9_:@/.-]+$/;
/** Labels of servers that the engine brings itself. */
const RESERVED_LABELS = ["codex_apps"];

/** Why the configuration cannot be enforced. Names no value. */
export function checkConfiguration(
  configuration: PreparedConfiguration,
): Refusal | undefined {
  const reason = modelRefusal(configuration) ??
    controlsRefusal(configuration) ??
    toolsRefusal(configuration) ??
    subagentRefusal(configuration) ??
    environmentRefusal(configuration);
  return reason === undefined ? undefined : { reason: `codex: ${reason}` };
}

function modelRefusal(
  { model, modelProvider, harnessConfig }: PreparedConfiguration,
): string | undefined {
  if (model !== undefined && isBlank(model)) return "the model is blank";
  if (modelProvider && model === undefined) {
    return "a model provider needs a model";
  }
  if (modelProvider && modelProvider.protocol !== "responses") {
    return "the model provider does not speak the responses protocol";
  }
  for (const [name, value] of Object.entries(harnessConfig)) {
    if (name !== "model_reasoning_effort") {
      return "the harness configuration has an unknown member";
    }
    if (typeof value !== "string" || !EFFORTS.includes(value)) {
      return "the reasoning effort is none the engine knows";
    }
  }
  return undefined;
}

function controlsRefusal(
  { executionControls: controls, model }: PreparedConfiguration,
): string | undefined {
  if (!controls) return undefined;
  // The engine turns `cached` into live access where nothing is sandboxed: not what was asked for.
  if (!["disabled", "live"].includes(controls.web_search)) {
    return "web_search must be disabled or live";
  }
  if (!["low", "medium", "high"].includes(controls.text_verbosity)) {
    return "text_verbosity must be low, medium or high";
  }
  if (controls.text_verbosity !== "medium" && model === undefined) {
    return "a text verbosity needs a model";
  }
  if (!controls.output_format) return undefined;
  return controls.output_format.type === "json_schema"
    ? checkSchema(controls.output_format.schema)
    : "the output format is unknown";
}

function toolsRefusal(
  configuration: PreparedConfiguration,
): string | undefined {
  const { functionTools, toolSearch, mcpServers } = configuration;
  if (toolSearch || functionTools.some((tool) => tool.defer_loading)) {
    return "tool search is not supported";
  }
  const functions = checkFunctionTools(functionTools);
  if (functions !== undefined) return functions;
  for (const { label } of mcpServers ?? []) {
    if (RESERVED_LABELS.includes(label)) return "an MCP label is reserved";
    if (!MCP_LABEL.test(label)) return "an MCP label is malformed";
  }
  return undefined;
}

function subagentRefusal(
  configuration: PreparedConfiguration,
): string | undefined {
  const { maxConcurrentSubagents: most } = configuration;
  if (most !== undefined && most < 1) return "the subagent limit is below one";
  if (!configuration.observeSubagentIdentities) return undefined;
  if (configuration.disableSubagents) {
    return "disabled subagents cannot be observed";
  }
  return configuration.functionTools.length > 0 ||
      (configuration.mcpServers?.length ?? 0) > 0
    ? "observed subagents exclude functions and MCP servers"
    : undefined;
}

function environmentRefusal(
  { agentStateKey, environment }: PreparedConfiguration,
): string | undefined {
  if (!stateKeyParts(agentStateKey)) return "the state key names no directory";
  return environment.kind === "local" && !isAbsolute(environment.workspaceRoot)
    ? "the workspace root is not absolute"
    : undefined;
}
