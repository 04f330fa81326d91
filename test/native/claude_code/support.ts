/** Runs the real `claude` against a scripted provider, in a home that is checked and removed. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import type {
  DiscoveredHarness,
  Executor,
  PreparedConfiguration,
  Turn,
} from "../../../src/harness/contract.ts";
import type { Child, ChildOptions } from "../../../src/harness/child.ts";
import { spawnChild } from "../../../src/harness/supervised_child.ts";
import {
  MessagesProvider,
  type MessagesScript,
  type ProviderRequest,
} from "../../../src/loopback/messages_provider.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemIds } from "../../../src/platform/ids.ts";
import type { MessageInput } from "../../../src/protocol/message_input.ts";
import { claudeCodeAdapter } from "../../../adapters/claude_code/adapter.ts";
import { CLAUDE_DECLARATION } from "../../../adapters/claude_code/declaration.ts";
import type { CapabilityName } from "../../../src/protocol/capabilities.ts";
import { CollectingSink } from "../../support/collecting_sink.ts";
import { ensureNativePrograms } from "../../support/native_programs.ts";
import { RecordingLog } from "../../support/recording_log.ts";

/** The provider key of all native tests; must be found nowhere but in its request header. */
export const KEY_CANARY = "canary-key-5f2e91";

/** Never aborts. */
export const never: AbortSignal = new AbortController().signal;

/** Environment of the harness under test, beside the defaults. */
export interface LabOptions {
  readonly script?: MessagesScript;
  readonly permissions?: "unattended" | "ask";
  readonly bound?: boolean;
  /** The daemon's own environment, of which nothing unasked may leak. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** One running Turn with its sink. */
export interface RunningTurn {
  readonly turn: Turn;
  readonly sink: CollectingSink;
}

/** A machine for one test: provider, state directory, workspace, and every process started. */
export class ClaudeLab implements AsyncDisposable {
  readonly log = new RecordingLog();
  readonly launches: ChildOptions[] = [];
  readonly children: Child[] = [];
  readonly executors: Executor[] = [];

  private constructor(
    readonly provider: MessagesProvider,
    readonly root: string,
    readonly harness: DiscoveredHarness,
    private readonly hold: { lab?: ClaudeLab },
  ) {
    hold.lab = this;
  }

  /** Discovers the real program and stands ready to prepare Executors. */
  static async open(options: LabOptions = {}): Promise<ClaudeLab> {
    const { claude } = await ensureNativePrograms();
    const root = await Deno.makeTempDir({ prefix: "claude-lab-" });
    await Deno.mkdir(join(root, "state"), { mode: 0o700 });
    await Deno.mkdir(join(root, "workspace"));
    const provider = MessagesProvider.start(options.script);
    const hold: { lab?: ClaudeLab } = {};
    const harness = await claudeCodeAdapter.discover({
      program: claude,
      environment: { PATH: "/usr/bin:/bin", ...options.environment },
      stateDirectory: join(root, "state"),
      bound: options.bound ?? false,
      permissions: options.permissions ?? "unattended",
      operatingSystem: "linux",
      clock: systemClock,
      ids: systemIds,
      log: new RecordingLog(),
      spawn: async (child) => {
        const started = await spawnChild(child);
        hold.lab?.launches.push(child);
        hold.lab?.children.push(started);
        return started;
      },
    });
    if (!harness?.factory) throw new Error(harness?.reason ?? "turned off");
    return new ClaudeLab(provider, root, harness, hold);
  }

  get workspace(): string {
    return join(this.root, "workspace");
  }

  /** A configuration without an Environment; members given replace the defaults. */
  configuration(
    members: Partial<PreparedConfiguration> = {},
  ): PreparedConfiguration {
    const sessionId = members.sessionId ?? crypto.randomUUID();
    return {
      sessionId,
      agentStateKey: `agents-api-${sessionId}`,
      requireExistingNativeSession: false,
      model: "claude-sonnet-4-5",
      systemPrompt: "You are under test.",
      modelProvider: {
        protocol: "anthropic",
        base_url: this.provider.baseUrl,
        api_key: KEY_CANARY,
      },
      harnessConfig: {},
      observeMessages: true,
      observeSubagentIdentities: false,
      disableSubagents: true,
      functionTools: [],
      toolSearch: false,
      environment: { kind: "none" },
      ...members,
    };
  }

  /** The same in the lab's workspace. */
  local(members: Partial<PreparedConfiguration> = {}): PreparedConfiguration {
    return this.configuration({
      environment: {
        kind: "local",
        workspaceRoot: this.workspace,
        toolEnvironment: {},
        skillDirectories: [],
      },
      ...members,
    });
  }

