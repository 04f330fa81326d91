/**
 * The Harness of the test suite: a whole adapter, kind `contract`, over a real child process that
 * misbehaves on request. The example of the adapter contract.
 */
import { fromFileUrl, join } from "@std/path";
import { childEnvironment } from "../../../src/harness/child_environment.ts";
import type { Child, CloseGrace } from "../../../src/harness/child.ts";
import {
  type DiscoveryContext,
  type Executor,
  type ExecutorFactory,
  type HarnessAdapter,
  PreparationFailed,
  type PreparedConfiguration,
  type Refusal,
} from "../../../src/harness/contract.ts";
import {
  hasImages,
  type MessageInput,
} from "../../../src/protocol/message_input.ts";
import { within } from "../../../src/platform/clock.ts";
import { scriptedDeclaration } from "./declaration.ts";
import { ScriptedExecutor } from "./executor.ts";

/** The wire identifier of the scripted Harness. */
export const CONTRACT_KIND = "contract";

/** What a test may set beside `harnessConfig`. */
export interface ScriptedHarnessOptions {
  /** Shorter steps of a close; the default is that of a real adapter. */
  readonly closeGrace?: CloseGrace;
  /** Called with each native process. */
  readonly onChild?: (child: Child) => void;
}

const PREPARATION_MILLISECONDS = 10_000;
const CLOSE_GRACE: CloseGrace = {
  afterEndOfInput: 2_000,
  afterTerminate: 1_000,
  afterKill: 3_000,
};
/** Above the 24 MB of the longest line a test sends. */
const MAXIMUM_LINE_BYTES = 32 * 1024 * 1024;

/**
 * The adapter. `harnessConfig` has two members: `modes`, passed to the program, and
 * `close_failures`, the number of closes that reject before one is tried.
 */
export function scriptedHarness(
  options: ScriptedHarnessOptions = {},
): HarnessAdapter {
  return {
    kind: CONTRACT_KIND,
    discover: (context) =>
      Promise.resolve({
        kind: CONTRACT_KIND,
        available: true,
        version: "1.0.0",
        program: Deno.execPath(),
        declaration: scriptedDeclaration({
          bound: context.bound,
          asks: context.permissions === "ask",
        }),
        factory: scriptedFactory(context, options),
      }),
  };
}

function scriptedFactory(
  context: DiscoveryContext,
  options: ScriptedHarnessOptions,
): ExecutorFactory {
  return {
    checkConfiguration,
    checkInput: (_configuration, input) => checkInput(input),
    prepare: (configuration, owner) =>
      prepare(context, options, configuration, owner),
  };
}

function checkConfiguration(
  configuration: PreparedConfiguration,
): Refusal | undefined {
  const { modes, close_failures: failures, ...others } =
    configuration.harnessConfig;
  if (Object.keys(others).length > 0) {
    return { reason: "harness_config has an unknown member" };
  }
  if (modes !== undefined && !isStrings(modes)) {
    return { reason: "modes are not strings" };
  }
  if (failures !== undefined && !Number.isInteger(failures)) {
    return { reason: "close_failures is no integer" };
  }
  if (configuration.toolSearch) {
    return { reason: "Tool search is not supported" };
  }
  return undefined;
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) &&
    value.every((item) => typeof item === "string");
}

function checkInput(input: MessageInput): Refusal | undefined {
  return hasImages(input) ? { reason: "Images are not supported" } : undefined;
}

async function prepare(
  context: DiscoveryContext,
  options: ScriptedHarnessOptions,
  configuration: PreparedConfiguration,
  owner: AbortSignal,
): Promise<Executor> {
  const refusal = checkConfiguration(configuration);
  if (refusal) throw new Error(refusal.reason);
  owner.throwIfAborted();
  const home = join(
    context.stateDirectory,
    encodeURIComponent(configuration.agentStateKey),
  );
  await Deno.mkdir(home, { recursive: true, mode: 0o700 });
  const child = await startProgram(context, options, configuration, home);
  options.onChild?.(child);
  const executor = new ScriptedExecutor(
    child,
    context,
    configuration,
    Number(configuration.harnessConfig.close_failures ?? 0),
  );
  try {
    await within(
      context.clock,
      PREPARATION_MILLISECONDS,
      "preparation",
      executor.greet(home, owner),
    );
    return executor;
  } catch (cause) {
    await discard(executor, cause);
    throw new Error("The preparation failed", { cause });
  }
}

async function discard(
  executor: ScriptedExecutor,
  cause: unknown,
): Promise<void> {
  try {
    await executor.close(new AbortController().signal);
  } catch {
    throw new PreparationFailed("Not proven gone", executor, { cause });
  }
}

function startProgram(
  context: DiscoveryContext,
  options: ScriptedHarnessOptions,
  configuration: PreparedConfiguration,
  home: string,
): Promise<Child> {
  const { environment } = configuration;
  const modes = (configuration.harnessConfig.modes ?? []) as string[];
  const denoDirectory = context.environment.DENO_DIR ??
    join(context.environment.HOME ?? home, ".cache", "deno");
  return context.spawn({
    ...commandLine(modes),
    workingDirectory: environment.kind === "local"
      ? environment.workspaceRoot
      : home,
    environment: childEnvironment({
      source: context.environment,
      operatingSystem: context.operatingSystem,
      home,
      additions: {
        DENO_DIR: denoDirectory,
        ...(environment.kind === "local" ? environment.toolEnvironment : {}),
      },
    }),
    name: "contract program",
    clock: context.clock,
    log: context.log,
    closeGrace: options.closeGrace ?? CLOSE_GRACE,
    maximumLineBytes: MAXIMUM_LINE_BYTES,
    secrets: ["secret-canary", ...secretsOf(configuration)],
  });
}

function secretsOf(configuration: PreparedConfiguration): string[] {
  const servers = configuration.mcpServers ?? [];
  return [
    configuration.modelProvider?.api_key,
    ...servers.map((server) =>
      server.transport === "http" ? server.bearerToken : undefined
    ),
  ].filter((secret) => secret !== undefined);
}

function commandLine(
  modes: readonly string[],
): { program: string; arguments: string[] } {
  const here = (name: string) =>
    fromFileUrl(new URL(`./${name}`, import.meta.url));
  if (modes.includes("close_stdin")) {
    return { program: "/bin/sh", arguments: [here("close_stdin.sh")] };
  }
  const flags = ["run", "--quiet", "--no-config", "--no-remote", "-A"];
  return {
    program: Deno.execPath(),
    arguments: [...flags, here("program.ts"), ...modes],
  };
}
