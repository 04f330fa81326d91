// Owns the wait between a closed socket and everything after it: nothing is dialled and nothing
// ends before the router confirms that its native resources are settled.
import { type Clock, sleep, within } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { SHUTDOWN_PAUSE, SHUTDOWN_WAIT } from "./limits.ts";
import type { SessionRouter } from "./session_router.ts";

/** One wait that did not bring the confirmation. */
export interface UnconfirmedShutdown {
  /** Waits so far, counted from 1. */
  readonly attempt: number;
  /** Name of the last error: `DeadlineExceeded` while the attempt still runs. */
  readonly error: string;
  readonly waitingFor: readonly string[];
}

/** What the wait needs. It takes no stop signal: a stop does not shorten it. */
export interface ShutdownOptions {
  readonly router: Pick<SessionRouter, "shutdown" | "waitingFor">;
  readonly clock: Clock;
  readonly log: Log;
  /** Runs after each wait without confirmation. */
  readonly onUnconfirmed: (state: UnconfirmedShutdown) => void;
}

/**
 * Asks the same router until it confirms: 5 s for each wait, 1 s between two, without an end. Each
 * wait has its own budget, and an attempt that still runs is joined by the router.
 */
export async function shutdownUntilConfirmed(
  options: ShutdownOptions,
): Promise<void> {
  const { clock, log, router } = options;
  for (let attempt = 1;; attempt++) {
    try {
      await within(clock, SHUTDOWN_WAIT, "router shutdown", ask(router));
      return;
    } catch (error) {
      const waitingFor = namesOf(router, log);
      log.warn("router_cleanup_unconfirmed", {
        attempt,
        waitingFor,
        error: error instanceof Error ? error : "not an error",
      });
      options.onUnconfirmed({
        attempt,
        error: error instanceof Error ? error.name : "not an error",
        waitingFor,
      });
    }
    await sleep(clock, SHUTDOWN_PAUSE);
  }
}

/** Turns an exception of the call itself into a failed attempt. */
async function ask(router: Pick<SessionRouter, "shutdown">): Promise<void> {
  await router.shutdown();
}

function namesOf(
  router: Pick<SessionRouter, "waitingFor">,
  log: Log,
): readonly string[] {
  try {
    return router.waitingFor();
  } catch (error) {
    log.error("router_report_failed", {
      error: error instanceof Error ? error : "not an error",
    });
    return [];
  }
}
