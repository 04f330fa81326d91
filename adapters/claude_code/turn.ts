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
import { asError } from "./as_error.ts";
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
import { Interactions, judgeTool, type NativeAsk } from "./interactions.ts";
import type { NativeFrame } from "./native_frames.ts";
import { RunUsage } from "./run_usage.ts";
import { StructuredOutput } from "./structured_output.ts";
import { TextItems } from "./text_items.ts";
import { type McpIdentity, ToolObservations } from "./tool_observations.ts";
import { LOST, nativeDone, nativeFailure } from "./turn_end.ts";
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

const DENIED = {
  behavior: "deny",
  message: "The tool is not part of this execution.",
} as const;

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
    const open = this.#phase === "running" && this.host.offers(ask.tool_name);
    const verdict = open ? judgeTool(ask, this.host.asks) : "deny";
    switch (verdict) {
      case "ask":
        return this.#interactions.askPermission(requestId, ask);
      case "choose":
        if (this.#interactions.askChoice(requestId, ask)) return;
        return await this.host.control.reply(requestId, DENIED);
      case "allow":
        return await this.host.control.reply(requestId, {
          behavior: "allow",
          updatedInput: ask.input,
        });
      case "deny":
        return await this.host.control.reply(requestId, DENIED);
    }
  }

  /** The program took a question back. */
  askWithdrawn(requestId: string): void {
    this.#interactions.withdrawn(requestId);
  }

  /** The native state is unknown from here on: the Turn ends without a settlement. */
  lost(reason: Error): void {
    if (this.over) return;
    this.#closeParts();
    this.#output.emit({ type: "error", payload: LOST });
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
      if (!refused) this.host.invalidate(asError(error));
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

  #finish(): void {
    const outcome = this.#reader.outcome;
    const cancelled = this.#phase === "cancelling";
    const unsettled = this.#functions.owesReceipt ||
      (!cancelled && (this.#functions.anyOpen || this.#tools.anyOpen));
    this.#closeParts();
    if (outcome.type === "failed") {
      this.#output.emit({ type: "error", payload: nativeFailure(outcome) });
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
    return nativeDone(
      content,
      this.#usage.usage,
      this.host.observedSession(),
    );
  }
}
