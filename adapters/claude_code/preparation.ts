/**
 * Starts and verifies a `claude` process for one Session, up to the point where only input is
 * missing. Nothing is written that a model would read, and no provider is contacted.
 */
import {
  type DiscoveryContext,
  type Executor,
  PreparationFailed,
  type PreparedConfiguration,
} from "../../src/harness/contract.ts";
import type { CloseGrace } from "../../src/harness/child.ts";
import { abortable } from "./abortable.ts";
import { checkClaudeConfiguration } from "./configuration.ts";
import { verifyContext } from "./context_report.ts";
import type { FoundProgram } from "./discovery.ts";
import { ClaudeExecutor } from "./executor.ts";
import { initializeRequest, type Launch, launchArguments } from "./launch.ts";
import { launchEnvironment, launchSecrets } from "./launch_environment.ts";
import { McpTools, settleFunctionServer } from "./mcp_tools.ts";
import {
  createNativeHome,
  type HomeLock,
  lockHome,
  nativeHome,
  removeTemporary,
} from "./native_home.ts";
import { chooseSession } from "./native_session.ts";
import { toolInventory } from "./tool_inventory.ts";

/** What all preparations of one discovered program share. */
export interface Preparer {
  readonly context: DiscoveryContext;
  readonly found: FoundProgram;
}

/** The program has this long to answer its first request. */
const INITIALIZE_MILLISECONDS = 30_000;
const CONTROL_MILLISECONDS = 10_000;

/**
 * An idle program ends within 100 ms of the end of its input; one with a running command needs up
 * to two seconds after SIGTERM to stop that command itself.
 */
const CLOSE_GRACE: CloseGrace = {
  afterEndOfInput: 2_000,
  afterTerminate: 3_000,
  afterKill: 5_000,
};

/** The longest line: a whole tool result with an image, doubled for escapes. */
const MAXIMUM_LINE_BYTES = 32 * 1024 * 1024;

/** See {@linkcode ExecutorFactory.prepare}. */
export async function prepareClaude(
  preparer: Preparer,
  configuration: PreparedConfiguration,
  owner: AbortSignal,
): Promise<Executor> {
  const refusal = checkClaudeConfiguration(configuration);
  if (refusal) throw new Error(refusal.reason);
  owner.throwIfAborted();
  const { context } = preparer;
  const home = nativeHome(context.stateDirectory, configuration.agentStateKey);
  await createNativeHome(home);
  const lock = await lockHome(home);
  try {
    await removeTemporary(home); // of a process that was killed
    await createNativeHome(home);
    const session = await chooseSession(home, configuration);
    const inventory = toolInventory(
      configuration,
      context.permissions === "ask",
    );
    const launch: Launch = { configuration, session, inventory, home };
    return await startVerified(preparer, launch, lock, owner);
  } catch (error) {
    // A retained Executor keeps the home until its close is confirmed.
    if (!(error instanceof PreparationFailed && error.retained)) lock.release();
    throw error;
  }
}

async function startVerified(
  preparer: Preparer,
  launch: Launch,
  lock: HomeLock,
  owner: AbortSignal,
): Promise<Executor> {
  const started = await startProcess(preparer, launch, lock);
  const { executor } = started;
  try {
    const failed = executor.startupFailure;
    await abortable(
      Promise.race([verify(started, preparer, launch), failed]),
      owner,
    );
    executor.prepared();
    return executor;
  } catch (error) {
    try {
      await executor.close(new AbortController().signal); // bounded by the grace of the child
    } catch (unconfirmed) {
      throw new PreparationFailed(
        "The preparation failed and its process may live",
        executor,
        { cause: new AggregateError([error, unconfirmed]) },
      );
    }
    throw error;
  }
}

async function startProcess(
  preparer: Preparer,
  launch: Launch,
  lock: HomeLock,
): Promise<Started> {
  const { context } = preparer;
  const { configuration, home } = launch;
  const environment = launchEnvironment(launch, context);
  const child = await context.spawn({
    program: preparer.found.program,
    arguments: [...preparer.found.leadingArguments, ...launchArguments(launch)],
    workingDirectory: configuration.environment.kind === "local"
      ? configuration.environment.workspaceRoot
      : home.work,
    environment,
    name: "claude",
    clock: context.clock,
    log: context.log,
    closeGrace: CLOSE_GRACE,
    maximumLineBytes: MAXIMUM_LINE_BYTES,
    secrets: launchSecrets(configuration, environment),
  });
  const mcp = new McpTools(configuration.mcpServers ?? []);
  const executor = new ClaudeExecutor({
    child,
    clock: context.clock,
    ids: context.ids,
    log: context.log,
    session: launch.session,
    inventory: launch.inventory,
    mcp,
    functionTools: configuration.functionTools,
    observeMessages: configuration.observeMessages,
    structuredOutput:
      configuration.executionControls?.output_format !== undefined,
    asks: context.permissions === "ask",
    released: async () => {
      await removeTemporary(home);
      lock.release();
    },
  });
  return { executor, mcp };
}

interface Started {
  readonly executor: ClaudeExecutor;
  readonly mcp: McpTools;
}

/** Every control that the configuration asks for is checked here, before success. */
async function verify(
  { executor, mcp }: Started,
  preparer: Preparer,
  launch: Launch,
): Promise<void> {
  const { control } = executor;
  const { clock } = preparer.context;
  await control.request(
    "initialize",
    initializeRequest(launch),
    INITIALIZE_MILLISECONDS,
  );
  if (launch.inventory.functions.size > 0) {
    await settleFunctionServer(control, clock);
  }
  await mcp.settle(control, clock);
  // The summary is the program's own estimate; the full report would ask the provider.
  const report = await control.request(
    "get_context_usage",
    { detail: "summary" },
    CONTROL_MILLISECONDS,
  );
  verifyContext(launch.inventory, launch.configuration, report);
}
