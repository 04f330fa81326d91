/**
 * Owns the waiting for one receipt each: a decision, a function result, a cancellation. A receipt
 * that does not come within Core's patience is unconfirmed; that says nothing about the effect.
 */
import type { Clock, Timer } from "../platform/clock.ts";
import { type Deferred, deferred } from "../platform/deferred.ts";
import type { InteractionDecisionAck } from "../protocol/decision_ack.ts";
import type { Done } from "../protocol/run_output.ts";
import {
  CoreRuleBroken,
  type LossReason,
  ProtocolViolation,
} from "./observation.ts";

/** Milliseconds Core waits for the receipt of a decision, a function result or a cancellation. */
export const RECEIPT_PATIENCE_MS = 15_000;

/** What is known about a delivery. `applied` is the only proof of an effect. */
export type Receipt =
  | { readonly kind: "applied"; readonly outcome?: Done }
  | { readonly kind: "refused"; readonly code: string }
  /** No receipt in time; the effect is unknown. */
  | { readonly kind: "unconfirmed" }
  /** The observation ended first; the effect is unknown. */
  | { readonly kind: "lost"; readonly reason: LossReason };

/** What was delivered: only a cancellation is answered with an outcome. */
export type DeliveryKind = "cancellation" | "decision";

interface Waiter {
  readonly kind: DeliveryKind;
  readonly correlation: string;
  readonly receipt: Deferred<Receipt>;
  readonly timer: Timer;
}

/** The open deliveries of one connection, by delivery id. */
export class Receipts {
  readonly #waiting = new Map<string, Waiter>();

  constructor(readonly clock: Clock) {}

  /**
   * Starts waiting; call it before the frame is sent. `correlation` is the envelope id that the
   * receipt must carry.
   *
   * @throws {CoreRuleBroken} when the delivery id is already waiting.
   */
  expect(
    deliveryId: string,
    correlation: string,
    kind: DeliveryKind = "decision",
  ): Promise<Receipt> {
    if (this.#waiting.has(deliveryId)) {
      throw new CoreRuleBroken("the delivery id is already waiting");
    }
    const receipt = deferred<Receipt>();
    const timer = this.clock.after(RECEIPT_PATIENCE_MS, () => {
      this.#waiting.delete(deliveryId);
      receipt.resolve({ kind: "unconfirmed" });
    });
    this.#waiting.set(deliveryId, { kind, correlation, receipt, timer });
    return receipt.promise;
  }

  /**
   * Takes a receipt. False when none waits for exactly this delivery and correlation.
   *
   * @throws {ProtocolViolation} when an applied receipt lacks its outcome, or has a foreign one.
   */
  take(id: string, ack: InteractionDecisionAck): boolean {
    const waiter = this.#waiting.get(ack.delivery_id);
    if (!waiter || waiter.correlation !== id) return false;
    const cancelled = ack.applied && waiter.kind === "cancellation";
    if (cancelled !== (ack.outcome !== undefined)) {
      throw new ProtocolViolation(
        "interaction_decision_ack",
        "an outcome belongs to an applied cancellation, and to nothing else",
      );
    }
    this.#waiting.delete(ack.delivery_id);
    waiter.timer.cancel();
    waiter.receipt.resolve(
      ack.applied
        ? {
          kind: "applied",
          ...(ack.outcome ? { outcome: ack.outcome } : {}),
        }
        : { kind: "refused", code: ack.error_code ?? "" },
    );
    return true;
  }

  /** Ends every wait without an outcome. */
  lose(reason: LossReason): void {
    for (const { receipt, timer } of this.#waiting.values()) {
      timer.cancel();
      receipt.resolve({ kind: "lost", reason });
    }
    this.#waiting.clear();
  }
}
