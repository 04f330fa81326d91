/**
 * Owns the requests that one result frame answers: transfers, workspace operations, suspension. A
 * result without a waiting request is no result; a missing one leaves the effect unknown.
 */
import type { Clock, Timer } from "../platform/clock.ts";
import { type Deferred, deferred } from "../platform/deferred.ts";
import type { CoreFrames } from "../protocol/frames.ts";
import type { RuntimeFrame } from "./inbound_frames.ts";
import { CoreRuleBroken, type LossReason } from "./observation.ts";

/** The result frame of each request type. */
const RESULT_OF = {
  runtime_prepare: "runtime_prepare_result",
  workspace_read: "workspace_read_result",
  workspace_write: "workspace_write_result",
  workspace_export: "workspace_export_result",
  environment_quiesce: "environment_quiesced",
  environment_resume: "environment_resumed",
} as const;

/** A request type that one result frame answers. */
export type ExchangeType = keyof typeof RESULT_OF & keyof CoreFrames;

/** Milliseconds Core waits for each result: reads are short, transfers may apply for long. */
const PATIENCE_MS: Readonly<Record<ExchangeType, number>> = {
  runtime_prepare: 195_000,
  workspace_read: 17_000,
  workspace_write: 195_000,
  workspace_export: 180_000,
  environment_quiesce: 17_000,
  environment_resume: 17_000,
};

/** A result frame of one of these families. */
export type ResultFrame = Extract<
  RuntimeFrame,
  { type: typeof RESULT_OF[ExchangeType] }
>;

/** What came of a request. Without a result its effect is unknown. */
export type ExchangeOutcome =
  | { readonly kind: "result"; readonly frame: ResultFrame }
  | { readonly kind: "unconfirmed" }
  | { readonly kind: "lost"; readonly reason: LossReason };

interface Waiter {
  readonly type: ExchangeType;
  readonly outcome: Deferred<ExchangeOutcome>;
  readonly timer: Timer;
}

/** The open requests of one connection, by envelope id. */
export class Exchanges {
  readonly #waiting = new Map<string, Waiter>();

  constructor(readonly clock: Clock) {}

  /**
   * Starts waiting; call it before the frame is sent.
   *
   * @throws {CoreRuleBroken} when the id is already waiting.
   */
  expect(type: ExchangeType, id: string): Promise<ExchangeOutcome> {
    if (this.#waiting.has(id)) {
      throw new CoreRuleBroken("the request id is already waiting");
    }
    const outcome = deferred<ExchangeOutcome>();
    const timer = this.clock.after(PATIENCE_MS[type], () => {
      this.#waiting.delete(id);
      outcome.resolve({ kind: "unconfirmed" });
    });
    this.#waiting.set(id, { type, outcome, timer });
    return outcome.promise;
  }

  /** Takes a result. False when no request of its family waits under its id. */
  take(frame: ResultFrame): boolean {
    const waiter = this.#waiting.get(frame.id);
    if (!waiter || RESULT_OF[waiter.type] !== frame.type) return false;
    this.#waiting.delete(frame.id);
    waiter.timer.cancel();
    waiter.outcome.resolve({ kind: "result", frame });
    return true;
  }

  /** Ends every wait without an outcome. */
  lose(reason: LossReason): void {
    for (const { outcome, timer } of this.#waiting.values()) {
      timer.cancel();
      outcome.resolve({ kind: "lost", reason });
    }
    this.#waiting.clear();
  }
}
