/** A sink that keeps every event and lets a test wait for one. */
import type { TurnEvent, TurnSink } from "../../src/harness/contract.ts";
import { type Deferred, deferred } from "../../src/platform/deferred.ts";

/** Records the events of one Turn; `closed` resolves with the sink. */
export class CollectingSink implements TurnSink {
  readonly events: TurnEvent[] = [];
  readonly #closed = deferred();
  #waiters: {
    readonly matches: (event: TurnEvent) => boolean;
    readonly found: Deferred<TurnEvent>;
  }[] = [];

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  get isClosed(): boolean {
    return this.#closed.settled;
  }

  send(event: TurnEvent): Promise<void> {
    if (this.#closed.settled) throw new Error("An event after the close");
    this.events.push(event);
    this.#waiters = this.#waiters.filter((waiter) => {
      if (!waiter.matches(event)) return true;
      waiter.found.resolve(event);
      return false;
    });
    return Promise.resolve();
  }

  close(): void {
    if (this.#closed.settled) throw new Error("The sink was closed twice");
    this.#closed.resolve();
    for (const waiter of this.#waiters) {
      waiter.found.reject(new Error("The sink closed before the event came"));
    }
  }

  /** The first event of a type, past or future. */
  async first<T extends TurnEvent["type"]>(
    type: T,
    matches: (event: Extract<TurnEvent, { type: T }>) => boolean = () => true,
  ): Promise<Extract<TurnEvent, { type: T }>> {
    const wanted = (event: TurnEvent): boolean =>
      event.type === type && matches(event as Extract<TurnEvent, { type: T }>);
    const present = this.events.find(wanted);
    if (present) return present as Extract<TurnEvent, { type: T }>;
    if (this.isClosed) throw new Error(`No ${type} before the sink closed`);
    const found = deferred<TurnEvent>();
    this.#waiters.push({ matches: wanted, found });
    return await found.promise as Extract<TurnEvent, { type: T }>;
  }

  /** Every event of a type so far. */
  all<T extends TurnEvent["type"]>(
    type: T,
  ): readonly Extract<TurnEvent, { type: T }>[] {
    return this.events.filter((event) => event.type === type) as Extract<
      TurnEvent,
      { type: T }
    >[];
  }

  /** All delta texts in order. */
  get text(): string {
    return this.all("delta").map(({ payload }) => payload.delta).join("");
  }
}
