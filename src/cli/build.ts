/** Which build this is. A test keeps the version equal to the one in `deno.json`. */

/** The version of this program; independent of the wire version. */
export const BUILD_VERSION = "0.1.0";

/** The name of the command. */
export const PROGRAM = "agent-daemon";

/** The command, not for people, with which a Harness starts an installed MCP server. */
export const INSTALLED_SERVER_COMMAND = "installed-mcp-server";

/** What the program may do: for launchers, services and the compiled release alike. */
export const PERMISSIONS = [
  "--allow-net",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-run",
  "--allow-sys",
  "--allow-ffi",
] as const;

/** The entry of a checkout; meaningless inside a compiled program. */
export const MAIN_MODULE: string = new URL("../../main.ts", import.meta.url)
  .pathname;
