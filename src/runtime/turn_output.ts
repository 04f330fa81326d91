// Owns the bounded queue between a Turn and the connection. The Turn writes, one forwarder reads.
import { type Deferred, deferred } from "../platform/deferred.ts";
import type { TurnEvent, TurnSink } from "../harness/contract.ts";
import { OUTPUT_QUEUE } from "./limits.ts";

/** The sink of one Turn and its reading end. */
export class TurnOutput implements TurnSink {
  readonly #queue: TurnEvent[] = [];
  readonly #writers: { event: TurnEvent; taken: Deferred<void> }[] = [];
  #reader: Deferred<TurnEvent | undefined> | undefined;
  #closed = false;

  /** Whether the Turn, or the Runtime in its place, closed the sink. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Resolves when the queue took the event. After the close events are dropped. */
  send(event: TurnEvent): Promise<void> {
    if (this.#closed) return Promise.resolve();
    if (this.#reader !== undefined) {
      this.#reader.resolve(event);
      this.#reader = undefined;
      return Promise.resolve();
    }
    if (this.#queue.length < OUTPUT_QUEUE) {
      this.#queue.push(event);
      return Promise.resolve();
    }
    const taken = deferred();
    this.#writers.push({ event, taken });
    return taken.promise;
  }

  /** Ends the stream behind what was sent. Later calls change nothing. */
  close(): void {
    this.#closed = true;
    this.#reader?.resolve(undefined);
    this.#reader = undefined;
  }

  /** The next event, or `undefined` at the end. One reader, one call at a time. */
  next(): Promise<TurnEvent | undefined> {
    const event = this.#queue.shift();
    if (event !== undefined) {
      const writer = this.#writers.shift();
      if (writer !== undefined) {
        this.#queue.push(writer.event);
        writer.taken.resolve();
      }
      return Promise.resolve(event);
    }
    if (this.#closed) return Promise.resolve(undefined);
    this.#reader = deferred<TurnEvent | undefined>();
    return this.#reader.promise;
  }
}
