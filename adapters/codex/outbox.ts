/**
 * The way of events from the native reader to the sink: in order, without holding the reader until
 * the observer is far behind. A native receipt is never late because an observation waits.
 */
import type { TurnEvent, TurnSink } from "../../src/harness/contract.ts";
import { type Deferred, deferred } from "../../src/platform/deferred.ts";
import { MAX_WAITING_EVENTS } from "./limits.ts";

/** A queue in front of one sink. */
export class Outbox {
  readonly #sink: TurnSink;
  #waiting: TurnEvent[] = [];
  #sending = false;
  #idle: Deferred<void> | undefined;

  constructor(sink: TurnSink) {
    this.#sink = sink;
  }

  /** Queues an event. */
  push(event: TurnEvent): void {
    this.#waiting.push(event);
    if (!this.#sending) this.#drain();
  }

  /** Resolves when fewer events wait than the reader may pile up. */
  async ready(): Promise<void> {
    if (this.#waiting.length >= MAX_WAITING_EVENTS) await this.empty();
  }

  /** Resolves when the sink took everything queued so far. */
  async empty(): Promise<void> {
    if (!this.#sending) return;
    this.#idle ??= deferred();
    await this.#idle.promise;
  }

  async #drain(): Promise<void> {
    this.#sending = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      for (const event of batch) await this.#sink.send(event);
    }
    this.#sending = false;
    this.#idle?.resolve();
    this.#idle = undefined;
  }
}
