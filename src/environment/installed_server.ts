/**
 * Finds one installed MCP server again by its identity. A Harness starts such a server through a
 * launcher that knows the identity only, so that no configuration of it stands in a command line.
 */
import { isAbsolute, join } from "@std/path";
import { InvalidPackage } from "./package_files.ts";
import { readPlugin } from "./plugin_manifest.ts";
import { readInstalledPackage } from "./snapshot.ts";
import type { DirectoryAccess } from "../workspace/root.ts";
import { PinnedRoot } from "../workspace/root.ts";

/** Which server, as the launcher is told. */
export interface InstalledServerIdentity {
  /** Absolute path of the capability root. */
  readonly capabilityRoot: string;
  /** The plugin's directory below it. */
  readonly packageRoot: string;
  readonly name: string;
}

/** How the server's process is started. */
export interface ServerCommand {
  readonly command: string;
  readonly arguments: readonly string[];
  readonly workingDirectory: string;
}

/**
 * The command of an installed stdio server, read from its sealed package.
 *
 * @throws {InvalidPackage} when the selection does not hold this server.
 */
export async function installedServerCommand(
  identity: InstalledServerIdentity,
  access: DirectoryAccess,
): Promise<ServerCommand> {
  const root = new PinnedRoot(identity.capabilityRoot, access);
  const files = await readInstalledPackage(root, identity.packageRoot);
  const server = readPlugin(files).servers
    .find((candidate) => candidate.name === identity.name);
  if (!server || server.type === "http") {
    throw new InvalidPackage("no such server is installed");
  }
  const directory = join(root.path, ...identity.packageRoot.split("/"));
  const { cwd = "" } = server;
  return {
    command: server.command.startsWith("./")
      ? join(directory, server.command)
      : server.command,
    arguments: server.args ?? [],
    workingDirectory: isAbsolute(cwd) ? cwd : join(directory, cwd),
  };
}
