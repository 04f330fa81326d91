/**
 * The interrupts of one Turn and the one budget that they, the children and the background
 * terminals share.
 */
import { within } from "../../src/platform/clock.ts";
import type { TurnHost } from "./turn_host.ts";

/** A native Turn to interrupt. */
export interface NativeTurnName {
  readonly threadId: string;
  readonly turnId: string;
}

/** See the file comment. */
export class Cancellation {
  readonly #host: TurnHost;
  readonly #ended: Promise<void>;
  readonly #asked = new Set<string>();
  #deadline = Infinity;

  /** `ended` resolves when the process is gone: then no wait can succeed. */
  constructor(host: TurnHost, ended: Promise<void>) {
    this.#host = host;
    this.#ended = ended;
  }

  /** Starts the budget, once. */
  begin(): void {
    const { clock, limits } = this.#host;
    this.#deadline = Math.min(
      this.#deadline,
      clock.monotonic() + limits.cancel,
    );
  }

  /** What is left of the budget, in milliseconds. */
  left(): number {
    return Math.max(0, this.#deadline - this.#host.clock.monotonic());
  }

  /** Waits for `work` within the budget and the life of the process. */
  inTime<T>(what: string, work: Promise<T>): Promise<T> {
    const dead = this.#ended.then(() => {
      throw new Error("codex: the native process ended");
    });
    return within(
      this.#host.clock,
      this.left(),
      what,
      Promise.race([work, dead]),
    );
  }

  /** Asks for the end of one Turn. */
  interrupt(turn: NativeTurnName): Promise<unknown> {
    return this.#host.rpc.request("turn/interrupt", turn, {
      timeout: this.left(),
    });
  }

  /** Asks each child Turn once for its end; only its terminal tells whether it came. */
  async interruptChildren(running: readonly NativeTurnName[]): Promise<void> {
    const fresh = running.filter(({ turnId }) => !this.#asked.has(turnId));
    await Promise.all(fresh.map(async (child) => {
      this.#asked.add(child.turnId);
      try {
        await this.interrupt(child);
      } catch (error) {
        // The child may have ended by itself.
        this.#host.log.debug("codex.child.interrupt_refused", {
          error: error instanceof Error ? error : String(error),
        });
      }
    }));
  }
}
