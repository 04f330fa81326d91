import { UnknownInteraction } from "../../../src/harness/contract.ts";
import { within } from "../../../src/platform/clock.ts";
import { type Deferred, deferred } from "../../../src/platform/deferred.ts";
import type { ScriptedTurnParts } from "./turn_parts.ts";

/** Milliseconds for the receipt of a result or decision. */
const RECEIPT_MILLISECONDS = 10_000;

/** What is pending, and who must answer it. */
type Kind = "call" | "question";

/** Function calls and questions of one Turn, from their event to the receipt of their answer. */
export class ScriptedInteractions {
  readonly #parts: ScriptedTurnParts;
  readonly #pending = new Map<
    string,
    { kind: Kind; receipt?: Deferred<void> }
  >();
  #stopped = false;

  constructor(parts: ScriptedTurnParts) {
    this.#parts = parts;
  }

  /** Whether an answer was submitted whose receipt did not come. */
  get awaitsReceipt(): boolean {
    return [...this.#pending.values()].some(({ receipt }) => receipt);
  }

  /** Makes an id pending; false when it already is. */
  open(id: string, kind: Kind): boolean {
    if (this.#pending.has(id)) return false;
    this.#pending.set(id, { kind });
    return true;
  }

  /** Takes no further answers; returns the questions to withdraw. */
  stop(): string[] {
    this.#stopped = true;
    return [...this.#pending].flatMap(([id, { kind, receipt }]) =>
      kind === "question" && !receipt ? [id] : []
    );
  }

  /** Writes an answer once and waits for its receipt. */
  async submit(
    id: string,
    kind: Kind,
    message: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    const pending = this.#pending.get(id);
    if (
      !pending || pending.receipt || pending.kind !== kind || this.#stopped
    ) throw new UnknownInteraction("It is not pending");
    const receipt = deferred();
    pending.receipt = receipt;
    const { clock } = this.#parts.context;
    try {
      await this.#parts.child.write(message, signal);
      await within(clock, RECEIPT_MILLISECONDS, "receipt", receipt.promise);
    } catch (error) {
      // Whether it was applied is unknown: nothing more can be believed of this process.
      this.#parts.retire("unsettled_native_operations");
      this.#parts.child.kill();
      throw error;
    }
  }

  /** The native receipt of an answer. */
  settle(id: string): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.receipt?.resolve();
  }

  /** Nothing is settled any more. */
  end(reason: Error): void {
    this.#stopped = true;
    for (const { receipt } of this.#pending.values()) receipt?.reject(reason);
    this.#pending.clear();
  }
}