  /** Prepares and remembers an Executor; it is closed with the lab. */
  async prepare(configuration = this.configuration()): Promise<Executor> {
    const { factory } = this.harness;
    if (!factory) throw new Error("No factory");
    const refusal = factory.checkConfiguration(configuration);
    if (refusal) throw new Error(`refused: ${refusal.reason}`);
    const executor = await factory.prepare(configuration, never);
    this.executors.push(executor);
    return executor;
  }

  /** Closes all Executors, proves that no process of ours lives, and removes everything. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      for (const executor of this.executors) await executor.close(never);
      await this.assertNothingLeft();
    } finally {
      for (const child of this.children) child.kill();
      await this.provider[Symbol.asyncDispose]();
      await Deno.remove(this.root, { recursive: true });
    }
  }

  /** No process, no scratch, no secret in any file, argument or log event. */
  async assertNothingLeft(): Promise<void> {
    for (const child of this.children) await child.exited;
    assertEquals(await processesUnder(this.root), []);
    assertEquals(this.provider.strays.map(({ path }) => path), []);
    for (const launch of this.launches) {
      assert(!launch.arguments.join("\n").includes(KEY_CANARY));
    }
    assert(!this.log.text.includes(KEY_CANARY));
  }
}

/**
 * Registers the native test behind one or more claims of the declaration, under the name that the
 * declaration gives it: without the claim, or with another name, there is no such test.
 */
export function proves(
  fields: CapabilityName | readonly CapabilityName[],
  body: () => Promise<void>,
): void {
  const list = typeof fields === "string" ? [fields] : fields;
  const names = new Set(
    list.map((field) => CLAUDE_DECLARATION[field].provenBy),
  );
  const [name] = names;
  if (names.size !== 1 || name === undefined) {
    throw new Error(`One test cannot prove ${list.join(", ")}`);
  }
  Deno.test(name, async () => {
    for (const field of list) {
      assert(CLAUDE_DECLARATION[field].supported !== "never", field);
    }
    await body();
  });
}

/** Registers the native test that shows why a field is not claimed. */
export function refutes(
  field: CapabilityName,
  name: string,
  body: () => Promise<void>,
): void {
  Deno.test(`claude ${field}: ${name}`, async () => {
    assertEquals(CLAUDE_DECLARATION[field].supported, "never");
    await body();
  });
}

/** Starts a Turn that must be accepted. */
export async function start(
  executor: Executor,
  input: MessageInput | string,
  runId = crypto.randomUUID(),
): Promise<RunningTurn> {
  const sink = new CollectingSink();
  const started = await executor.startTurn({
    runId,
    input: typeof input === "string" ? text(input) : input,
    sink,
    signal: never,
  });
  if (!started.turn) throw started.error;
  if (started.error) throw started.error;
  return { turn: started.turn, sink };
}

/** One message of one text. */
export function text(content: string): MessageInput {
  return [{ content: [{ type: "input_text", text: content }] }];
}

/** Starts a Turn and waits until it settled reusable. */
export async function run(
  executor: Executor,
  input: MessageInput | string,
): Promise<CollectingSink> {
  const { turn, sink } = await start(executor, input);
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  assertEquals(sink.closes, 1);
  assertEquals(sink.all("done").length, 1);
  assertEquals(sink.events.at(-1)?.type, "done");
  return sink;
}

/** The text of all blocks of the last user message of a request. */
export function lastUserText(request: ProviderRequest | undefined): string {
  return JSON.stringify(request?.body?.messages.at(-1)?.content ?? null);
}

/** Names of the tools a request offers. */
export function toolNames(request: ProviderRequest | undefined): string[] {
  return (request?.body?.tools ?? []).map(({ name }) => name).sort();
}

/** Process ids whose working directory or environment lies under `root`. */
async function processesUnder(root: string): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(entry.name)) continue;
    try {
      const environment = await Deno.readTextFile(
        `/proc/${entry.name}/environ`,
      );
      const directory = await Deno.readLink(`/proc/${entry.name}/cwd`);
      if (environment.includes(root) || directory.startsWith(root)) {
        found.push(entry.name);
      }
    } catch (error) {
      if (
        !(error instanceof Deno.errors.NotFound) &&
        !(error instanceof Deno.errors.PermissionDenied)
      ) continue; // the process ended while it was looked at
    }
  }
  return found;
}
