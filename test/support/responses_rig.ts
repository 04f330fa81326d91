/**
 * The real Codex behind its adapter, against a scripted provider on loopback. Owns temporary
 * directories, the provider and every Executor it prepared; disposing it leaves no process.
 */
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import {
  CODEX_LIMITS,
  type CodexLimits,
  createCodexAdapter,
} from "../../adapters/codex/mod.ts";
import type {
  DiscoveredHarness,
  Executor,
  ExecutorFactory,
  PreparedConfiguration,
  Turn,
} from "../../src/harness/contract.ts";
import { spawnChild } from "../../src/harness/supervised_child.ts";
import type { SpawnChild } from "../../src/harness/child.ts";
import {
  ResponsesProvider,
  type ResponsesScript,
} from "../../src/loopback/responses_provider.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemIds } from "../../src/platform/ids.ts";
import type { MessageInput } from "../../src/protocol/message_input.ts";
import { CollectingSink } from "./collecting_sink.ts";
import { ensureNativePrograms } from "./native_programs.ts";
import { RecordingLog } from "./recording_log.ts";

/** Provider errors at once: the native numbers of retries would take half a minute each. */
export const TEST_LIMITS: CodexLimits = {
  ...CODEX_LIMITS,
  providerRetries: { request: 0, stream: 0 },
};

/** What a test changes about the rig. */
export interface RigOptions {
  readonly script?: ResponsesScript;
  readonly limits?: CodexLimits;
  readonly permissions?: "unattended" | "ask";
  readonly bound?: boolean;
  readonly spawn?: SpawnChild;
  /** The state of another rig, for a second process over the same history. */
  readonly stateDirectory?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** A Turn that runs, with what it emitted. */
export interface RunningTurn {
  readonly turn: Turn;
  readonly sink: CollectingSink;
}

const scratch = fromFileUrl(new URL("../../.harness/tmp", import.meta.url));
const never = new AbortController().signal;

/** See the file comment. */
export class CodexRig implements AsyncDisposable {
  readonly provider: ResponsesProvider;
  readonly log = new RecordingLog();
  readonly root: string;
  readonly stateDirectory: string;
  readonly workspace: string;
  readonly harness: DiscoveredHarness;
  readonly #executors: Executor[] = [];

  private constructor(parts: {
    readonly provider: ResponsesProvider;
    readonly root: string;
    readonly stateDirectory: string;
    readonly workspace: string;
    readonly harness: DiscoveredHarness;
    readonly log: RecordingLog;
  }) {
    this.provider = parts.provider;
    this.root = parts.root;
    this.stateDirectory = parts.stateDirectory;
    this.workspace = parts.workspace;
    this.harness = parts.harness;
    this.log = parts.log;
  }

  /** Discovers the real program. */
  static async start(options: RigOptions = {}): Promise<CodexRig> {
    const { codex } = await ensureNativePrograms();
    await Deno.mkdir(scratch, { recursive: true });
    // Resolved: a checkout may lie behind a link, and processes are found by these paths.
    const root = await Deno.realPath(await Deno.makeTempDir({ dir: scratch }));
    const stateDirectory = options.stateDirectory ?? join(root, "state");
    const workspace = join(root, "workspace");
    await Deno.mkdir(stateDirectory, { recursive: true, mode: 0o700 });
    await Deno.mkdir(workspace);
    const log = new RecordingLog();
    const harness = await createCodexAdapter(options.limits ?? TEST_LIMITS)
      .discover({
        program: codex,
        environment: options.environment ??
          { PATH: Deno.env.get("PATH") ?? "", LANG: "C.UTF-8" },
        stateDirectory,
        bound: options.bound ?? false,
        permissions: options.permissions ?? "unattended",
        operatingSystem: "linux",
        clock: systemClock,
        ids: systemIds,
        log,
        spawn: options.spawn ?? spawnChild,
      });
    assert(harness?.available, harness?.reason);
    const provider = ResponsesProvider.start(options.script);
    return new CodexRig({
      provider,
      root,
      stateDirectory,
      workspace,
      harness,
      log,
    });
  }

  get factory(): ExecutorFactory {
    const { factory } = this.harness;
    assert(factory);
    return factory;
  }

  /** A configuration of a Session without an Environment; `changes` win. */
  configuration(
    changes: Partial<PreparedConfiguration> = {},
  ): PreparedConfiguration {
    return {
      sessionId: "6e8f5b5e-8c0f-4b52-9f6a-0a3f7c1f2a11",
      agentStateKey: "agents-api-6e8f5b5e-8c0f-4b52-9f6a-0a3f7c1f2a11",
      requireExistingNativeSession: false,
      model: "gpt-5.5",
      modelProvider: {
        protocol: "responses",
        base_url: this.provider.baseUrl,
        api_key: "sk-canary-provider",
      },
      harnessConfig: {},
      observeMessages: true,
      observeSubagentIdentities: false,
      disableSubagents: true,
      functionTools: [],
      toolSearch: false,
      environment: { kind: "none" },
      ...changes,
    };
  }

  /** A configuration that works in the rig's workspace. */
  local(changes: Partial<PreparedConfiguration> = {}): PreparedConfiguration {
    return this.configuration({
      environment: {
        kind: "local",
        workspaceRoot: this.workspace,
        toolEnvironment: {},
        skillDirectories: [],
      },
      ...changes,
    });
  }

  async prepare(configuration = this.configuration()): Promise<Executor> {
    const executor = await this.factory.prepare(configuration, never);
    this.#executors.push(executor);
    return executor;
  }

  /** Starts a Turn that must begin. */
  async start(
    executor: Executor,
    input: string | MessageInput,
    runId = "run",
  ): Promise<RunningTurn> {
    const sink = new CollectingSink();
    const started = await executor.startTurn({
      runId,
      input: typeof input === "string" ? textInput(input) : input,
      sink,
      signal: never,
    });
    assertEquals(started.error, undefined);
    assert(started.turn);
    return { turn: started.turn, sink };
  }

  /** Runs a whole Turn and returns what it emitted. */
  async run(
    executor: Executor,
    input: string | MessageInput,
    runId = "run",
  ): Promise<CollectingSink> {
    const { turn, sink } = await this.start(executor, input, runId);
    await sink.closed;
    await turn.awaitSettlement(never);
    return sink;
  }

  async close(executor: Executor): Promise<void> {
    await executor.close(never);
    this.#executors.splice(this.#executors.indexOf(executor), 1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const executor of this.#executors) await executor.close(never);
    await this.provider[Symbol.asyncDispose]();
    await Deno.remove(this.root, { recursive: true });
  }
}

/** One message of one text. */
export function textInput(text: string): MessageInput {
  return [{ content: [{ type: "input_text", text }] }];
}

/** A signal that never aborts. */
export const unbounded: AbortSignal = never;
