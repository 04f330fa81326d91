import type { TurnEvent, TurnSink } from "../../src/harness/contract.ts";
import { type Deferred, deferred } from "../../src/platform/deferred.ts";

type EventOf<T extends TurnEvent["type"]> = Extract<TurnEvent, { type: T }>;

/** Keeps every event of one Turn; tests wait on what they need to see. */
export class CollectingSink implements TurnSink {
  readonly events: TurnEvent[] = [];
  readonly #closed = deferred();
  #closes = 0;
  #waiting: {
    readonly matches: (event: TurnEvent) => boolean;
    readonly found: Deferred<TurnEvent>;
  }[] = [];

  /** Resolves when the Turn closed the sink. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** How often it was closed: once, ever. */
  get closes(): number {
    return this.#closes;
  }

  send(event: TurnEvent): Promise<void> {
    this.events.push(event);
    this.#waiting = this.#waiting.filter(({ matches, found }) => {
      if (!matches(event)) return true;
      found.resolve(event);
      return false;
    });
    return Promise.resolve();
  }

  close(): void {
    this.#closes++;
    for (const { found } of this.#waiting) {
      found.reject(new Error("The Turn ended without the awaited event"));
    }
    this.#closed.resolve();
  }

  /** All events of one type, in order. */
  all<T extends TurnEvent["type"]>(type: T): EventOf<T>[] {
    return this.events.filter((event): event is EventOf<T> =>
      event.type === type
    );
  }

  /** The first event of a type, past or future, that satisfies `matches`. */
  async next<T extends TurnEvent["type"]>(
    type: T,
    matches: (event: EventOf<T>) => boolean = () => true,
  ): Promise<EventOf<T>> {
    const wanted = (event: TurnEvent): event is EventOf<T> =>
      event.type === type && matches(event as EventOf<T>);
    const past = this.events.find(wanted);
    if (past) return past as EventOf<T>;
    const found = deferred<TurnEvent>();
    this.#waiting.push({ matches: wanted, found });
    return await found.promise as EventOf<T>;
  }

  /** The text of all deltas. */
  get text(): string {
    return this.all("delta").map(({ payload }) => payload.delta).join("");
  }
}
