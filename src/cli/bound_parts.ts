/**
 * What a bound daemon adds to each router: the binding and the families of its workspace. Private
 * state of an Environment and Session lies in a directory of its own below the state directory.
 */
import { join } from "@std/path";
import { applyStep } from "../environment/installation.ts";
import {
  LocalBinding,
  type ServerLauncher,
} from "../environment/local_binding.ts";
import type { SpawnChild } from "../harness/child.ts";
import type { Log } from "../platform/log.ts";
import { boundServices } from "../runtime/bound_services.ts";
import { directoryAccess, PinnedRoot } from "../workspace/root.ts";
import { WorkspaceWriter } from "../workspace/writer.ts";
import { INSTALLED_SERVER_COMMAND } from "./build.ts";
import type { BoundWorkspace } from "./identity.ts";
import type { Outside } from "./outside.ts";
import type { BoundParts } from "./session_parts.ts";

/** The program's own module, for a daemon that runs from its sources. */
const MAIN_MODULE = import.meta.resolve("../../main.ts");

/** What the parts are opened with. */
export interface BoundPartsOptions {
  /** An existing private directory. */
  readonly stateDirectory: string;
  readonly outside: Outside;
  readonly log: Log;
  /** Starts the processes of initialization. */
  readonly spawn: SpawnChild;
}

/**
 * Opens the workspace for the life of the process and pins its identity.
 *
 * @throws {RootUnavailable} when the workspace cannot be opened.
 */
export async function openBoundParts(
  bound: BoundWorkspace,
  options: BoundPartsOptions,
): Promise<BoundParts> {
  const { outside, log, spawn } = options;
  const { environmentId, sessionId, root } = bound;
  const identity = { environmentId, sessionId };
  const access = directoryAccess(outside.operatingSystem);
  const own = join(
    options.stateDirectory,
    "environments",
    `${environmentId}-${sessionId}`,
  );
  const place = async (name: string) => {
    const path = join(own, name);
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
    return path;
  };
  const workspace = new PinnedRoot(root, access);
  const writer = new WorkspaceWriter(
    workspace,
    outside.ids,
    outside.clock,
  );
  const parts = {
    identity,
    workspace,
    writer,
    access,
    spawn,
    log,
    clock: outside.clock,
    capabilities: new PinnedRoot(await place("capabilities"), access),
    markerDirectory: await place("marker"),
    tools: {
      initializationDirectory: await place("initialization"),
      packageDirectory: await place("packages"),
      system: outside.operatingSystem,
      daemonEnvironment: outside.environment,
    },
    launcher,
  };
  return {
    binding: new LocalBinding(parts),
    services: boundServices({
      identity,
      workspace,
      writer,
      applyStep: (begin, body, signal) => applyStep(parts, begin, body, signal),
    }),
  };
}

/** This program again, told only which server to become. */
const launcher: ServerLauncher = ({ capabilityRoot, packageRoot, name }) => ({
  command: Deno.execPath(),
  arguments: [
    ...(Deno.build.standalone ? [] : ["run", "--allow-all", MAIN_MODULE]),
    INSTALLED_SERVER_COMMAND,
    capabilityRoot,
    packageRoot,
    name,
  ],
});
