/**
 * The `claude` process of one Session over all its Turns. Owns the process, its reader and its
 * scratch files; hands every frame to the Turn in which it belongs and accepts none without one.
 */
import type {
  Executor,
  StartedTurn,
  TurnStart,
} from "../../src/harness/contract.ts";
import { type Child, WriteNotStarted } from "../../src/harness/child.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { deferred } from "../../src/platform/deferred.ts";
import type { Ids } from "../../src/platform/ids.ts";
import type { Log } from "../../src/platform/log.ts";
import type { FunctionTool } from "../../src/protocol/configuration.ts";
import { asError } from "./as_error.ts";
import { abortable } from "./abortable.ts";
import { ControlChannel } from "./control_channel.ts";
import {
  INVALID_PARAMETERS,
  rpcError,
  serveFunctions,
} from "./function_server.ts";
import { checkClaudeInput } from "./input.ts";
import { readAsk } from "./interactions.ts";
import { FUNCTION_SERVER } from "./kind.ts";
import type { McpTools } from "./mcp_tools.ts";
import {
  type NativeFrame,
  type NativeFrames,
  readFrame,
} from "./native_frames.ts";
import type { NativeSession } from "./native_session.ts";
import { type ToolInventory, verifyTools } from "./tool_inventory.ts";
import { ClaudeTurn, type TurnHost } from "./turn.ts";
import { safeCause } from "./turn_end.ts";

/** What one Executor is made of. */
export interface ExecutorParts {
  readonly child: Child;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly session: NativeSession;
  readonly inventory: ToolInventory;
  readonly mcp: McpTools;
  readonly functionTools: readonly FunctionTool[];
  readonly observeMessages: boolean;
  readonly structuredOutput: boolean;
  readonly asks: boolean;
  /** Runs once after the process is proven gone. */
  readonly released: () => Promise<void>;
}

/** The program began work that no Turn asked for. */
class UnsolicitedWork extends Error {
  override readonly name = "UnsolicitedWork";
  constructor() {
    super("The program works without a Turn");
  }
}

/** The program speaks for another Session, or cannot confirm what Turns rest on. */
class SessionMismatch extends Error {
  override readonly name = "SessionMismatch";
}

/** Features without which neither a cancellation nor an input receipt can be proven. */
const REQUIRED_FEATURES = [
  "interrupt_cancel_queued_v1",
  "msg_lifecycle_v1",
] as const;

/** See the file comment. */
export class ClaudeExecutor implements Executor {
  readonly control: ControlChannel;
  readonly #retired = deferred<string>();
  readonly #startupFailure = deferred<never>();
  #turn: ClaudeTurn | undefined;
  #prepared = false;
  #released = false;
  #observedSession: string | undefined;
  #close: Promise<void> | undefined;

  constructor(private readonly parts: ExecutorParts) {
    this.control = new ControlChannel(parts.child, parts.clock, parts.ids);
    void this.#read();
  }

  get retired(): Promise<string> {
    return this.#retired.promise;
  }

  /** Rejects when the program ends or reports a failure before it is prepared. */
  get startupFailure(): Promise<never> {
    return this.#startupFailure.promise;
  }

  /** The program is ready for its first Turn: from now on unasked work is a violation. */
  prepared(): void {
    this.#prepared = true;
  }

  async startTurn(start: TurnStart): Promise<StartedTurn> {
    const refusal = this.#refuseStart(start);
    if (refusal !== undefined) return { error: new Error(refusal) };
    const turn = new ClaudeTurn(this.#host(), start.sink);
    this.#turn = turn; // before the write: frames of the Turn may precede its end
    try {
      await turn.begin(start.input, start.signal);
      return { turn };
    } catch (error) {
      if (error instanceof WriteNotStarted) {
        this.#turn = undefined;
        this.#retire("native_execution_unavailable");
        return { error };
      }
      const failure = asError(error);
      this.#invalidate(failure);
      return { turn, error: failure };
    }
  }

  async close(signal: AbortSignal): Promise<void> {
    this.#retire("executor_closed");
    this.#close ??= this.#closeOnce().finally(() => {
      this.#close = undefined; // a failed attempt may be repeated; a repeated success is harmless
    });
    await abortable(this.#close, signal);
  }

  async #closeOnce(): Promise<void> {
    await this.parts.child.close();
    this.#invalidate(new Error("The Executor was closed"));
    if (this.#released) return;
    this.#released = true;
    await this.parts.released();
  }

