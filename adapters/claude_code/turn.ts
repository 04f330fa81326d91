/**
 * One Turn of Core on the program, over as many native turns as its messages need. Owns admission
 * of active input, cancellation and settlement; what the frames mean is `turn_reader.ts`.
 */
import {
  type ActiveInput,
  type Settlement,
  type Turn,
  type TurnSink,
  UnknownInteraction,
} from "../../src/harness/contract.ts";
import { within } from "../../src/platform/clock.ts";
import { deferred } from "../../src/platform/deferred.ts";
import type { FunctionResult } from "../../src/protocol/functions.ts";
import type {
  PermissionDecision,
  UserChoiceDecision,
} from "../../src/protocol/interactions.ts";
import type { MessageInput } from "../../src/protocol/message_input.ts";
import type { Done } from "../../src/protocol/run_output.ts";
import { abortable } from "./abortable.ts";
import {
  type ActiveInputHost,
  ActiveInputs,
  type Admission,
} from "./active_input.ts";
import type { ControlChannel } from "./control_channel.ts";
import { FunctionCalls, ResultRefused } from "./function_calls.ts";
import { userLine } from "./input.ts";
import { InputLedger } from "./input_ledger.ts";
import { ASKING_TOOL, Interactions, type NativeAsk } from "./interactions.ts";
import { CLAUDE_SESSION_TYPE } from "./kind.ts";
import type { NativeFrame } from "./native_frames.ts";
import { RunUsage } from "./run_usage.ts";
import { StructuredOutput } from "./structured_output.ts";
import { TextItems } from "./text_items.ts";
import { type McpIdentity, ToolObservations } from "./tool_observations.ts";
import { TurnOutput } from "./turn_output.ts";
import { TurnReader } from "./turn_reader.ts";

/** What a Turn may use of its Executor. */
export interface TurnHost extends ActiveInputHost {
  readonly control: ControlChannel;
  /** The native Session that the program named, once it did. */
  observedSession(): string | undefined;
  readonly observeMessages: boolean;
  readonly structuredOutput: boolean;
  /** Whether native questions go to Core. */
  readonly asks: boolean;
  mcpIdentity(name: string): McpIdentity | undefined;
  /** Whether a tool was offered to the model by the configuration. */
  offers(tool: string): boolean;
}

/** The program has this long to prove an interrupt, children included. */
const CANCEL_MILLISECONDS = 10_000;
/** The program has this long to show that it took a decision or a result. */
const RECEIPT_MILLISECONDS = 10_000;

const OUTSIDE_PROFILE = "The tool is not part of this execution.";

/** See the file comment. */
export class ClaudeTurn implements Turn {
  #phase: "running" | "cancelling" | "settled" = "running";
  readonly #settlement = deferred<Settlement>();
  readonly #output: TurnOutput;
  readonly #reader: TurnReader;
  readonly #ledger = new InputLedger();
  readonly #text: TextItems;
  readonly #tools: ToolObservations;
  readonly #functions: FunctionCalls;
  readonly #interactions: Interactions;
  readonly #usage: RunUsage;
  readonly #active: ActiveInputs;
  #cancellation: Promise<void> | undefined;

