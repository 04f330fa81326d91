/** Which build this is. A test keeps the version equal to the one in `deno.json`. */

/** The version of this program; independent of the wire version. */
export const BUILD_VERSION = "0.1.0";

/** The name of the command. */
export const PROGRAM = "agent-daemon";

/** The command, not for people, with which a Harness starts an installed MCP server. */
export const INSTALLED_SERVER_COMMAND = "installed-mcp-server";
