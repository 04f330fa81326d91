/**
 * Preparation: from a configuration to a process with a bound thread and no input. Whatever fails,
 * the process is ended again before the failure is reported, or handed back with it.
 */
import {
  type Executor,
  PreparationFailed,
  type PreparedConfiguration,
} from "../../src/harness/contract.ts";
import type { SpawnChild } from "../../src/harness/child.ts";
import { childEnvironment } from "../../src/harness/child_environment.ts";
import { judgeVersion } from "../../src/harness/version.ts";
import { type Clock, DeadlineExceeded } from "../../src/platform/clock.ts";
import type { Ids } from "../../src/platform/ids.ts";
import type { Log } from "../../src/platform/log.ts";
import { AppServer } from "./app_server.ts";
import {
  catalogueChanges,
  changeCatalogue,
  removeCatalogue,
  writeCatalogue,
} from "./catalogue.ts";
import { CODEX_VERSIONS } from "./declaration.ts";
import { CodexExecutor } from "./executor.ts";
import {
  linkLogin,
  openSessionHome,
  refuseStoredCredentials,
  type SessionHome,
  unlinkLogin,
} from "./home.ts";
import type { CodexLimits } from "./limits.ts";
import { readCatalogue } from "./native_catalogue.ts";
import { processArguments, threadParameters } from "./options.ts";
import { remains } from "./remains.ts";
import { checkSkills } from "./skills.ts";
import { bindThread } from "./thread.ts";
import { verifyProcess, verifyServers } from "./verification.ts";

/** What every preparation of one discovered program shares. */
export interface PreparationContext {
  readonly program: string;
  /** Before all other arguments: the script, where `program` is its interpreter. */
  readonly leadingArguments: readonly string[];
  /** Directories for the interpreter of `program`. */
  readonly pathPrefix: readonly string[];
  readonly stateDirectory: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly operatingSystem: "linux" | "darwin" | "windows";
  readonly permissions: "unattended" | "ask";
  readonly limits: CodexLimits;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly spawn: SpawnChild;
}

/** See the contract's `prepare`. */
export async function prepareExecutor(
  context: PreparationContext,
  configuration: PreparedConfiguration,
  owner: AbortSignal,
): Promise<Executor> {
  owner.throwIfAborted();
  const { environment } = configuration;
  if (environment.kind === "local") {
    await requireDirectory(environment.workspaceRoot);
    await checkSkills(environment.skillDirectories);
  }
  const home = await openSessionHome(
    context.stateDirectory,
    configuration.agentStateKey,
  );
  if (configuration.mcpServers) await refuseStoredCredentials(home);
  if (configuration.modelProvider) await unlinkLogin(home);
  else await linkLogin(home, context.environment);
  const child = sessionEnvironment(context, home);
  const catalogue = await prepareCatalogue(context, configuration, home, child);
  const cleanUp = async () => {
    if (catalogue !== undefined) await removeCatalogue(catalogue);
  };
  const workingDirectory = environment.kind === "local"
    ? environment.workspaceRoot
    : home.home;
  let server: AppServer;
  try {
    owner.throwIfAborted();
    server = await AppServer.start({
      spawn: context.spawn,
      program: context.program,
      arguments: [
        ...context.leadingArguments,
        ...processArguments(workingDirectory, catalogue),
      ],
      workingDirectory,
      environment: child,
      clock: context.clock,
      log: context.log,
      limits: context.limits,
      secrets: secretsOf(configuration),
    });
  } catch (error) {
    await cleanUp();
    throw error;
  }
  return await bindServer(context, configuration, owner, {
    server,
    home,
    workingDirectory,
    cleanUp,
  });
}

interface Started {
  readonly server: AppServer;
  readonly home: SessionHome;
  readonly workingDirectory: string;
  readonly cleanUp: () => Promise<void>;
}

