import { assert } from "@std/assert";
import type { TurnEvent, TurnSink } from "../../src/harness/contract.ts";

/** Keeps every event of a Turn, lets a test wait for one, and refuses what breaks the order. */
export class RecordingSink implements TurnSink {
  readonly events: TurnEvent[] = [];
  readonly #closed = Promise.withResolvers<void>();
  readonly #waiting = new Set<() => void>();
  /** What broke the order: an event after `done`, a second close. Empty for a sound Turn. */
  readonly violations: string[] = [];
  #isClosed = false;

  /** Resolves at the close. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  send(event: TurnEvent): Promise<void> {
    if (this.#isClosed) this.violations.push(`${event.type} after close`);
    if (this.ofType("done").length > 0) {
      this.violations.push(`${event.type} after done`);
    } else if (this.ofType("error").length > 0 && event.type !== "done") {
      this.violations.push(`${event.type} after error`);
    }
    this.events.push(event);
    for (const check of this.#waiting) check();
    return Promise.resolve();
  }

  close(): void {
    if (this.#isClosed) this.violations.push("closed twice");
    this.#isClosed = true;
    this.#closed.resolve();
    for (const check of this.#waiting) check();
  }

  /** The events of one type, in order. */
  ofType<T extends TurnEvent["type"]>(
    type: T,
  ): Extract<TurnEvent, { type: T }>[] {
    return this.events.filter((event): event is Extract<
      TurnEvent,
      { type: T }
    > => event.type === type);
  }

  /** All text of the deltas. */
  get text(): string {
    return this.ofType("delta").map((event) => event.payload.delta).join("");
  }

  /** Resolves with the first event that `matches`; rejects when the sink closes without one. */
  first(matches: (event: TurnEvent) => boolean): Promise<TurnEvent> {
    return new Promise((resolve, reject) => {
      const check = () => {
        const found = this.events.find(matches);
        if (!found && !this.#isClosed) return;
        this.#waiting.delete(check);
        if (found) resolve(found);
        else reject(new Error("The sink closed without the event"));
      };
      this.#waiting.add(check);
      check();
    });
  }

  /** Fails unless the Turn ended soundly: closed, one `done` last, nothing after it. */
  assertSound(): void {
    assert(this.violations.length === 0, this.violations.join("; "));
    assert(this.#isClosed, "the sink is not closed");
    assert(this.ofType("done").length === 1, "not exactly one done");
    assert(this.ofType("error").length <= 1, "more than one error");
  }
}
