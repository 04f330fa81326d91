/** The initialization actions without a body: variables, packages, a setup command. */
import { join } from "@std/path";
import type { SpawnChild } from "../harness/child.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Initialization } from "../protocol/initialization.ts";
import type { Applied } from "../transfer/exchange.ts";
import { logicalComponents } from "../workspace/path.ts";
import type { PinnedRoot } from "../workspace/root.ts";
import {
  type CommandOutcome,
  type InitializationCommand,
  runInitializationCommand,
} from "./initialization_command.ts";
import {
  childVariables,
  configureToolEnvironment,
  loadToolEnvironment,
  ToolEnvironmentError,
  type ToolEnvironmentPlaces,
  type Variables,
} from "./tool_environment.ts";

/** What the actions work with. */
export interface InitializationParts {
  readonly workspace: PinnedRoot;
  readonly tools: ToolEnvironmentPlaces;
  readonly spawn: SpawnChild;
  readonly clock: Clock;
  readonly log: Log;
}

type Outcome = Applied<undefined, { readonly exitCode?: number }>;
const FAILED: Outcome = { outcome: "refused", value: {} };
const COMPLETED: Outcome = { outcome: "completed", value: undefined };

/** Carries out one action. An exit code outside 1 to 255 proves nothing and is `unknown`. */
export async function runInitialization(
  parts: InitializationParts,
  initialization: Initialization,
  signal: AbortSignal,
): Promise<Outcome> {
  if (initialization.action === "configure") {
    try {
      await configureToolEnvironment(parts.tools, initialization.env ?? {});
      return COMPLETED;
    } catch (error) {
      if (error instanceof ToolEnvironmentError) return FAILED;
      throw error;
    }
  }
  const frozen = await loadToolEnvironment(parts.tools) ?? {};
  const variables = childVariables(parts.tools, frozen);
  const command = await commandFor(parts, initialization, variables);
  if (!command) return FAILED;
  return resultOf(await runInitializationCommand(command, parts, signal));
}

function resultOf(ran: CommandOutcome): Outcome {
  switch (ran.outcome) {
    case "not_started":
      return FAILED;
    case "unknown":
      return { outcome: "unknown" };
    case "exited":
      if (ran.code === 0) return COMPLETED;
      return ran.code >= 1 && ran.code <= 255
        ? { outcome: "refused", value: { exitCode: ran.code } }
        : { outcome: "unknown" };
  }
}

async function commandFor(
  parts: InitializationParts,
  initialization: Exclude<Initialization, { action: "configure" }>,
  environment: Variables,
): Promise<InitializationCommand | undefined> {
  const { tools } = parts;
  const place = (name: string, program: string | undefined, rest: string[]) =>
    program === undefined ? undefined : {
      name,
      program,
      arguments: rest,
      workingDirectory: parts.workspace.path,
      environment,
    };
  switch (initialization.action) {
    case "npm":
      if (!await findProgram("node", environment)) return undefined;
      return place("npm install", await findProgram("npm", environment), [
        "install",
        "--global",
        "--prefix",
        join(tools.packageDirectory, "npm"),
        "--",
        ...initialization.packages,
      ]);
    case "python":
      return place(
        "pip install",
        await findProgram("python3", environment) ??
          await findProgram("python", environment),
        [
          "-m",
          "pip",
          "install",
          "--disable-pip-version-check",
          "--no-input",
          "--target",
          join(tools.packageDirectory, "python"),
          "--",
          ...initialization.packages,
        ],
      );
    case "setup": {
      const directory = workingDirectory(parts.workspace, initialization.cwd);
      const command = place("setup", await findProgram("bash", environment), [
        "--noprofile",
        "--norc",
        "-c",
        initialization.command,
      ]);
      return command && directory
        ? { ...command, workingDirectory: directory }
        : undefined;
    }
  }
}

/** The directory of a setup command, if it is a real one below the workspace. */
function workingDirectory(
  workspace: PinnedRoot,
  cwd = "/workspace",
): string | undefined {
  const components = logicalComponents(cwd || "/workspace", workspace.rules);
  if (!components) return undefined;
  try {
    workspace.descend(components).close();
  } catch (_unusable) {
    return undefined;
  }
  return join(workspace.path, ...components);
}

/** The first executable of this name on the variables' `PATH`. */
async function findProgram(
  name: string,
  environment: Variables,
): Promise<string | undefined> {
  for (const folder of (environment["PATH"] ?? "").split(":")) {
    if (!folder.startsWith("/")) continue;
    const path = join(folder, name);
    try {
      const { isFile, mode } = await Deno.stat(path);
      if (isFile && ((mode ?? 0) & 0o111) !== 0) return path;
    } catch (_absent) {
      continue;
    }
  }
  return undefined;
}
