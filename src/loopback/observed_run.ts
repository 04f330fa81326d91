/**
 * Owns what Core observed of one Run: its events in order, its inputs and its outcome. Only `done`
 * or an applied cancellation end a Run; a lost connection leaves it unknown.
 */
import type { Clock } from "../platform/clock.ts";
import { deferred } from "../platform/deferred.ts";
import type { Done, RunError, Usage } from "../protocol/run_output.ts";
import type { PromptSteerAck } from "../protocol/steering.ts";
import { ActiveInputs, type InputDelivery } from "./active_inputs.ts";
import {
  type LossReason,
  ObservationLost,
  ProtocolViolation,
} from "./observation.ts";
import { OutputRules } from "./output_rules.ts";
import type { Preparation } from "./preparation.ts";
import type { Receipt } from "./receipts.ts";
import { EventQueue, type RunEvent } from "./run_events.ts";

/** Whether the reservation moved to the Run. `started` is no completion. */
export type StartOutcome =
  | { readonly kind: "started" }
  /** No input reached the model. */
  | { readonly kind: "rejected" | "failed"; readonly code: string }
  | { readonly kind: "expired" }
  | { readonly kind: "lost"; readonly reason: LossReason };

/** What a Run came to. `failed` is an engine failure; `unknown` is a lost observation. */
export type RunOutcome =
  | { readonly kind: "completed"; readonly done: Done; readonly usage?: Usage }
  | {
    readonly kind: "failed";
    readonly error: RunError;
    readonly done: Done;
    readonly usage?: Usage;
  }
  | { readonly kind: "cancelled"; readonly outcome: Done }
  | { readonly kind: "not_started"; readonly start: StartOutcome }
  | {
    readonly kind: "unknown";
    readonly reason: LossReason | "cancel_unconfirmed" | "subscriber_overflow";
  };

/** One Run under observation. Iterate it for its events; the end is in {@linkcode outcome}. */
export class ObservedRun implements AsyncIterable<RunEvent> {
  readonly #events = new EventQueue();
  readonly #started = deferred<StartOutcome>();
  readonly #outcome = deferred<RunOutcome>();
  readonly #inputs: ActiveInputs;
  readonly #rules: OutputRules;
  #openCancels = 0;
  #cancelUnconfirmed = false;
  #done: Done | undefined;
  #error: RunError | undefined;
  #usage: Usage | undefined;
  #closed = false;
  #word = "open";

  constructor(
    readonly runId: string,
    readonly preparation: Preparation,
    clock: Clock,
  ) {
    this.#inputs = new ActiveInputs(clock);
    this.#rules = new OutputRules(preparation.request);
  }

  /** Settles at `started`, or when the start did not happen. Output may come earlier. */
  get started(): Promise<StartOutcome> {
    return this.#started.promise;
  }

  /** Settles once, at the first proof or at the loss of the observation. */
  get outcome(): Promise<RunOutcome> {
    return this.#outcome.promise;
  }

  /** Whether `done` was observed or a cancellation applied: no output may follow. */
  get closed(): boolean {
    return this.#closed;
  }

  /** One word for a report. */
  get word(): string {
    return this.#word;
  }

  /** The last usage: cumulative for this Run, never a sum. */
  get usage(): Usage | undefined {
    return this.#usage;
  }

  /** Whether this permission request or question is open on this Run. */
  hasOpenInteraction(interactionId: string): boolean {
    return this.#rules.isOpen(interactionId);
  }

  /** An applied decision or a withdrawal closed the interaction. */
  closeInteraction(interactionId: string): void {
    this.#rules.close(interactionId);
  }

  [Symbol.asyncIterator](): AsyncGenerator<RunEvent, void, void> {
    return this.#events[Symbol.asyncIterator]();
  }