  #refuseStart(start: TurnStart): string | undefined {
    if (start.signal.aborted) return "The start was cancelled";
    if (this.#retired.settled) return "The Executor is retired";
    if (this.#turn && !this.#turn.over) return "A Turn is still active";
    return checkClaudeInput(start.input)?.reason;
  }

  #host(): TurnHost {
    const { parts } = this;
    return {
      clock: parts.clock,
      ids: parts.ids,
      control: this.control,
      observeMessages: parts.observeMessages,
      structuredOutput: parts.structuredOutput,
      asks: parts.asks,
      observedSession: () => this.#observedSession,
      mcpIdentity: (name) => parts.mcp.identity(name),
      offers: (tool) =>
        parts.inventory.expected.has(tool) ||
        parts.mcp.identity(tool) !== undefined,
      write: (value, signal) => parts.child.write(value, signal),
      invalidate: (reason) => this.#invalidate(reason),
    };
  }

  async #read(): Promise<void> {
    try {
      for await (const value of this.parts.child.messages) {
        const frame = readFrame(value);
        if (frame) await this.#take(frame);
      }
      this.#invalidate(new Error("The program ended"));
    } catch (error) {
      this.#invalidate(asError(error));
    }
  }

  async #take(frame: NativeFrame): Promise<void> {
    switch (frame.type) {
      case "control_response":
        this.control.answered(frame);
        return;
      case "control_request":
        // Not awaited: the program may be waiting for us to read while its own input is full.
        this.#serve(frame).catch((error) => this.#invalidate(asError(error)));
        return;
      case "control_cancel_request":
        this.#turn?.askWithdrawn(frame.request_id);
        return;
      default:
        break;
    }
    if (frame.type === "system" && frame.subtype === "init") {
      this.#verify(frame);
    }
    if (this.#turn && !this.#turn.over) {
      await this.#turn.frame(frame);
    } else this.#withoutTurn(frame);
  }

  /** Between Turns only telemetry is in order; work means that something else drives the program. */
  #withoutTurn(frame: NativeFrame): void {
    switch (frame.type) {
      case "result": {
        if (!this.#prepared) {
          const cause = frame.startup_failure_reason ?? frame.subtype;
          this.#startupFailure.reject(
            new Error(`The program did not start: ${safeCause(cause)}`),
          );
          return;
        }
        throw new UnsolicitedWork();
      }
      case "stream_event":
      case "assistant":
        throw new UnsolicitedWork();
      case "user":
        if (frame.isReplay !== true) throw new UnsolicitedWork();
        return;
      default:
        return;
    }
  }

  /** The program's own account of the Session, at the start of every native turn. */
  #verify(frame: NativeFrames["init"]): void {
    const { session, inventory, mcp } = this.parts;
    const expected = this.#observedSession ??
      (session.mode === "unnamed" ? undefined : session.id);
    if (expected !== undefined && frame.session_id !== expected) {
      throw new SessionMismatch("The program speaks for another Session");
    }
    for (const feature of REQUIRED_FEATURES) {
      if (!frame.capabilities.includes(feature)) {
        throw new SessionMismatch("The program lacks a required feature");
      }
    }
    verifyTools(inventory, mcp, frame);
    this.#observedSession = frame.session_id;
  }

  async #serve(frame: NativeFrames["control_request"]): Promise<void> {
    const { request, request_id: id } = frame;
    switch (request.subtype) {
      case "mcp_message":
        if (request["server_name"] === FUNCTION_SERVER) {
          return await this.#serveFunction(id, request["message"]);
        }
        break;
      case "can_use_tool": {
        const ask = readAsk(request);
        if (ask && this.#turn && !this.#turn.over) {
          return await this.#turn.toolAsked(id, ask);
        }
        break;
      }
      default:
        break;
    }
    await this.control.refuse(id, "This request is not served");
  }

  async #serveFunction(id: string, message: unknown): Promise<void> {
    const demand = serveFunctions(this.parts.functionTools, message);
    const answer = (response: unknown) =>
      this.control.reply(id, { mcp_response: response });
    switch (demand.type) {
      case "reply":
        return await answer(demand.response);
      case "cancelled":
        this.#turn?.functionWithdrawn(demand.rpcId);
        return await answer(demand.response);
      case "call":
        if (!this.#turn?.functionCall(demand, answer)) {
          await answer(
            rpcError(demand.rpcId, INVALID_PARAMETERS, "The call is not valid"),
          );
        }
    }
  }

  /** The native state is unknown: the Turn is lost and no other may start. */
  #invalidate(reason: Error): void {
    this.#startupFailure.reject(reason);
    this.control.end(reason);
    if (!this.#retired.settled) {
      this.parts.log.warn("claude_executor_invalidated", { reason });
    }
    this.#retire("executor_invalidated");
    this.#turn?.lost(reason);
  }

  #retire(reason: string): void {
    this.#retired.resolve(reason);
  }
}
