/**
 * A `claude` that says only what a test tells it to: for lost replies, wrong sessions and other
 * faults that the real program cannot be made to have.
 */
import type { Child, ChildExit } from "../../../src/harness/child.ts";
import type { Turn } from "../../../src/harness/contract.ts";
import { type Deferred, deferred } from "../../../src/platform/deferred.ts";
import type { FunctionTool } from "../../../src/protocol/configuration.ts";
import { ClaudeExecutor } from "../../../adapters/claude_code/executor.ts";
import { nativeToolName } from "../../../adapters/claude_code/kind.ts";
import { McpTools } from "../../../adapters/claude_code/mcp_tools.ts";
import { toolInventory } from "../../../adapters/claude_code/tool_inventory.ts";
import { CollectingSink } from "../../support/collecting_sink.ts";
import { RecordingLog } from "../../support/recording_log.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

export const SESSION = "7f1c0f2e-6d6f-4a53-9d3c-0d5a3f0b9a11";

/** Never aborts. */
export const never: AbortSignal = new AbortController().signal;

type Line = {
  readonly type: string;
  readonly uuid?: string;
  readonly request_id?: string;
  readonly request?: {
    readonly subtype: string;
    readonly [member: string]: unknown;
  };
  readonly response?: { readonly [member: string]: unknown };
};

/** Pipes in memory. `written` keeps every line; `hold` makes writes wait. */
export class FakeChild implements Child {
  readonly pid = 4711;
  readonly written: Line[] = [];
  hold: Promise<void> | undefined;
  failWrites: Error | undefined;
  closes = 0;
  closeFailure: Error | undefined;
  readonly #exit = deferred<ChildExit>();
  readonly #queue: unknown[] = [];
  #wake: Deferred<void> = deferred();
  #ended = false;
  #waiters: { matches: (line: Line) => boolean; found: Deferred<Line> }[] = [];

  readonly messages: AsyncIterable<unknown> = this.#read();

  get exited(): Promise<ChildExit> {
    return this.#exit.promise;
  }

  async write(value: unknown): Promise<void> {
    if (this.failWrites) throw this.failWrites;
    const line = value as Line;
    this.written.push(line);
    for (const waiter of this.#waiters) {
      if (waiter.matches(line)) waiter.found.resolve(line);
    }
    await this.hold;
  }

  /** The first written line that matches, past or future. */
  async line(matches: (line: Line) => boolean): Promise<Line> {
    const present = this.written.find(matches);
    if (present) return present;
    const found = deferred<Line>();
    this.#waiters.push({ matches, found });
    return await found.promise;
  }

  /** Says frames, in order. */
  say(...frames: unknown[]): void {
    this.#queue.push(...frames);
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
    if (this.closeFailure) return Promise.reject(this.closeFailure);
    this.end();
    return Promise.resolve();
  }

  kill(): void {
    this.end();
  }

  async *#read(): AsyncGenerator<unknown> {
    for (;;) {
      while (this.#queue.length > 0) yield this.#queue.shift();
      if (this.#ended) return;
      await this.#wake.promise;
      this.#wake = deferred();
    }
  }
}

/** What a test chooses about its Executor. */
export interface FakeOptions {
  readonly functionTools?: readonly FunctionTool[];
  readonly asks?: boolean;
  readonly structuredOutput?: boolean;
  readonly observeMessages?: boolean;
}

/** An Executor over a fake program. */
export class FakeClaude {
  readonly child = new FakeChild();
  readonly clock = new VirtualClock();
  readonly log = new RecordingLog();
  released = 0;
  readonly executor: ClaudeExecutor;
  #ids = 0;

  constructor(readonly options: FakeOptions = {}) {
    const asks = options.asks ?? false;
    const functionTools = options.functionTools ?? [];
    this.executor = new ClaudeExecutor({
      child: this.child,
      clock: this.clock,
      ids: {
        uuid: () => `id-${++this.#ids}`,
        hex: (bytes) => String(++this.#ids).padStart(bytes * 2, "0"),
      },
      log: this.log,
      session: { mode: "new", id: SESSION },
      inventory: toolInventory({
        sessionId: SESSION,
        agentStateKey: "k",
        requireExistingNativeSession: false,
        harnessConfig: {},
        observeMessages: true,
        observeSubagentIdentities: false,
        disableSubagents: true,
        functionTools,
        toolSearch: false,
        environment: { kind: "none" },
      }, asks),
      mcp: new McpTools([]),
      functionTools,
      observeMessages: options.observeMessages ?? true,
      structuredOutput: options.structuredOutput ?? false,
      asks,
      released: () => {
        this.released++;
        return Promise.resolve();
      },
    });
    this.executor.prepared();
  }

  /** Starts a Turn and has the program begin it. */
  async begin(): Promise<{ turn: Turn; sink: CollectingSink; uuid: string }> {
    const sink = new CollectingSink();
    const started = await this.executor.startTurn({
      runId: "run",
      input: [{ content: [{ type: "input_text", text: "go" }] }],
      sink,
      signal: never,
    });
    if (!started.turn) throw started.error;
    const uuid = this.lastUuid;
    this.child.say(
      running(),
      lifecycle(uuid, "queued"),
      lifecycle(uuid, "started"),
      this.init(),
    );
    return { turn: started.turn, sink, uuid };
  }

  /** The uuid of the newest user line. */
  get lastUuid(): string {
    return this.child.written.findLast(({ type }) => type === "user")?.uuid ??
      "";
  }

  init(members: object = {}): unknown {
    const functions = (this.options.functionTools ?? []).map(({ name }) =>
      nativeToolName("functions", name)
    );
    return {
      type: "system",
      subtype: "init",
      session_id: SESSION,
      tools: [
        ...functions,
        ...(this.options.asks ? ["AskUserQuestion"] : []),
      ],
      mcp_servers: functions.length > 0
        ? [{ name: "functions", status: "connected" }]
        : [],
      capabilities: ["interrupt_cancel_queued_v1", "msg_lifecycle_v1"],
      ...members,
    };
  }

  /** Answers the newest control request of a subtype with success. */
  async answer(subtype: string, response: unknown = {}): Promise<void> {
    const line = await this.child.line((each) =>
      each.request?.subtype === subtype
    );
    this.child.say({
      type: "control_response",
      response: { subtype: "success", request_id: line.request_id, response },
    });
  }
}

export function lifecycle(command_uuid: string, state: string): unknown {
  return { type: "command_lifecycle", command_uuid, state };
}

export function running(): unknown {
  return { type: "system", subtype: "session_state_changed", state: "running" };
}

export function idle(): unknown {
  return { type: "system", subtype: "session_state_changed", state: "idle" };
}

let results = 0;

export function result(
  uuids: readonly string[],
  members: object = {},
): unknown {
  return {
    type: "result",
    subtype: "success",
    is_error: false,
    result: "text",
    terminal_reason: "completed",
    session_id: SESSION,
    uuid: `result-${++results}`,
    user_message_uuids: uuids,
    ...members,
  };
}

export function aborted(uuids: readonly string[]): unknown {
  return result(uuids, {
    subtype: "error_during_execution",
    is_error: true,
    terminal_reason: "aborted_streaming",
  });
}

export function stream(event: object, members: object = {}): unknown {
  return { type: "stream_event", parent_tool_use_id: null, event, ...members };
}

export function messageStart(id: string, members: object = {}): unknown {
  return stream({ type: "message_start", message: { id } }, members);
}
