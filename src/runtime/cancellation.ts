// Owns `prompt_cancel`: strengthens the claim on a Run and sends the one receipt each delivery id gets.
import { deferred } from "../platform/deferred.ts";
import type { CancelErrorCode } from "../protocol/decision_ack.ts";
import { decodePromptCancel } from "../protocol/cancellation.ts";
import type { Envelope, InboundEnvelope } from "../protocol/envelope.ts";
import { runtimeFrame } from "../protocol/frames.ts";
import {
  CANCEL_RECEIPT_MS,
  MAX_WAITING_CANCELS,
  REPLY_BUDGET_MS,
} from "./limits.ts";
import type { AttemptResult } from "./release.ts";
import type { Run } from "./run.ts";
import type { Runs } from "./runs.ts";
import type { RouterScope } from "./scope.ts";
import type { Settlements } from "./settlement.ts";
import { traceOf } from "./trace.ts";

/** See the file comment. */
export class Cancellations {
  readonly #scope: RouterScope;
  readonly #runs: Runs;
  readonly #settlements: Settlements;

  constructor(scope: RouterScope, runs: Runs, settlements: Settlements) {
    this.#scope = scope;
    this.#runs = runs;
    this.#settlements = settlements;
  }

  /** Handles `prompt_cancel`. A successor of the Run has another id and is never reached. */
  handle(envelope: InboundEnvelope): void {
    const decoded = decodePromptCancel(envelope);
    if (!decoded.ok) return;
    const delivery = {
      runId: envelope.id ?? "",
      deliveryId: decoded.value.delivery_id ?? "",
      trace: traceOf(envelope.trace, this.#scope.ids),
    };
    const run = this.#runs.get(delivery.runId);
    if (run === undefined) {
      if (delivery.deliveryId === "") return;
      return this.#scope.sender.reply(receipt(delivery, "run_inactive"));
    }
    this.#settlements.claim(run, { abort: true, retry: true });
    if (delivery.deliveryId === "") return;
    if (run.waitingCancels >= MAX_WAITING_CANCELS) return;
    run.waitingCancels++;
    this.#scope.tasks.run(`cancellation receipt of run ${run.id}`, async () => {
      await this.#answer(run, delivery);
      run.waitingCancels--;
    });
  }

  /** Waits for the attempt, at most 10 s; afterwards the work goes on without a second receipt. */
  async #answer(run: Run, delivery: Delivery): Promise<void> {
    const { clock, shutdown, sender } = this.#scope;
    const ended = deferred<AttemptResult | "timeout" | "closed">();
    const timer = clock.after(
      CANCEL_RECEIPT_MS,
      () => ended.resolve("timeout"),
    );
    const onShutdown = () => ended.resolve("closed");
    shutdown.addEventListener("abort", onShutdown, { once: true });
    run.release.attempt?.then((result) => ended.resolve(result));
    const end = await ended.promise;
    timer.cancel();
    shutdown.removeEventListener("abort", onShutdown);
    if (end === "closed" || !this.#scope.open) return;
    const frame = end === "timeout"
      ? receipt(delivery, "cancel_timeout")
      : settledReceipt(run, delivery, end);
    const delivered = await sender.sendWithin(REPLY_BUDGET_MS, frame);
    if (delivered !== "refused") return;
    // The outcome does not fit into a frame, so the cancellation cannot be reported as applied.
    await sender.sendWithin(
      REPLY_BUDGET_MS,
      receipt(delivery, "cancel_outcome_unavailable"),
    );
  }
}

interface Delivery {
  readonly runId: string;
  readonly deliveryId: string;
  readonly trace: string;
}

function settledReceipt(
  run: Run,
  delivery: Delivery,
  result: AttemptResult,
): Envelope {
  if (result.kind === "kept" || !result.confirmed) {
    return receipt(delivery, "cancel_failed");
  }
  if (run.lossy) {
    return receipt(delivery, "cancel_output_unavailable");
  }
  const { outcome } = run.release;
  if (outcome === undefined) {
    return receipt(delivery, "cancel_outcome_unavailable");
  }
  return runtimeFrame("interaction_decision_ack", delivery.runId, {
    delivery_id: delivery.deliveryId,
    applied: true,
    outcome,
  }, delivery.trace);
}

function receipt(delivery: Delivery, code: CancelErrorCode): Envelope {
  return runtimeFrame("interaction_decision_ack", delivery.runId, {
    delivery_id: delivery.deliveryId,
    applied: false,
    error_code: code,
  }, delivery.trace);
}
