/** Which build this is. A test keeps the version equal to the one in `deno.json`. */

/** The version of this program; independent of the wire version. */
export const BUILD_VERSION = "0.1.0";

/** The name of the command. */
export const PROGRAM = "agent-daemon";

/** The command, not for people, with which a Harness starts an installed MCP server. */
export const INSTALLED_SERVER_COMMAND = "installed-mcp-server";

/**
 * What the program may do, for launchers, services and the compiled release alike: everything. The
 * runtime guards `/proc`, without which no process can be told from a later one with its pid, by
 * the right to everything; and a program that starts arbitrary tools is not confined by less.
 */
export const PERMISSIONS: readonly string[] = ["--allow-all"];

/** The entry of a checkout; meaningless inside a compiled program. */
export const MAIN_MODULE: string = new URL("../../main.ts", import.meta.url)
  .pathname;

/** Where releases are served; the release build fills it in, a checkout has none. */
export const RELEASE_BASE_URL: string = "";

/** The public key that releases are signed for, as PEM; filled in by the release build. */
export const RELEASE_PUBLIC_KEY: string = "";