  /** Takes the result of the start. */
  observeStart(start: StartOutcome): void {
    if (this.#started.settled) return;
    this.#started.resolve(start);
    if (start.kind === "started" || start.kind === "lost") return;
    this.#closed = true;
    this.#finish({ kind: "not_started", start }, `not_started:${code(start)}`);
  }

  /**
   * Takes one frame of output. False when the observer was too slow: its observation ended.
   *
   * @throws {ProtocolViolation} when the frame cannot be true.
   */
  observe(event: RunEvent): boolean {
    if (this.#closed) {
      throw new ProtocolViolation(event.type, "output after the end of a Run");
    }
    this.#rules.check(event);
    if (event.type === "usage") this.#usage = event.payload;
    if (event.type === "error") {
      if (this.#error) throw new ProtocolViolation("error", "a second error");
      this.#error = event.payload;
    }
    if (event.type === "done") {
      if (this.#inputs.writtenButUnsettled) {
        throw new ProtocolViolation("done", "done before an owed receipt");
      }
      this.#done = event.payload;
      this.#usage = event.payload.usage ?? this.#usage;
      this.#closed = true;
    }
    const taken = this.#events.put(event);
    if (!taken) this.#finish(overflow, "unknown:subscriber_overflow");
    if (this.#done) {
      this.#events.end();
      if (this.#openCancels === 0) this.#decideByDone();
    }
    return taken;
  }

  /** A cancellation was applied: the native Turn has settled, and nothing may follow. */
  observeCancelled(outcome: Done): void {
    this.#closed = true;
    this.#events.end();
    this.#finish({ kind: "cancelled", outcome }, "cancelled");
  }

  /** A cancellation with a receipt was sent: from now on the receipt owns the outcome. */
  async awaitCancel(receipt: Promise<Receipt>): Promise<void> {
    this.#openCancels++;
    const result = await receipt;
    this.#openCancels--;
    if (result.kind === "applied") return;
    // Only an inactive Run leaves the word to its `done`.
    this.#cancelUnconfirmed ||= result.kind !== "refused" ||
      result.code !== "run_inactive";
    if (this.#done && this.#openCancels === 0) this.#decideByDone();
  }

  /** Starts waiting for the receipts of an input. @throws {CoreRuleBroken} see `ActiveInputs`. */
  expectInput(inputId: string): InputDelivery {
    return this.#inputs.expect(inputId);
  }

  /** Takes an input receipt. @throws {ProtocolViolation} see `ActiveInputs`. */
  observeInput(ack: PromptSteerAck): boolean {
    return this.#inputs.take(ack);
  }

  /** Ends the observation without an outcome. */
  lose(reason: LossReason): void {
    this.#started.resolve({ kind: "lost", reason });
    this.#inputs.lose(reason);
    this.#events.fail(new ObservationLost(reason));
    if (this.#done && this.#openCancels === 0) return;
    this.#finish({ kind: "unknown", reason }, `unknown:${reason}`);
  }

  #decideByDone(): void {
    const done = this.#done;
    if (!done) return;
    if (this.#cancelUnconfirmed) {
      this.#finish(
        { kind: "unknown", reason: "cancel_unconfirmed" },
        "unknown:cancel_unconfirmed",
      );
      return;
    }
    const usage = this.#usage ? { usage: this.#usage } : {};
    if (this.#error) {
      const word = `failed:${this.#error.code ?? "unclassified"}`;
      this.#finish(
        { kind: "failed", error: this.#error, done, ...usage },
        word,
      );
    } else this.#finish({ kind: "completed", done, ...usage }, "completed");
  }

  #finish(outcome: RunOutcome, word: string): void {
    if (this.#outcome.settled) return;
    this.#word = word;
    this.#outcome.resolve(outcome);
  }
}

const overflow: RunOutcome = {
  kind: "unknown",
  reason: "subscriber_overflow",
};

function code(start: StartOutcome): string {
  return start.kind === "rejected" || start.kind === "failed"
    ? start.code
    : start.kind;
}
