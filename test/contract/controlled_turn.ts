/** Owns one native Turn of the controlled Harness: gates for input, results and settlement. */
import { type Deferred, deferred } from "../../src/platform/deferred.ts";
import {
  type ActiveInput,
  type Settlement,
  SteeringRefused,
  type Turn,
  type TurnEvent,
  type TurnStart,
  UnknownInteraction,
} from "../../src/harness/contract.ts";
import type { FunctionResult } from "../../src/protocol/functions.ts";
import type { Done } from "../../src/protocol/run_output.ts";
import { type ControlledHarness, soon } from "./controlled_harness.ts";
import { Inbox } from "./frame_inbox.ts";
import type { Step } from "./scenario.ts";

interface PendingInput {
  readonly written: () => void;
  readonly consumed: Deferred<void>;
}

/** One native Turn. Its input is never taken twice: each call is counted. */
export class ControlledTurn implements Turn {
  readonly #harness: ControlledHarness;
  readonly #start: TurnStart;
  readonly #settled = deferred<Settlement>();
  readonly #cancelled = deferred();
  readonly #inputs = new Inbox<PendingInput>();
  readonly #submissions = new Inbox<Deferred<void>>();
  readonly #pendingInteractions = new Set<string>();
  #input: PendingInput | undefined;
  #done = false;
  #failingCancels: number;

  constructor(harness: ControlledHarness, start: TurnStart) {
    this.#harness = harness;
    this.#start = start;
    this.#failingCancels = harness.plan.failing_cancels;
  }

  /** Resolves when a native cancellation was asked for. */
  get cancelled(): Promise<void> {
    return this.#cancelled.promise;
  }

  cancel(): Promise<void> {
    this.#harness.counts.cancels++;
    if (this.#failingCancels > 0) {
      this.#failingCancels--;
      return Promise.reject(new Error("fixture: cancel failed"));
    }
    this.#cancelled.resolve();
    if (this.#harness.settlesWhenCancelled) this.settle();
    return Promise.resolve();
  }

  cancellationOutcome(): Done {
    return (this.#harness.plan.outcome as Done | undefined) ?? { content: "" };
  }

  awaitSettlement(signal: AbortSignal): Promise<Settlement> {
    return orAbort(this.#settled.promise, signal);
  }

  async steerWithReceipt(
    _steer: ActiveInput,
    written: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    this.#harness.counts.inputs++;
    const consumed = deferred();
    this.#inputs.put({ written, consumed });
    await orAbort(consumed.promise, signal);
  }

  submitFunctionResult(
    result: FunctionResult,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#submit(result.call_id, signal);
  }

  submitPermission(
    requestId: string,
    _decision: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#submit(requestId, signal);
  }

  submitUserChoice(
    askId: string,
    _decision: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#submit(askId, signal);
  }

  /** Carries out a `native` step on this Turn. */
  async act(step: Extract<Step, { step: "native" }>): Promise<void> {
    switch (step.do) {
      case "emit":
        return await this.#emit(step.event as TurnEvent);
      case "write_input":
        this.#input = await this.#inputs.next();
        return this.#input.written();
      case "accept_input":
        return this.#input?.consumed.resolve();
      case "lose_input":
        return this.#input?.consumed.reject(new Error("fixture: lost"));
      case "reject_input":
        this.#input = await this.#inputs.next();
        return this.#input.consumed.reject(
          new SteeringRefused("rejected", "fixture: refused"),
        );
      case "apply":
        return (await this.#submissions.next()).resolve();
      default:
        throw new Error(`a Turn cannot ${step.do}`);
    }
  }

  /** Waits for the native cancellation that a sent cancellation must cause. */
  async awaitCancel(): Promise<void> {
    await soon("a native cancellation", this.#cancelled.promise);
  }

  /** Ends the Turn: its `done` unless the scenario emitted one, then the end of its output. */
  settle(): void {
    if (this.#settled.settled) return;
    this.#input?.consumed.reject(new Error("fixture: the Turn ended"));
    const { reusable } = this.#harness.plan;
    const settlement: Settlement = reusable
      ? { reusable }
      : { reusable, reason: "fixture" };
    this.#settled.resolve(settlement);
    const last = this.#done
      ? Promise.resolve()
      : this.#start.sink.send({ type: "done", payload: { content: "" } });
    void last.then(() => this.#start.sink.close());
  }

  /** Settles when a cancellation was asked for already. */
  settleIfCancelled(): void {
    if (this.#cancelled.settled) this.settle();
  }

  async #emit(event: TurnEvent): Promise<void> {
    if (event.type === "done") this.#done = true;
    if (event.type === "function_call") {
      this.#pendingInteractions.add(event.payload.call_id);
    }
    if (event.type === "permission_request") {
      this.#pendingInteractions.add(event.payload.request_id);
    }
    if (event.type === "prompt_for_user_choice") {
      this.#pendingInteractions.add(event.payload.ask_id);
    }
    if (event.type === "permission_cancel") {
      this.#pendingInteractions.delete(event.requestId);
    }
    await this.#start.sink.send(event);
  }

  async #submit(interactionId: string, signal: AbortSignal): Promise<void> {
    if (!this.#pendingInteractions.has(interactionId)) {
      throw new UnknownInteraction("fixture: not pending");
    }
    this.#harness.counts.submissions++;
    const applied = deferred();
    this.#submissions.put(applied);
    await orAbort(applied.promise, signal);
    this.#pendingInteractions.delete(interactionId);
  }
}

function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), {
      once: true,
    });
    work.then(resolve, reject);
  });
}
