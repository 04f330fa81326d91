/**
 * A `codex app-server` that does what a test says, for what the real one cannot be made to do:
 * answers in a wrong order, no answers, lies. Speaks through the same child contract.
 */
import { CODEX_LIMITS, type CodexLimits } from "../../adapters/codex/mod.ts";
import {
  type PreparationContext,
  prepareExecutor,
} from "../../adapters/codex/prepare.ts";
import {
  type Child,
  type ChildExit,
  CloseUnconfirmed,
  type SpawnChild,
} from "../../src/harness/child.ts";
import type {
  Executor,
  PreparedConfiguration,
} from "../../src/harness/contract.ts";
import { type Clock, systemClock } from "../../src/platform/clock.ts";
import { type Deferred, deferred } from "../../src/platform/deferred.ts";
import { systemIds } from "../../src/platform/ids.ts";
import { RecordingLog } from "./recording_log.ts";

/** A line the adapter wrote. */
export interface WrittenLine {
  readonly id?: number | string;
  readonly method?: string;
  // deno-lint-ignore no-explicit-any -- tests look into whatever was sent
  readonly params?: any;
  // deno-lint-ignore no-explicit-any -- as above
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string };
}

/** The answer to a request: a result, an error, or silence. */
export type FakeAnswer =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string } }
  | "silence";

export const ROOT = "root-thread";

const NEVER = new AbortController().signal;

/** See the file comment. */
export class FakeCodex {
  readonly lines: WrittenLine[] = [];
  readonly log = new RecordingLog();
  closes = 0;
  /** How many closes fail before one succeeds. */
  failingCloses = 0;
  readonly #answers = new Map<string, (line: WrittenLine) => FakeAnswer>();
  readonly #queue: unknown[] = [];
  readonly #exited = deferred<ChildExit>();
  #reader: Deferred<void> | undefined;
  #waiting: {
    matches: (line: WrittenLine) => boolean;
    found: Deferred<WrittenLine>;
  }[] = [];
  #over = false;

  constructor() {
    const result = (value: unknown) => () => ({ result: value });
    this.on("initialize", result({ userAgent: "fake" }));
    this.on("config/read", result({ config: { mcp_servers: {} } }));
    this.on("configRequirements/read", result({ requirements: null }));
    this.on("thread/start", result({ thread: { id: ROOT }, model: "m" }));
    this.on("turn/start", result({ turn: { id: "turn-1" } }));
    this.on("turn/steer", result({ turnId: "turn-1" }));
    this.on("turn/interrupt", result({}));
    this.on("thread/backgroundTerminals/list", result({ data: [] }));
  }

  /** Decides the answers to one method. */
  on(method: string, answer: (line: WrittenLine) => FakeAnswer): void {
    this.#answers.set(method, answer);
  }

  /** Says a notification about the root thread. */
  say(method: string, params: object = {}): void {
    this.send({ method, params: { threadId: ROOT, ...params } });
  }

  /** Writes any message to stdout. */
  send(message: unknown): void {
    this.#queue.push(message);
    this.#reader?.resolve();
  }

  /** The process exits by itself. */
  exit(): void {
    this.#over = true;
    this.#exited.resolve({ code: 1, signal: null });
    this.#reader?.resolve();
  }

  /** The next line, past or future, that satisfies `matches`. */
  async line(matches: (line: WrittenLine) => boolean): Promise<WrittenLine> {
    const past = this.lines.find(matches);
    if (past) return past;
    const found = deferred<WrittenLine>();
    this.#waiting.push({ matches, found });
    return await found.promise;
  }

  /** Resolves when everything said so far was dispatched: a probe request was answered. */
  async dispatched(): Promise<void> {
    const id = `probe-${this.lines.length}`;
    this.send({ id, method: "test/probe", params: {} });
    await this.line((line) => line.id === id);
  }

  /** How often a method was called. */
  count(method: string): number {
    return this.lines.filter((line) => line.method === method).length;
  }

  readonly spawn: SpawnChild = () => Promise.resolve(this.#child());

  /** A preparation over this process. */
  async prepare(
    directory: string,
    changes: Partial<PreparedConfiguration> = {},
    options: {
      readonly limits?: Partial<CodexLimits>;
      readonly clock?: Clock;
    } = {},
  ): Promise<Executor> {
    const context: PreparationContext = {
      program: "/fake/codex",
      leadingArguments: [],
      pathPrefix: [],
      stateDirectory: directory,
      environment: {},
      operatingSystem: "linux",
      permissions: "ask",
      limits: { ...CODEX_LIMITS, ...options.limits },
      clock: options.clock ?? systemClock,
      ids: systemIds,
      log: this.log,
      spawn: this.spawn,
    };
    return await prepareExecutor(
      context,
      fakeConfiguration(directory, changes),
      NEVER,
    );
  }

  #child(): Child {
    return {
      pid: 1,
      messages: this.#messages(),
      exited: this.#exited.promise,
      write: (value) => {
        this.#written(value as WrittenLine);
        return Promise.resolve();
      },
      stderrTail: () => "",
      close: () => {
        this.closes++;
        if (this.failingCloses-- > 0) {
          return Promise.reject(new CloseUnconfirmed("may still live: 1"));
        }
        this.exit();
        return Promise.resolve();
      },
      kill: () => this.exit(),
    };
  }

  #written(line: WrittenLine): void {
    this.lines.push(line);
    this.#waiting = this.#waiting.filter(({ matches, found }) => {
      if (!matches(line)) return true;
      found.resolve(line);
      return false;
    });
    if (line.method === undefined || line.id === undefined) return;
    const answer = this.#answers.get(line.method)?.(line) ??
      { error: { code: -32600, message: "unknown" } };
    if (answer !== "silence") this.send({ id: line.id, ...answer });
  }

  async *#messages(): AsyncGenerator<unknown> {
    for (;;) {
      while (this.#queue.length > 0) yield this.#queue.shift();
      if (this.#over) return;
      this.#reader = deferred();
      await this.#reader.promise;
    }
  }
}

/** A configuration that needs no model catalogue. */
export function fakeConfiguration(
  directory: string,
  changes: Partial<PreparedConfiguration> = {},
): PreparedConfiguration {
  return {
    sessionId: "session",
    agentStateKey: "agents-api-session",
    requireExistingNativeSession: false,
    model: "m",
    harnessConfig: {},
    observeMessages: true,
    observeSubagentIdentities: false,
    disableSubagents: true,
    functionTools: [],
    toolSearch: false,
    environment: {
      kind: "local",
      workspaceRoot: directory,
      toolEnvironment: {},
      skillDirectories: [],
    },
    ...changes,
  };
}

/** A temporary directory that is removed after `use`. */
export async function withDirectory(
  use: (directory: string) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await use(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
