/**
 * Owns the way of a Turn's events to its sink: in order, one at a time, closed exactly once. The
 * reader of the program never waits for the observer of one event, only for the backlog to shrink.
 */
import type { TurnEvent, TurnSink } from "../../src/harness/contract.ts";
import { type Deferred, deferred } from "../../src/platform/deferred.ts";

/** Events that may wait beyond the sink's own queue before the reader pauses. */
const MAXIMUM_BACKLOG = 256;

/** The events of one Turn. */
export class TurnOutput {
  readonly #backlog: TurnEvent[] = [];
  readonly #closed = deferred();
  #room: Deferred<void> | undefined;
  #sending = false;
  #ended = false;

  constructor(private readonly sink: TurnSink) {}

  /** Queues an event; after {@linkcode TurnOutput.end} nothing is taken any more. */
  emit(event: TurnEvent): void {
    if (this.#ended) return;
    this.#backlog.push(event);
    void this.#drain();
  }

  /** Resolves when the backlog is within its bound. */
  async room(): Promise<void> {
    while (this.#backlog.length >= MAXIMUM_BACKLOG) {
      this.#room ??= deferred();
      await this.#room.promise;
    }
  }

  /** Queues the last event and closes the sink behind it. */
  end(done: TurnEvent): void {
    if (this.#ended) return;
    this.emit(done);
    this.#ended = true;
    void this.#drain();
  }

  /** Resolves when the sink was closed. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  async #drain(): Promise<void> {
    if (this.#sending) return;
    this.#sending = true;
    for (;;) {
      const next = this.#backlog[0];
      if (!next) break;
      await this.sink.send(next);
      this.#backlog.shift();
      if (this.#backlog.length < MAXIMUM_BACKLOG) {
        this.#room?.resolve();
        this.#room = undefined;
      }
    }
    this.#sending = false;
    if (!this.#ended || this.#closed.settled) return;
    this.sink.close();
    this.#closed.resolve();
  }
}