async function bindServer(
  context: PreparationContext,
  configuration: PreparedConfiguration,
  owner: AbortSignal,
  started: Started,
): Promise<Executor> {
  const { server, home, workingDirectory, cleanUp } = started;
  const { limits } = context;
  const onAbort = () => {
    server.closeProcess().catch((error) =>
      context.log.warn("codex.close.unconfirmed", { error })
    );
  };
  owner.addEventListener("abort", onAbort, { once: true });
  try {
    checkRunningVersion(context, await server.initialize(limits.initialize));
    await verifyProcess(server, configuration, workingDirectory, limits);
    const { environment } = configuration;
    if (
      environment.kind === "local" && environment.skillDirectories.length > 0
    ) {
      await server.rpc.request("skills/extraRoots/set", {
        extraRoots: environment.skillDirectories,
      }, { timeout: limits.request });
    }
    const thread = await bindThread({
      rpc: server.rpc,
      configuration,
      parameters: threadParameters(configuration, workingDirectory, context),
      home,
      workingDirectory,
      limits,
    });
    verifyServers(server, configuration.mcpServers ?? []);
    owner.throwIfAborted();
    return new CodexExecutor({
      ...context,
      server,
      thread,
      configuration,
      home,
      cleanUp,
    });
  } catch (error) {
    throw await abandon(context, started, error);
  } finally {
    owner.removeEventListener("abort", onAbort);
  }
}

/** The program may have been replaced since discovery: what runs must be usable too. */
function checkRunningVersion(
  context: PreparationContext,
  userAgent: string,
): void {
  const [, version = ""] = /\/(\d+\.\d+\.\d+\S*)/.exec(userAgent) ?? [];
  context.log.info("codex.process.started", { version });
  if (judgeVersion(version, CODEX_VERSIONS) === "too_old") {
    throw new Error("codex: the running program is older than supported");
  }
}

/** Ends the process of a failed preparation. What is thrown then holds nothing native. */
async function abandon(
  context: PreparationContext,
  { server, cleanUp }: Started,
  cause: unknown,
): Promise<PreparationFailed> {
  const reason = preparationFailure(cause);
  const close = async () => {
    await server.close();
    await cleanUp();
  };
  try {
    await close();
    return new PreparationFailed(reason);
  } catch (error) {
    context.log.warn("codex.close.unconfirmed", {
      error: error instanceof Error ? error : String(error),
    });
    return new PreparationFailed(reason, remains(close));
  }
}

/** A sentence for the local log; texts of the engine stay out of it. */
function preparationFailure(cause: unknown): string {
  if (cause instanceof DeadlineExceeded) return `codex: ${cause.message}`;
  return cause instanceof Error && cause.message.startsWith("codex: ")
    ? cause.message
    : "codex: the native preparation failed";
}

/** The environment of the process, which native tools inherit: nothing secret is in it. */
function sessionEnvironment(
  context: PreparationContext,
  home: SessionHome,
): Record<string, string> {
  return childEnvironment({
    source: context.environment,
    operatingSystem: context.operatingSystem,
    home: home.home,
    temporaryDirectory: home.temporary,
    pathPrefix: context.pathPrefix,
    additions: { CODEX_HOME: home.codex, DISABLE_TELEMETRY: "1" },
  });
}

async function prepareCatalogue(
  context: PreparationContext,
  configuration: PreparedConfiguration,
  home: SessionHome,
  environment: Record<string, string>,
): Promise<string | undefined> {
  const changes = catalogueChanges(configuration);
  if (!changes) return undefined;
  const native = await readCatalogue(context, home.home, environment);
  const text = changeCatalogue(native, changes, configuration.model);
  return await writeCatalogue(home.codex, text, context.ids.hex(8));
}

/** The engine does not refuse a missing directory. */
async function requireDirectory(path: string): Promise<void> {
  const isDirectory = await Deno.stat(path).then(
    (status) => status.isDirectory,
    () => false, // absent or unreadable: either way no place to work
  );
  if (!isDirectory) throw new Error("codex: the workspace root is missing");
}

function secretsOf(configuration: PreparedConfiguration): string[] {
  const servers = configuration.mcpServers ?? [];
  return [
    configuration.modelProvider?.api_key,
    ...servers.flatMap((server) =>
      server.transport === "http"
        ? [server.bearerToken, ...Object.values(server.headers ?? {})]
        : Object.values(server.environment)
    ),
  ].filter((secret): secret is string => secret !== undefined && secret !== "");
}
