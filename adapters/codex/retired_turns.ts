/** Native Turn ids that have ended: their late events are known and belong to nobody. */
import { MAX_RETIRED_TURNS } from "./limits.ts";

/** A bounded memory of ended Turns, oldest forgotten first. */
export class RetiredTurns {
  readonly #ids = new Set<string>();

  /** Remembers an ended Turn. */
  add(id: string): void {
    this.#ids.add(id);
    const [oldest] = this.#ids;
    if (this.#ids.size > MAX_RETIRED_TURNS && oldest !== undefined) {
      this.#ids.delete(oldest);
    }
  }

  /** Whether the Turn has ended. */
  has(id: string): boolean {
    return this.#ids.has(id);
  }
}
