/**
 * Judges whether Claude Code can be held to a configuration, before anything native happens. A
 * control that cannot be enforced is refused, never ignored.
 */
import type {
  McpBinding,
  PreparedConfiguration,
  Refusal,
} from "../../src/harness/contract.ts";
import type { FunctionTool } from "../../src/protocol/configuration.ts";
import { isBlank } from "../../src/protocol/text.ts";
import { readHarnessConfiguration } from "./harness_configuration.ts";
import { checkOutputFormat } from "./output_schema.ts";
import { FUNCTION_SERVER, nativeToolName } from "./kind.ts";

/** Refuses a configuration with one fixed sentence that repeats none of it. */
export function checkClaudeConfiguration(
  configuration: PreparedConfiguration,
): Refusal | undefined {
  const reason = modelProblem(configuration) ??
    controlsProblem(configuration) ??
    subagentProblem(configuration) ??
    functionProblem(configuration) ??
    mcpProblem(configuration) ??
    environmentProblem(configuration);
  return reason === undefined ? undefined : { reason };
}

function modelProblem(c: PreparedConfiguration): string | undefined {
  if (c.model === undefined || isBlank(c.model)) return "A model is required";
  // A leading hyphen would be read as an option of the program.
  if (c.model.startsWith("-")) return "The model name is not one";
  if (c.modelProvider && c.modelProvider.protocol !== "anthropic") {
    return "Only providers of the anthropic protocol are served";
  }
  return readHarnessConfiguration(c.harnessConfig)
    ? undefined
    : "The harness configuration has a member that is not supported";
}

function controlsProblem(c: PreparedConfiguration): string | undefined {
  const controls = c.executionControls;
  if (!controls) return undefined;
  if (controls.web_search !== "disabled") {
    return "Only disabled web search can be enforced";
  }
  if (controls.text_verbosity !== "medium") {
    return "Text verbosity cannot be set";
  }
  const format = controls.output_format;
  if (!format) return undefined;
  if (!checkOutputFormat(format)) return "The output schema is not supported";
  if (!c.observeMessages) return "Structured output needs message items";
  if (c.toolSearch || (c.mcpServers?.length ?? 0) > 0) {
    return "Structured output goes with functions only";
  }
  return undefined;
}

function subagentProblem(c: PreparedConfiguration): string | undefined {
  return c.observeSubagentIdentities
    ? "Subagents cannot be observed"
    : undefined;
}

function functionProblem(c: PreparedConfiguration): string | undefined {
  const names = new Set<string>();
  for (const tool of c.functionTools) {
    if (isBlank(tool.name)) return "A function has no name";
    const native = nativeToolName(FUNCTION_SERVER, tool.name);
    if (names.has(native)) return "Two functions have one native name";
    names.add(native);
    if (functionSchema(tool) === undefined) {
      return "The parameters of a function are not an object schema";
    }
  }
  const deferred = c.functionTools.some((tool) => tool.defer_loading === true);
  if (deferred !== c.toolSearch) {
    return "Tool search and deferred functions need each other";
  }
  if (c.toolSearch && (c.mcpServers?.length ?? 0) > 0) {
    return "Tool search goes with functions only";
  }
  return undefined;
}

/** The object schema of a function's parameters; an untyped object is typed, another refused. */
export function functionSchema(
  tool: FunctionTool,
): Readonly<Record<string, unknown>> | undefined {
  const schema = tool.parameters;
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    return undefined;
  }
  const type = (schema as { readonly type?: unknown }).type;
  if (type === "object") return { ...schema };
  const absent = type === undefined;
  const union = Array.isArray(type) && type.includes("object");
  return absent || union ? { ...schema, type: "object" } : undefined;
}

const LABEL = /^[A-Za-z0-9_-]+$/;
const TOOL = /^[A-Za-z0-9_.-]+$/;

function mcpProblem(c: PreparedConfiguration): string | undefined {
  const labels: string[] = [];
  for (const server of c.mcpServers ?? []) {
    const { label } = server;
    if (!LABEL.test(label) || label === FUNCTION_SERVER) {
      return "An MCP label is not usable";
    }
    // Native names are prefixes: one label must not begin the tool names of another.
    if (labels.some((other) => overlaps(label, other))) {
      return "Two MCP labels are not distinct";
    }
    labels.push(label);
    const problem = serverProblem(server);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function overlaps(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}__`) || b.startsWith(`${a}__`);
}

function serverProblem(server: McpBinding): string | undefined {
  if (server.allowedTools !== null) {
    if (!server.allowedTools.every((name) => TOOL.test(name))) {
      return "An MCP tool name is not usable";
    }
    const native = server.allowedTools.map((name) =>
      nativeToolName(server.label, name)
    );
    if (new Set(native).size !== native.length) {
      return "Two MCP tools have one native name";
    }
  }
  if (server.transport !== "http") return undefined;
  return server.headers && Object.keys(server.headers).length > 0
    ? "Literal MCP headers are not supported"
    : undefined;
}

function environmentProblem(c: PreparedConfiguration): string | undefined {
  if (c.environment.kind === "none") return undefined;
  return c.environment.skillDirectories.length > 0 && c.executionControls
      ?.output_format
    ? "Structured output goes without skills"
    : undefined;
}
