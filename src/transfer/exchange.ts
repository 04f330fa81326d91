/**
 * One bounded transfer from `begin` to its only terminal result. It owns the body, the clock and
 * the application; the caller owns the slot and the frames.
 *
 *   receiving ──commit, body as declared──▶ applying ──▶ settled (completed | rejected | failed)
 *       │                                       └──────▶ uncertain (the slot stays taken)
 *       └──bad chunk, early commit, budget, close──▶ settled (rejected)
 *
 * Nothing is applied before the commit proved size and digest.
 */
import type { Clock, Timer } from "../platform/clock.ts";
import { deferred } from "../platform/deferred.ts";
import { type DeclaredBody, TransferBody } from "./body.ts";

/** What an application of the body proved. `unknown` keeps the slot. */
export type Applied<Completed, Refused> =
  | { readonly outcome: "completed"; readonly value: Completed }
  | { readonly outcome: "refused"; readonly value: Refused }
  | { readonly outcome: "unknown" };

/** How the exchange ended. `invalid` means that nothing was applied. */
export type ExchangeResult<Completed, Refused> =
  | Applied<Completed, Refused>
  | { readonly outcome: "invalid" };

/** What an exchange is made of. */
export interface ExchangeOptions<Completed, Refused> {
  readonly declared: DeclaredBody;
  readonly clock: Clock;
  /** Milliseconds from now until an unfinished body is given up. */
  readonly budget: number;
  /** Whether the budget goes on while the body is applied and then aborts the application. */
  readonly budgetCoversApplication: boolean;
  /**
   * Uses the complete body. It returns only when its own changes have stopped, also after `signal`
   * asked it to stop. A rejection counts as `unknown`.
   */
  readonly apply: (
    body: TransferBody,
    signal: AbortSignal,
  ) => Promise<Applied<Completed, Refused>>;
}

/** See the file comment. */
export class Exchange<Completed, Refused> {
  readonly #options: ExchangeOptions<Completed, Refused>;
  readonly #body: TransferBody;
  readonly #stop = new AbortController();
  readonly #result = deferred<ExchangeResult<Completed, Refused>>();
  readonly #timer: Timer;
  #state: "receiving" | "applying" | "ended" = "receiving";

  constructor(options: ExchangeOptions<Completed, Refused>) {
    this.#options = options;
    this.#body = new TransferBody(options.declared);
    this.#timer = options.clock.after(options.budget, () => this.#expire());
  }

  /** Settles once, after the body was dropped; never rejects. */
  get result(): Promise<ExchangeResult<Completed, Refused>> {
    return this.#result.promise;
  }

  /** Bytes taken so far. */
  get received(): number {
    return this.#body.received;
  }

  /** Whether `chunk` and `commit` still mean something. */
  get receiving(): boolean {
    return this.#state === "receiving";
  }

  /** Takes a chunk and returns the new total, or ends the exchange as invalid. */
  chunk(offset: number, data: Uint8Array): number | undefined {
    if (!this.receiving) return undefined;
    if (this.#body.append(offset, data)) return this.#body.received;
    this.#end({ outcome: "invalid" });
    return undefined;
  }

  /** Starts the application when the body is as declared, else ends the exchange as invalid. */
  commit(): void {
    if (!this.receiving) return;
    if (this.#body.check() !== "complete") {
      return this.#end({ outcome: "invalid" });
    }
    this.#state = "applying";
    if (!this.#options.budgetCoversApplication) this.#timer.cancel();
    this.#options.apply(this.#body, this.#stop.signal).then(
      (applied) => this.#end(applied),
      () => this.#end({ outcome: "unknown" }),
    );
  }

  /**
   * Ends reception, or asks a running application to stop. The result follows when the application
   * has returned; it is never assumed here.
   */
  close(): void {
    if (this.receiving) this.#end({ outcome: "invalid" });
    else this.#stop.abort();
  }

  #expire(): void {
    this.close();
  }

  #end(result: ExchangeResult<Completed, Refused>): void {
    this.#state = "ended";
    this.#timer.cancel();
    this.#body.drop();
    this.#result.resolve(result);
  }
}