  constructor(private readonly host: TurnHost, sink: TurnSink) {
    this.#output = new TurnOutput(sink);
    this.#active = new ActiveInputs(host, this.#ledger);
    const emit = this.#output.emit.bind(this.#output);
    this.#text = new TextItems(host.observeMessages, emit);
    this.#tools = new ToolObservations(emit, (name) => host.mcpIdentity(name));
    this.#functions = new FunctionCalls(emit);
    this.#usage = new RunUsage(emit);
    this.#interactions = new Interactions(
      emit,
      host.ids,
      (id, body) => host.control.reply(id, body),
    );
    this.#reader = new TurnReader({
      ledger: this.#ledger,
      text: this.#text,
      tools: this.#tools,
      functions: this.#functions,
      interactions: this.#interactions,
      usage: this.#usage,
      ...(host.structuredOutput
        ? { structured: new StructuredOutput(emit) }
        : {}),
    });
  }

  /** Writes the opening input. Throws as {@linkcode Child.write}. */
  begin(input: MessageInput, signal: AbortSignal): Promise<void> {
    const uuid = this.host.ids.uuid();
    void this.#ledger.add(uuid).catch(() => {}); // only active input has a receipt to give
    return this.host.write(userLine(input, uuid), signal);
  }

  /** Whether the Turn has ended for good, settled or not. */
  get over(): boolean {
    return this.#phase === "settled";
  }

  /** Takes a frame; resolves when the next one may come. Throws when it breaks the protocol. */
  async frame(frame: NativeFrame): Promise<void> {
    if (this.over) return;
    this.#reader.read(frame);
    if (this.#reader.quiescent) this.#finish();
    await this.#output.room();
  }

  /** Offers a function call of the model to Core; false when it cannot be one. */
  functionCall(
    demand: Parameters<FunctionCalls["offer"]>[0],
    answer: (response: unknown) => Promise<void>,
  ): boolean {
    return this.#phase === "running" && this.#functions.offer(demand, answer);
  }

  /** The program gave a function call up. */
  functionWithdrawn(rpcId: string | number): void {
    this.#functions.withdrawn(rpcId);
  }

  /** Decides a tool call of the model, or lets Core decide. */
  async toolAsked(requestId: string, ask: NativeAsk): Promise<void> {
    if (this.#phase !== "running" || !this.host.offers(ask.tool_name)) {
      return await this.#deny(requestId);
    }
    if (ask.tool_name === ASKING_TOOL) {
      const asked = this.host.asks &&
        this.#interactions.askChoice(requestId, ask);
      return asked ? undefined : await this.#deny(requestId);
    }
    // Functions and MCP tools were allowed by Core's own configuration.
    if (this.host.asks && !ask.tool_name.startsWith("mcp__")) {
      this.#interactions.askPermission(requestId, ask);
      return;
    }
    await this.host.control.reply(requestId, {
      behavior: "allow",
      updatedInput: ask.input,
    });
  }

  /** The program took a question back. */
  askWithdrawn(requestId: string): void {
    this.#interactions.withdrawn(requestId);
  }

  /** The native state is unknown from here on: the Turn ends without a settlement. */
  lost(reason: Error): void {
    if (this.over) return;
    this.#closeParts();
    this.#output.emit({
      type: "error",
      payload: { error: "Claude Code: the native execution was lost" },
    });
    this.#end(() => this.#settlement.reject(reason));
  }

  async cancel(signal: AbortSignal): Promise<void> {
    if (!this.over) this.#cancellation ??= this.#runCancel();
    await abortable(this.#settlement.promise, signal);
  }

  cancellationOutcome(): Done {
    return this.#done(this.#text.text);
  }

  awaitSettlement(signal: AbortSignal): Promise<Settlement> {
    return abortable(this.#settlement.promise, signal);
  }

  steerWithReceipt(
    steer: ActiveInput,
    written: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#active.submit(steer, this.#admission(), written, signal);
  }

  async submitFunctionResult(
    result: FunctionResult,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#phase !== "running") {
      throw new UnknownInteraction("The Turn takes no function results");
    }
    const receipt = this.#functions.submit(result);
    try {
      await abortable(this.#receipt("A function receipt", receipt), signal);
    } catch (error) {
      const refused = error instanceof UnknownInteraction ||
        error instanceof ResultRefused || error === signal.reason;
      if (!refused) this.host.invalidate(toError(error));
      throw error;
    }
  }

  async submitPermission(
    requestId: string,
    decision: PermissionDecision,
    signal: AbortSignal,
  ): Promise<void> {
    const applied = this.#interactions.decidePermission(requestId, decision);
    await abortable(this.#receipt("A permission receipt", applied), signal);
  }

  async submitUserChoice(
    askId: string,
    decision: UserChoiceDecision,
    signal: AbortSignal,
  ): Promise<void> {
    const applied = this.#interactions.decideChoice(askId, decision);
    await abortable(this.#receipt("A user choice receipt", applied), signal);
  }

  #receipt(what: string, work: Promise<void>): Promise<void> {
    return within(this.host.clock, RECEIPT_MILLISECONDS, what, work);
  }

  /** Input written after the last message ended would begin work that the Turn no longer awaits. */
  #admission(): Admission {
    if (this.#phase !== "running") return "closed";
    if (!this.#reader.ready) return "not_ready";
    return this.#ledger.allTerminal ? "closed" : "open";
  }

  async #runCancel(): Promise<void> {
    this.#phase = "cancelling";
    this.#reader.cancelling = true;
    this.#functions.dropUnanswered();
    const { clock, control } = this.host;
    try {
      await within(
        clock,
        CANCEL_MILLISECONDS,
        "The cancellation",
        control.request(
          "interrupt",
          { cancel_queued: true },
          CANCEL_MILLISECONDS,
        ).then(() => this.#settlement.promise),
      );
    } catch (error) {
      this.host.invalidate(
        new Error("cancellation_unconfirmed", { cause: error }),
      );
    }
  }

  async #deny(requestId: string): Promise<void> {
    await this.host.control.reply(requestId, {
      behavior: "deny",
      message: OUTSIDE_PROFILE,
    });
  }

  #finish(): void {
    const outcome = this.#reader.outcome;
    const cancelled = this.#phase === "cancelling";
    const unsettled = this.#functions.owesReceipt ||
      (!cancelled && (this.#functions.anyOpen || this.#tools.anyOpen));
    this.#closeParts();
    if (outcome.type === "failed") {
      const { cause, code } = outcome;
      this.#output.emit({
        type: "error",
        payload: {
          error: `Claude Code: the turn ended with ${safeCause(cause)}`,
          ...(code === undefined ? {} : { code }),
        },
      });
    }
    const settlement: Settlement = unsettled
      ? { reusable: false, reason: "unsettled_native_operations" }
      : { reusable: true };
    this.#end(
      () => this.#settlement.resolve(settlement),
      outcome.type === "completed" ? outcome.content : undefined,
    );
  }

  #closeParts(): void {
    this.#interactions.close();
    this.#functions.close();
    this.#tools.close();
  }

  #end(settle: () => void, content = this.#text.text): void {
    this.#phase = "settled";
    this.#output.end({ type: "done", payload: this.#done(content) });
    this.#ledger.close();
    void this.#output.closed.then(settle);
  }

  #done(content: string): Done {
    const session = this.host.observedSession();
    const usage = this.#usage.usage;
    return {
      content,
      ...(usage ? { usage } : {}),
      ...(session === undefined ? {} : {
        metadata: {
          agent_session_id: session,
          agent_session_type: CLAUDE_SESSION_TYPE,
        },
      }),
    };
  }
}

/** Native identifiers only: a newer program might put prose where a word was. */
function safeCause(cause: string): string {
  return /^[a-z][a-z0-9_]{0,63}$/.test(cause) ? cause : "an unknown cause";
}

function toError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value));
}
