/**
 * `installed-mcp-server`: becomes an installed MCP server. A Harness starts it with the identity of
 * the server and nothing else; everything of the server is read from its sealed package.
 */
import {
  installedServerCommand,
  type ServerCommand,
} from "../environment/installed_server.ts";
import { InvalidPackage } from "../environment/package_files.ts";
import { directoryAccess, RootUnavailable } from "../workspace/root.ts";
import { INSTALLED_SERVER_COMMAND, PROGRAM } from "./build.ts";
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
  let server: ServerCommand;
  try {
    server = await installedServerCommand(
      { capabilityRoot, packageRoot, name },
      directoryAccess(outside.operatingSystem),
    );
  } catch (error) {
    if (
      !(error instanceof InvalidPackage || error instanceof RootUnavailable)
    ) throw error;
    outside.stderr.write(`${PROGRAM}: ${error.message}\n`);
    return EXIT_CODES.configuration.code;
  }
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
