/**
 * Owns the fit between the transport and the dispatcher: a router of the runtime, seen as the
 * transport drives it. Neither of the two imports the other.
 */
import type { HarnessRegistry } from "../harness/registry.ts";
import type { Clock } from "../platform/clock.ts";
import { createRouter, type RouterOptions } from "../runtime/router.ts";
import type { OpenRouter } from "../transport/session_router.ts";

/** What all routers of one process share. */
export interface SessionRouterOptions extends Omit<RouterOptions, "sender"> {
  readonly harnesses: HarnessRegistry;
  readonly buildVersion: string;
  /** Stamps heartbeats; the wall clock of the machine unless a test says otherwise. */
  readonly heartbeatClock?: Clock;
}

/** Opens a router for each connection. */
export function openSessionRouter(options: SessionRouterOptions): OpenRouter {
  const clock = options.heartbeatClock ?? options.clock;
  return (connection) => {
    const router = createRouter({ ...options, sender: connection });
    return {
      handle: (envelope) => router.handle(envelope),
      heartbeat: () => ({
        ts: Math.floor(clock.now() / 1000),
        active_requests: router.activeRuns,
        daemon_version: options.buildVersion,
        supported_agent_kinds: options.harnesses.supportedAgentKinds(),
      }),
      shutdown: () => router.shutdown(),
      shutdownRequested: router.shutdownRequested,
      waitingFor() {
        const { tasks, runs, executors, unknownOwners } = router.status();
        return [
          ...tasks,
          ...runs.map(({ id, state }) => `run ${id} (${state})`),
          ...executors.map(({ id, state }) => `executor ${id} (${state})`),
          ...unknownOwners.map(({ owner }) => `unknown: ${owner}`),
        ];
      },
    };
  };
}
