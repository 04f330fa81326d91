/**
 * An app-server that says only what a test tells it to: for lost replies, odd orders and other
 * faults that the real program cannot be made to have.
 */
import { CodexExecutor } from "../../../adapters/codex/executor.ts";
import { AppServer } from "../../../adapters/codex/app_server.ts";
import type { SessionHome } from "../../../adapters/codex/home.ts";
import { CODEX_LIMITS } from "../../../adapters/codex/limits.ts";
import type { Child, ChildExit } from "../../../src/harness/child.ts";
import type { StartedTurn, Turn } from "../../../src/harness/contract.ts";
import { type Deferred, deferred } from "../../../src/platform/deferred.ts";
import type { Ids } from "../../../src/platform/ids.ts";
import type { FunctionTool } from "../../../src/protocol/configuration.ts";
import { CollectingSink } from "../../support/collecting_sink.ts";
import { RecordingLog } from "../../support/recording_log.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

/** The thread and the native Turn of every fake. */
export const THREAD = "thread-1";
export const TURN = "turn-1";

/** Never aborts. */
export const never: AbortSignal = new AbortController().signal;

/** A line that the adapter wrote. */
export interface WrittenLine {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** Pipes in memory. `written` keeps every line. */
export class FakeAppServer implements Child {
  readonly pid = 4711;
  readonly written: WrittenLine[] = [];
  failWrites: Error | undefined;
  closes = 0;
  readonly #exit = deferred<ChildExit>();
  readonly #queue: unknown[] = [];
  #wake: Deferred<void> = deferred();
  #failure: Error | undefined;
  #ended = false;
  #waiters: {
    matches: (line: WrittenLine) => boolean;
    found: Deferred<WrittenLine>;
  }[] = [];
  readonly messages: AsyncIterable<unknown> = this.#read();

  get exited(): Promise<ChildExit> {
    return this.#exit.promise;
  }

  write(value: unknown): Promise<void> {
    if (this.failWrites) return Promise.reject(this.failWrites);
    const line = structuredClone(value) as WrittenLine;
    this.written.push(line);
    this.#waiters = this.#waiters.filter(({ matches, found }) => {
      if (!matches(line)) return true;
      found.resolve(line);
      return false;
    });
    return Promise.resolve();
  }

  /** The first written line that matches, past or future. */
  async line(matches: (line: WrittenLine) => boolean): Promise<WrittenLine> {
    const present = this.written.find(matches);
    if (present) return present;
    const found = deferred<WrittenLine>();
    this.#waiters.push({ matches, found });
    return await found.promise;
  }

  /** The first request with this method. */
  request(method: string): Promise<WrittenLine> {
    return this.line((line) => line.method === method);
  }

  /** The methods of everything written, in order. */
  get methods(): string[] {
    return this.written.flatMap(({ method }) => method ?? []);
  }

  /** Says messages, in order. */
  say(...messages: object[]): void {
    this.#queue.push(...messages);
    this.#wake.resolve();
  }

  /** Notifies; thread and Turn are added. */
  notify(method: string, params: object = {}): void {
    this.say({ method, params: { threadId: THREAD, turnId: TURN, ...params } });
  }

  /** Answers the first request with this method. */
  async reply(method: string, result: unknown): Promise<void> {
    const { id } = await this.request(method);
    this.say({ id, result });
  }

  /** The output cannot be followed any more; the process lives. */
  breakOutput(failure: Error): void {
    this.#failure = failure;
    this.#wake.resolve();
  }

  /** The end of the output, as after an exit. */
  end(): void {
    this.#ended = true;
    this.#exit.resolve({ code: 1, signal: null });
    this.#wake.resolve();
  }

  stderrTail(): string {
    return "";
  }

  close(): Promise<void> {
    this.closes++;
    this.end();
    return Promise.resolve();
  }

  kill(): void {
    this.end();
  }

  async *#read(): AsyncGenerator<unknown> {
    for (;;) {
      while (this.#queue.length > 0) yield this.#queue.shift();
      if (this.#failure) throw this.#failure;
      if (this.#ended) return;
      await this.#wake.promise;
      this.#wake = deferred();
    }
  }
}

/** What a test chooses about its Executor. */
export interface FakeOptions {
  readonly functionTools?: readonly FunctionTool[];
  /** The thread has a history. */
  readonly resumed?: boolean;
  /** Native questions go out; otherwise they are declined. */
  readonly asks?: boolean;
}

/** A Turn that runs, and what it emitted. */
export interface RunningTurn {
  readonly turn: Turn;
  readonly sink: CollectingSink;
}

/** An Executor over a fake program. */
export interface FakeCodex extends AsyncDisposable {
  readonly child: FakeAppServer;
  readonly clock: VirtualClock;
  readonly log: RecordingLog;
  readonly executor: CodexExecutor;
  /** Starts a Turn; resolves when its request is written. */
  starting(): Promise<{
    readonly sink: CollectingSink;
    readonly started: Promise<StartedTurn>;
  }>;
  /** Starts a Turn that the program begins. */
  begin(): Promise<RunningTurn>;
}

/** Makes an Executor; the directory for its records is removed with it. */
export async function fakeCodex(options: FakeOptions = {}): Promise<FakeCodex> {
  const directory = await Deno.makeTempDir();
  const child = new FakeAppServer();
  const clock = new VirtualClock();
  const log = new RecordingLog();
  const executor = new CodexExecutor({
    server: await AppServer.start({
      spawn: () => Promise.resolve(child),
      program: "/codex",
      arguments: [],
      workingDirectory: directory,
      environment: {},
      clock,
      log,
      limits: CODEX_LIMITS,
      secrets: [],
    }),
    thread: { id: THREAD, model: "m", resumed: options.resumed ?? false },
    configuration: {
      sessionId: "session",
      agentStateKey: "key",
      requireExistingNativeSession: false,
      harnessConfig: {},
      observeMessages: true,
      observeSubagentIdentities: false,
      disableSubagents: true,
      functionTools: options.functionTools ?? [],
      toolSearch: false,
      environment: { kind: "none" },
    },
    home: homeIn(directory),
    permissions: options.asks ? "ask" : "unattended",
    limits: CODEX_LIMITS,
    clock,
    ids: countingIds(),
    log,
    cleanUp: () => Promise.resolve(),
  });
  const starting = async () => {
    const sink = new CollectingSink();
    const started = executor.startTurn({
      runId: "run",
      input: [{ content: [{ type: "input_text", text: "go" }] }],
      sink,
      signal: never,
    });
    await child.request("turn/start");
    return { sink, started };
  };
  return {
    child,
    clock,
    log,
    executor,
    starting,
    async begin() {
      const { sink, started } = await starting();
      await child.reply("turn/start", { turn: { id: TURN } });
      child.notify("turn/started", {
        turn: { id: TURN, status: "inProgress" },
      });
      const { turn, error } = await started;
      if (!turn) throw error;
      return { turn, sink };
    },
    async [Symbol.asyncDispose]() {
      await executor.close(never);
      await Deno.remove(directory, { recursive: true });
    },
  };
}

/** The engine's own end of the Turn. */
export function terminal(status: string, members: object = {}): object {
  return { turn: { id: TURN, status, ...members } };
}

function homeIn(directory: string): SessionHome {
  return {
    codex: directory,
    home: directory,
    temporary: directory,
    threads: directory,
  };
}

function countingIds(): Ids {
  let count = 0;
  return {
    uuid: () => `id-${++count}`,
    hex: (bytes) => String(++count).padStart(bytes * 2, "0"),
  };
}
