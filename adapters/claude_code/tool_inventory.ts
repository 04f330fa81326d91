/**
 * Owns which tools one Executor offers to the model, and the check that the program offers exactly
 * those. A tool list that is passed on is a wish; the program's own list is the fact.
 */
import type { PreparedConfiguration } from "../../src/harness/contract.ts";
import { ASKING_TOOL } from "./interactions.ts";
import { FUNCTION_SERVER, nativeToolName } from "./kind.ts";
import type { McpTools } from "./mcp_tools.ts";
import type { NativeFrames } from "./native_frames.ts";
import { OUTPUT_TOOL } from "./structured_output.ts";

/** The program offers other tools than configured. */
export class ToolMismatch extends Error {
  override readonly name = "ToolMismatch";
}

const SEARCH_TOOL = "ToolSearch";
const SKILL_TOOL = "Skill";
const LOCAL_TOOLS = ["Bash", "Read", "Edit", "Write", "Glob", "Grep"] as const;

/** The tools of one Executor. */
export interface ToolInventory {
  /** Built-in tools to launch with; every other one is absent. */
  readonly builtIn: readonly string[];
  /** The whole expected list except MCP tools, in the program's names. */
  readonly expected: ReadonlySet<string>;
  /** Declared function names in the program's form. */
  readonly functions: ReadonlySet<string>;
}

/** The tools that a configuration asks for. Web, workflow, agent and background tools never are. */
export function toolInventory(
  configuration: PreparedConfiguration,
  asks: boolean,
): ToolInventory {
  const local = configuration.environment.kind === "local";
  const skills = configuration.environment.kind === "local" &&
    configuration.environment.skillDirectories.length > 0;
  const builtIn = [
    ...(local ? LOCAL_TOOLS : []),
    ...(asks ? [ASKING_TOOL] : []),
    ...(configuration.toolSearch ? [SEARCH_TOOL] : []),
    ...(skills ? [SKILL_TOOL] : []),
  ];
  const functions = new Set(
    configuration.functionTools.map((tool) =>
      nativeToolName(FUNCTION_SERVER, tool.name)
    ),
  );
  const structured = configuration.executionControls?.output_format
    ? [OUTPUT_TOOL]
    : [];
  return {
    builtIn,
    functions,
    expected: new Set([...builtIn, ...structured, ...functions]),
  };
}

/**
 * Compares the list that the program reports at the start of a native turn.
 *
 * @throws {ToolMismatch} for a missing, an additional or a repeated tool.
 */
export function verifyTools(
  inventory: ToolInventory,
  mcp: McpTools,
  frame: NativeFrames["init"],
): void {
  const present = new Set(frame.tools);
  if (present.size !== frame.tools.length) {
    throw new ToolMismatch("A tool is offered twice");
  }
  for (const name of inventory.expected) {
    if (!present.delete(name)) throw new ToolMismatch("A tool is missing");
  }
  for (const name of present) {
    if (!mcp.identity(name)) {
      throw new ToolMismatch("A tool is offered that was not configured");
    }
  }
  const servers = frame.mcp_servers.map((server) => server.name);
  const functions = inventory.functions.size > 0 ? 1 : 0;
  const declared = servers.every((name) =>
    name === FUNCTION_SERVER ? functions === 1 : mcp.declares(name)
  );
  if (!declared || new Set(servers).size !== servers.length) {
    throw new ToolMismatch("An MCP server is present that was not configured");
  }
}
