// Owns the router of a suspended session while no connection serves it: the wait for the wake
// signal, the budget of each recovery attempt, and its end when it cannot be resumed.
import { type Clock, deadlineSignal } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { RESUME_ATTEMPT } from "./limits.ts";
import { shutdownUntilConfirmed } from "./router_shutdown.ts";
import type { UnconfirmedShutdown } from "./router_shutdown.ts";
import type { SuspendableRouter } from "./session_router.ts";

/** See the file comment. */
export class SuspendedSession {
  readonly #clock: Clock;
  readonly #log: Log;
  #woken = false;

  constructor(
    readonly router: SuspendableRouter,
    parts: { readonly clock: Clock; readonly log: Log },
  ) {
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  /** Whether the wake signal came; attempts follow one another from then on. */
  get woken(): boolean {
    return this.#woken;
  }

  /** Waits without a deadline for the wake signal, once. A stop ends the wait. Never throws. */
  async wake(stop: AbortSignal): Promise<void> {
    try {
      await this.router.suspension.woken(stop);
      this.#woken = true;
    } catch (error) {
      if (stop.aborted) return;
      // Without a wake signal only a stop is left.
      this.#log.error("wake_wait_failed", {
        error: error instanceof Error ? error : "not an error",
      });
      await new Promise<void>((resolve) =>
        stop.addEventListener("abort", () => resolve(), { once: true })
      );
    }
  }

  /** The time of one recovery attempt, from the dial to the first frame; a stop ends it early. */
  attempt(
    stop: AbortSignal,
  ): { readonly signal: AbortSignal; cancel(): void } {
    return deadlineSignal(this.#clock, RESUME_ATTEMPT, "resume", stop);
  }

  /** Settles what the router kept. It is never resumed after that. */
  async giveUp(
    onUnconfirmed: (state: UnconfirmedShutdown) => void,
  ): Promise<void> {
    await shutdownUntilConfirmed({
      router: this.router,
      clock: this.#clock,
      log: this.#log,
      onUnconfirmed,
    });
  }
}
