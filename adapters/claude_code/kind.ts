/** Owns the names by which Claude Code is known outside its own process. */

/** The wire identifier. A Core selects this Harness by exactly these letters. */
export const CLAUDE_KIND = "claude_sdk";

/** The kind of native Session identity in `done.metadata`. */
export const CLAUDE_SESSION_TYPE = "claude_session";

/** The in-process MCP server that carries Core's functions; reserved as an MCP label. */
export const FUNCTION_SERVER = "functions";

/** How the model sees a tool of an MCP server. Characters it cannot see become `_`. */
export function nativeToolName(server: string, tool: string): string {
  return `mcp__${server}__${tool.replace(/[^A-Za-z0-9_-]/g, "_")}`;
}
