/**
 * Owns the active inputs of one Run: one live delivery at a time, `written` before `accepted`, and
 * the two facts kept apart. An input is never sent twice by this Core.
 */
import type { Clock, Timer } from "../platform/clock.ts";
import { type Deferred, deferred } from "../platform/deferred.ts";
import type { PromptSteerAck, SteerErrorCode } from "../protocol/steering.ts";
import {
  CoreRuleBroken,
  type LossReason,
  ProtocolViolation,
} from "./observation.ts";

/** Milliseconds from the delivery that Core waits for `written`. */
export const WRITTEN_PATIENCE_MS = 30_000;

/** How an input ended. Only `accepted` proves consumption. */
export type InputOutcome =
  | { readonly kind: "accepted" }
  | { readonly kind: "refused"; readonly code: SteerErrorCode }
  /** No `written` in time; whether the model will see the input is unknown. */
  | { readonly kind: "unconfirmed" }
  | { readonly kind: "lost"; readonly reason: LossReason };

/** One delivery. */
export interface InputDelivery {
  readonly inputId: string;
  /** True at the native write, false when the input ended without that fact. */
  readonly written: Promise<boolean>;
  readonly settled: Promise<InputOutcome>;
}

interface Entry {
  readonly written: Deferred<boolean>;
  readonly settled: Deferred<InputOutcome>;
  readonly timer: Timer;
  outcome: InputOutcome | undefined;
}

/** Codes that speak of another delivery of the same input id, not of the recorded one. */
const ABOUT_A_DUPLICATE: readonly string[] = ["in_flight", "input_conflict"];

/** The inputs of one Run, by input id. */
export class ActiveInputs {
  readonly #entries = new Map<string, Entry>();

  constructor(readonly clock: Clock) {}

  /** Whether an input has been written natively and waits for its last receipt. */
  get writtenButUnsettled(): boolean {
    return [...this.#entries.values()].some((entry) =>
      !entry.outcome && entry.written.settled
    );
  }

  /**
   * Starts waiting; call it before the frame is sent.
   *
   * @throws {CoreRuleBroken} while another input waits, or for a used input id.
   */
  expect(inputId: string): InputDelivery {
    for (const [id, entry] of this.#entries) {
      if (!entry.outcome) {
        throw new CoreRuleBroken("another input waits for its receipt");
      }
      if (id === inputId && !isRetryable(entry.outcome)) {
        throw new CoreRuleBroken("the input id was delivered before");
      }
    }
    const written = deferred<boolean>();
    const settled = deferred<InputOutcome>();
    const entry: Entry = {
      written,
      settled,
      outcome: undefined,
      timer: this.clock.after(
        WRITTEN_PATIENCE_MS,
        () => settle(entry, { kind: "unconfirmed" }),
      ),
    };
    this.#entries.set(inputId, entry);
    return { inputId, written: written.promise, settled: settled.promise };
  }

  /**
   * Takes a receipt. False when it names an input that was never delivered.
   *
   * @throws {ProtocolViolation} when it contradicts what was proven before.
   */
  take(ack: PromptSteerAck): boolean {
    const entry = this.#entries.get(ack.input_id);
    if (!entry) return false;
    if (ack.written) {
      entry.timer.cancel();
      if (!entry.outcome) entry.written.resolve(true);
      return true;
    }
    if (ack.accepted) {
      if (!entry.written.settled) {
        throw new ProtocolViolation(
          "prompt_steer_ack",
          "accepted before written",
        );
      }
      this.#record(entry, { kind: "accepted" });
      return true;
    }
    const code = ack.error_code as SteerErrorCode;
    const duplicate = ABOUT_A_DUPLICATE.includes(code) &&
      (entry.outcome !== undefined || entry.written.settled);
    if (code !== "in_flight" && !duplicate) {
      this.#record(entry, { kind: "refused", code });
    }
    return true;
  }

  /** Ends every wait without an outcome. */
  lose(reason: LossReason): void {
    for (const entry of this.#entries.values()) {
      settle(entry, { kind: "lost", reason });
    }
  }

  #record(entry: Entry, outcome: InputOutcome): void {
    const known = entry.outcome;
    const repeated = known?.kind === outcome.kind &&
      (known.kind !== "refused" || outcome.kind !== "refused" ||
        known.code === outcome.code);
    if (known && !repeated && known.kind !== "unconfirmed") {
      throw new ProtocolViolation(
        "prompt_steer_ack",
        "contradicts the recorded receipt",
      );
    }
    settle(entry, outcome);
  }
}

function isRetryable(outcome: InputOutcome): boolean {
  return outcome.kind === "refused" &&
    (outcome.code === "not_ready" || outcome.code === "busy");
}

function settle(entry: Entry, outcome: InputOutcome): void {
  entry.timer.cancel();
  if (entry.outcome) return;
  entry.outcome = outcome;
  if (!entry.written.settled) entry.written.resolve(false);
  entry.settled.resolve(outcome);
}
