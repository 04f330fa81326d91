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
import { type FunctionCalls, ResultRefused } from "./function_calls.ts";
import { userLine } from "./input.ts";
import { judgeTool, type NativeAsk } from "./interactions.ts";
import type { NativeFrame } from "./native_frames.ts";
import { LOST, nativeDone, nativeFailure } from "./turn_end.ts";
import { TurnOutput } from "./turn_output.ts";
import { turnParts, type TurnPartsHost } from "./turn_parts.ts";
import { type TurnParts, TurnReader } from "./turn_reader.ts";

/** What a Turn may use of its Executor. */
export interface TurnHost extends ActiveInputHost, TurnPartsHost {
  readonly control: ControlChannel;
  /** The native Session that the program named, once it did. */
  observedSession(): string | undefined;
  /** Whether native questions go to Core. */
  readonly asks: boolean;
  /** Whether a tool was offered to the model by the configuration. */
  offers(tool: string): boolean;
}

/** The program has this long to prove an interrupt, children included. */
const CANCEL_MILLISECONDS = 10_000;
/** The program has this long to show that it took a decision or a result. */
const RECEIPT_MILLISECONDS = 10_000;

const UNSETTLED = "unsettled_native_operations";

const DENIED = {
  behavior: "deny",
  message: "The tool is not part of this execution.",
} as const;

/** See the file comment. */
export class ClaudeTurn implements Turn {
  #phase: "running" | "cancelling" | "settled" = "running";
  readonly #settlement = deferred<Settlement>();
  readonly #output: TurnOutput;
  readonly #parts: TurnParts;
  readonly #reader: TurnReader;
  readonly #active: ActiveInputs;
  #cancellation: Promise<void> | undefined;
  /** The content of `done`, once it is decided. */
  #final: string | undefined;

  constructor(private readonly host: TurnHost, sink: TurnSink) {
    this.#output = new TurnOutput(sink);
    this.#parts = turnParts(host, (event) => this.#output.emit(event));
    this.#active = new ActiveInputs(host, this.#parts.ledger);
    this.#reader = new TurnReader(this.#parts);
  }

  /** Writes the opening input. Throws as {@linkcode Child.write}. */
  begin(input: MessageInput, signal: AbortSignal): Promise<void> {
    const uuid = this.host.ids.uuid();
    void this.#parts.ledger.add(uuid).catch(() => {}); // only active input has a receipt to give
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
    return this.#phase === "running" &&
      this.#parts.functions.offer(demand, answer);
  }

  /** The program gave a function call up. */
  functionWithdrawn(rpcId: string | number): void {
    this.#parts.functions.withdrawn(rpcId);
  }

  /** Decides a tool call of the model, or lets Core decide. */
  async toolAsked(requestId: string, ask: NativeAsk): Promise<void> {
    const open = this.#phase === "running" && this.host.offers(ask.tool_name);
    const verdict = open ? judgeTool(ask, this.host.asks) : "deny";
    switch (verdict) {
      case "ask":
        return this.#parts.interactions.askPermission(requestId, ask);
      case "choose":
        if (this.#parts.interactions.askChoice(requestId, ask)) return;
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
    this.#parts.interactions.withdrawn(requestId);
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
    return this.#done(this.#final ?? this.#parts.text.text);
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
    const receipt = this.#parts.functions.submit(result);
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
    const applied = this.#parts.interactions.decidePermission(
      requestId,
      decision,
    );
    await abortable(this.#receipt("A permission receipt", applied), signal);
  }

  async submitUserChoice(
    askId: string,
    decision: UserChoiceDecision,
    signal: AbortSignal,
  ): Promise<void> {
    const applied = this.#parts.interactions.decideChoice(askId, decision);
    await abortable(this.#receipt("A user choice receipt", applied), signal);
  }

  #receipt(what: string, work: Promise<void>): Promise<void> {
    return within(this.host.clock, RECEIPT_MILLISECONDS, what, work);
  }

  /** Input written after the last message ended would begin work that the Turn no longer awaits. */
  #admission(): Admission {
    if (this.#phase !== "running") return "closed";
    if (!this.#reader.ready) return "not_ready";
    return this.#parts.ledger.allTerminal ? "closed" : "open";
  }

  async #runCancel(): Promise<void> {
    this.#phase = "cancelling";
    this.#reader.cancelling = true;
    this.#parts.functions.dropUnanswered();
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
    // A submitted result without its receipt: nobody knows whether the model got it.
    const unconfirmed = this.#parts.functions.owesReceipt;
    const open = !cancelled &&
      (this.#parts.functions.anyOpen || this.#parts.tools.anyOpen);
    this.#closeParts();
    if (outcome.type === "failed") {
      this.#output.emit({ type: "error", payload: nativeFailure(outcome) });
    }
    const content = outcome.type === "completed" ? outcome.content : undefined;
    if (unconfirmed) {
      const reason = new Error(UNSETTLED);
      this.#end(() => this.#settlement.reject(reason), content);
      this.host.invalidate(reason);
      return;
    }
    const settlement: Settlement = open
      ? { reusable: false, reason: UNSETTLED }
      : { reusable: true };
    this.#end(() => this.#settlement.resolve(settlement), content);
    if (open) this.host.invalidate(new Error(UNSETTLED));
  }

  #closeParts(): void {
    this.#parts.interactions.close();
    this.#parts.functions.close();
    this.#parts.tools.close();
  }

  #end(settle: () => void, content = this.#parts.text.text): void {
    this.#phase = "settled";
    this.#final = content;
    this.#output.end({ type: "done", payload: this.#done(content) });
    this.#parts.ledger.close();
    void this.#output.closed.then(settle);
  }

  #done(content: string): Done {
    return nativeDone(
      content,
      this.#parts.usage.usage,
      this.host.observedSession(),
    );
  }
}
