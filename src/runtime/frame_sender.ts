// Owns the budgeted send: what a frame's way to the socket may take and what its end proves.
import { type Clock, deadlineSignal } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Telemetry } from "../platform/telemetry.ts";
import type { Envelope } from "../protocol/envelope.ts";
import { MAX_WAITING_REPLIES, REPLY_BUDGET_MS } from "./limits.ts";
import { countReceipt } from "./receipt_telemetry.ts";
import type { TaskSet } from "./tasks.ts";
import { untilAborted } from "./waiting.ts";

/** One connection's way out. Satisfied by the transport's connection. */
export interface FrameSender {
  /**
   * Resolves when the local write is done, which proves nothing about the peer. Frames leave in the
   * order of the calls. Rejects when the connection ended or `signal` aborted; an aborted frame may
   * still be written. Rejects with an error named `FrameTooLarge`, or a `TypeError`, for a frame
   * that cannot be sent at all; the connection goes on.
   */
  send(envelope: Envelope, signal?: AbortSignal): Promise<void>;
}

/**
 * What a send proved. `unknown`: the frame may or may not have been written. `refused`: this frame
 * can never be sent, and the connection takes others.
 */
export type Delivery = "delivered" | "not_delivered" | "unknown" | "refused";

/** Sends frames within a budget, never later than the router's shutdown. */
export class BudgetedSender {
  #sender: FrameSender;
  readonly #clock: Clock;
  readonly #shutdown: AbortSignal;
  readonly #tasks: TaskSet;
  readonly #log: Log;
  readonly #telemetry: Telemetry;
  #waitingReplies = 0;

  constructor(parts: {
    readonly sender: FrameSender;
    readonly clock: Clock;
    readonly shutdown: AbortSignal;
    readonly tasks: TaskSet;
    readonly log: Log;
    readonly telemetry: Telemetry;
  }) {
    this.#sender = parts.sender;
    this.#clock = parts.clock;
    this.#shutdown = parts.shutdown;
    this.#tasks = parts.tasks;
    this.#log = parts.log;
    this.#telemetry = parts.telemetry;
  }

  /** Sends over another connection from now on: the router of a suspension was resumed there. */
  switchTo(sender: FrameSender): void {
    this.#sender = sender;
  }

  /** Sends within `milliseconds`, or until `signal` aborts. Never throws. */
  async sendWithin(
    milliseconds: number,
    envelope: Envelope,
    signal: AbortSignal = this.#shutdown,
  ): Promise<Delivery> {
    const delivery = await this.#sendWithin(milliseconds, envelope, signal);
    countReceipt(this.#telemetry, envelope, delivery);
    return delivery;
  }

  async #sendWithin(
    milliseconds: number,
    envelope: Envelope,
    signal: AbortSignal,
  ): Promise<Delivery> {
    if (this.#shutdown.aborted || signal.aborted || milliseconds <= 0) {
      return "not_delivered";
    }
    const parent = signal === this.#shutdown
      ? signal
      : AbortSignal.any([signal, this.#shutdown]);
    const deadline = deadlineSignal(
      this.#clock,
      milliseconds,
      envelope.type,
      parent,
    );
    try {
      return await this.#send(envelope, deadline.signal);
    } finally {
      deadline.cancel();
    }
  }

  /** Sends without a time limit: only `signal` or the router's shutdown ends the wait. */
  sendUntil(envelope: Envelope, signal: AbortSignal): Promise<Delivery> {
    if (signal.aborted) return Promise.resolve("not_delivered");
    return this.#send(envelope, signal);
  }

  /**
   * Sends a refusal or receipt as a detached task of 5 s. Dropped with a warning when too many
   * already wait: silence is never taken for a receipt.
   */
  reply(envelope: Envelope): void {
    if (this.#waitingReplies >= MAX_WAITING_REPLIES) {
      this.#log.warn("reply dropped", { type: envelope.type });
      return;
    }
    this.#waitingReplies++;
    this.#tasks.run(`reply ${envelope.type}`, async () => {
      const delivery = await this.sendWithin(REPLY_BUDGET_MS, envelope);
      this.#waitingReplies--;
      if (delivery !== "delivered") {
        this.#log.debug("reply not delivered", { type: envelope.type });
      }
    });
  }

  async #send(envelope: Envelope, signal: AbortSignal): Promise<Delivery> {
    try {
      await untilAborted(
        signal,
        Promise.try(() => this.#sender.send(envelope, signal)),
      );
      return "delivered";
    } catch (error) {
      this.#log.debug("send failed", {
        type: envelope.type,
        error: error instanceof Error ? error : undefined,
      });
      return isRefusal(error) ? "refused" : "unknown";
    }
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof TypeError ||
    (error instanceof Error && error.name === "FrameTooLarge");
}
