import { WriteNotStarted } from "../../../src/harness/child.ts";
import {
  type ActiveInput,
  type Settlement,
  SteeringRefused,
  type Turn,
  UnsupportedOperation,
} from "../../../src/harness/contract.ts";
import { sleep } from "../../../src/platform/clock.ts";
import { type Deferred, deferred } from "../../../src/platform/deferred.ts";
import type { FunctionResult } from "../../../src/protocol/functions.ts";
import type {
  PermissionDecision,
  UserChoiceDecision,
} from "../../../src/protocol/interactions.ts";
import { flattenText } from "../../../src/protocol/message_input.ts";
import type { Done } from "../../../src/protocol/run_output.ts";
import { aborted } from "./aborted.ts";
import { ScriptedOutput } from "./output.ts";
import { questionEvent, toolEvent } from "./events.ts";
import { ScriptedInteractions } from "./interactions.ts";
import type { ScriptedTurnParts } from "./turn_parts.ts";
import type { NativeMessage } from "./native_messages.ts";

/** Milliseconds for the end after a cancel. */
const CANCEL_MILLISECONDS = 10_000;
/** One exchange with the program. */
export class ScriptedTurn implements Turn {
  readonly id: string;
  readonly #parts: ScriptedTurnParts;
  readonly #settlement = deferred<Settlement>();
  readonly #interactions: ScriptedInteractions;
  readonly #output: ScriptedOutput;
  #started = false;
  #ended = false;
  #cancelling: Promise<void> | undefined;
  readonly #noLongerCancelling = new AbortController();
  #input:
    | { readonly id: string; readonly consumed: Deferred<void> }
    | undefined;

  constructor(id: string, parts: ScriptedTurnParts) {
    this.id = id;
    this.#parts = parts;
    this.#output = new ScriptedOutput(id, parts);
    this.#interactions = new ScriptedInteractions(parts);
  }

  get settled(): boolean {
    return this.#settlement.settled;
  }

  cancel(signal: AbortSignal): Promise<void> {
    if (this.#ended) return Promise.resolve();
    this.#cancelling ??= this.#cancel(signal);
    return this.#cancelling;
  }

  cancellationOutcome(): Done {
    return this.#output.snapshot();
  }

  awaitSettlement(signal: AbortSignal): Promise<Settlement> {
    return Promise.race([this.#settlement.promise, aborted(signal)]);
  }

  async steerWithReceipt(
    steer: ActiveInput,
    written: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#ended || this.#cancelling) throw refused("inactive");
    if (!this.#started) throw refused("not_ready");
    const text = flattenText(steer.input);
    if (this.#input || !text.ok) throw refused("rejected");
    const input = { id: steer.inputId, consumed: deferred() };
    this.#input = input;
    try {
      await this.#parts.child.write(
        { type: "steer", turn: this.id, input: input.id, text: text.value },
        signal,
      );
      written();
      await Promise.race([input.consumed.promise, aborted(signal)]);
    } catch (error) {
      if (error instanceof WriteNotStarted) throw refused("rejected");
      throw error;
    } finally {
      if (this.#input === input) this.#input = undefined;
    }
  }

  async submitFunctionResult(
    result: FunctionResult,
    signal: AbortSignal,
  ): Promise<void> {
    if (result.content.some((part) => part.type === "input_image")) {
      throw new UnsupportedOperation("Function results hold no images");
    }
    await this.#interactions.submit(result.call_id, "call", {
      type: "result",
      turn: this.id,
      call: result.call_id,
      success: result.success,
      content: result.content,
    }, signal);
  }

  async submitPermission(
    requestId: string,
    decision: PermissionDecision,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#decide(requestId, decision.approved, signal);
  }

  async submitUserChoice(
    askId: string,
    decision: UserChoiceDecision,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#decide(askId, decision.question_answers ?? [], signal);
  }

  async #decide(
    ask: string,
    decision: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#parts.context.permissions !== "ask") {
      throw new UnsupportedOperation("Nothing is asked here");
    }
    const message = { type: "decision", turn: this.id, ask, decision };
    await this.#interactions.submit(ask, "question", message, signal);
  }

  /** Takes one message of this Turn. */
  async handle(message: NativeMessage): Promise<void> {
    this.#started = true;
    switch (message.type) {
      case "ready":
      case "refused":
        return; // the Executor's
      case "text":
        this.#output.say(message.text);
        break;
      case "thought":
        this.#output.emit({
          type: "thinking",
          payload: { text: message.text },
        });
        break;
      case "usage":
        this.#output.use(message.tokens);
        break;
      case "tool":
        this.#output.emit(toolEvent(message));
        break;
      case "call":
        await this.#call(message);
        break;
      case "permission":
      case "choose":
        await this.#ask(message);
        break;
      case "call_settled":
        this.#interactions.settle(message.call);
        break;
      case "ask_settled":
        this.#interactions.settle(message.ask);
        break;
      case "consumed":
        if (this.#input?.id === message.input) this.#input.consumed.resolve();
        break;
      case "refused_input":
        if (this.#input?.id === message.input) {
          this.#input.consumed.reject(refused("rejected"));
        }
        break;
      case "end":
        return await this.#end(message);
    }
    await this.#output.keepPace();
  }

