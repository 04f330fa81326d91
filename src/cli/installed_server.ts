/**
 * `installed-mcp-server`: becomes an installed MCP server. A Harness starts it with the identity of
 * the server and nothing else; everything of the server is read from its sealed package.
 */
import { installedServerCommand } from "../environment/installed_server.ts";
import { directoryAccess } from "../workspace/root.ts";
import { INSTALLED_SERVER_COMMAND } from "./build.ts";
import { EXIT_CODES } from "./exit_codes.ts";
import type { Outside } from "./outside.ts";

/** Signals that are passed on; the server decides what they mean to it. */
const PASSED_ON: readonly Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT", "SIGBREAK"]
  : ["SIGTERM", "SIGINT", "SIGHUP"];

/** Runs the server on this process's own pipes. Resolves to its exit code. */
export async function installedServer(
  words: readonly string[],
  outside: Outside,
): Promise<number> {
  const [capabilityRoot, packageRoot, name, ...rest] = words;
  if (
    capabilityRoot === undefined || packageRoot === undefined ||
    name === undefined || rest.length > 0
  ) {
    outside.stderr.write(
      `${INSTALLED_SERVER_COMMAND} is no command for people\n`,
    );
    return EXIT_CODES.usage.code;
  }
  const server = await installedServerCommand(
    { capabilityRoot, packageRoot, name },
    directoryAccess(outside.operatingSystem),
  );
  const child = new Deno.Command(server.command, {
    args: [...server.arguments],
    cwd: server.workingDirectory,
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
  const passOn = PASSED_ON.map((signal) => {
    const handler = () => {
      try {
        child.kill(signal);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error; // it has ended already
      }
    };
    Deno.addSignalListener(signal, handler);
    return { signal, handler };
  });
  try {
    return (await child.status).code;
  } finally {
    for (const { signal, handler } of passOn) {
      Deno.removeSignalListener(signal, handler);
    }
  }
}