  /** The process is gone: the Run ends, its outcome stays unproven. */
  async lose(): Promise<void> {
    if (this.#ended) return;
    this.#output.emit({
      type: "error",
      payload: { error: "contract: process lost" },
    });
    await this.#finish();
    this.#settlement.reject(new Error("The process ended before the Turn"));
  }

  async #cancel(signal: AbortSignal): Promise<void> {
    for (const requestId of this.#interactions.stop()) {
      this.#output.emit({ type: "permission_cancel", requestId });
    }
    this.#awaitTerminal();
    try {
      await this.#parts.child.write({ type: "cancel", turn: this.id }, signal);
    } catch (error) {
      this.#unconfirmed();
      throw error;
    }
  }

  /** A cancel without a terminal in time stays unconfirmed, whatever comes later. */
  async #awaitTerminal(): Promise<void> {
    const { signal } = this.#noLongerCancelling;
    try {
      await sleep(this.#parts.context.clock, CANCEL_MILLISECONDS, signal);
    } catch {
      return; // the terminal came, or the process went
    }
    this.#unconfirmed();
  }

  #unconfirmed(): void {
    this.#parts.retire("cancellation_unconfirmed");
    this.#settlement.reject(new Error("The cancellation is unconfirmed"));
  }

  async #call(message: Extract<NativeMessage, { type: "call" }>) {
    const { call, name } = message;
    const { functionTools } = this.#parts.configuration;
    const known = functionTools.some((tool) => tool.name === name);
    if (!known || !this.#interactions.open(call, "call")) {
      // Answered at once: an engine that waits for an unknown function would wait for ever.
      return await this.#answer({ type: "result", call, refused: true });
    }
    this.#output.emit({
      type: "function_call",
      payload: { call_id: call, name, arguments: message.arguments },
    });
  }

  async #ask(
    message: Extract<NativeMessage, { type: "permission" | "choose" }>,
  ) {
    const { ask, type } = message;
    if (this.#parts.context.permissions !== "ask") {
      return await this.#answer({ type: "decision", ask, decision: false });
    }
    if (this.#interactions.open(ask, "question")) {
      this.#output.emit(questionEvent(type, ask));
    }
  }

  /** A native answer of the adapter itself; a broken pipe ends the reading too. */
  async #answer(message: Readonly<Record<string, unknown>>): Promise<void> {
    try {
      await this.#parts.child.write({ ...message, turn: this.id });
    } catch (error) {
      this.#parts.context.log.warn("contract.answer_failed", {
        error: error instanceof Error ? error : String(error),
      });
    }
  }

  async #end(message: Extract<NativeMessage, { type: "end" }>): Promise<void> {
    if (this.#ended) return;
    if (message.status === "completed") this.#output.completeMessage();
    if (message.status === "failed") {
      this.#output.emit({
        type: "error",
        payload: { error: "contract: failed" },
      });
    }
    const unsettled = this.#interactions.awaitsReceipt;
    await this.#finish();
    if (unsettled) {
      const reason = "unsettled_native_operations";
      this.#parts.retire(reason);
      this.#settlement.resolve({ reusable: false, reason });
    } else this.#settlement.resolve({ reusable: true });
  }

  /** Ends everything this Turn has open; what was not confirmed until now never will be. */
  async #finish(): Promise<void> {
    this.#ended = true;
    this.#noLongerCancelling.abort();
    const unknown = new Error("The Turn ended before the receipt");
    this.#interactions.end(unknown);
    this.#input?.consumed.reject(unknown);
    await this.#output.end();
  }
}

function refused(
  refusal: "not_ready" | "inactive" | "rejected",
): SteeringRefused {
  return new SteeringRefused(refusal, `Active input: ${refusal}`);
}
