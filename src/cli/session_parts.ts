/**
 * Joins transport and runtime: makes the router of each connection fit what the session loop
 * drives, and remembers the newest one for `status`.
 */
import type { HarnessRegistry } from "../harness/registry.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { noTelemetry, type Telemetry } from "../platform/telemetry.ts";
import type { WorkspaceBinding } from "../runtime/binding.ts";
import { createRouter, type Router } from "../runtime/router.ts";
import type { RuntimeServiceFactory } from "../runtime/service_host.ts";
import type { RouterStatus } from "../runtime/status.ts";
import type { SuspensionControl } from "../runtime/suspension.ts";
import type { SessionConnection } from "../transport/connection.ts";
import type {
  OpenRouter,
  SessionRouter,
  SessionSuspension,
} from "../transport/session_router.ts";
import { BUILD_VERSION } from "./build.ts";
import { observeSessions } from "./session_telemetry.ts";

/** What a bound daemon adds to each router. */
export interface BoundParts {
  readonly binding: WorkspaceBinding;
  readonly services: readonly RuntimeServiceFactory[];
}

/** What makes planned suspensions possible. */
export interface ProcessSuspensions {
  readonly control: SuspensionControl;
  /** Waits for the wake signal of the present suspension. Rejects when `signal` aborts. */
  woken(signal: AbortSignal): Promise<void>;
}

/** What every router of the process shares. */
export interface SessionPartsOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly registry: HarnessRegistry;
  readonly bound?: BoundParts;
  /** Without them each suspension is refused. */
  readonly suspensions?: ProcessSuspensions;
  /** Where spans and counts go; nowhere when absent. */
  readonly telemetry?: Telemetry;
  /** The operator's limits of Executors; the built-in ones when absent. */
  readonly executorLimits?: { readonly active: number; readonly idle: number };
}

/** The routers of the process. */
export interface SessionParts {
  readonly openRouter: OpenRouter;
  /** What the newest router owns; `undefined` before there was one. */
  status(): RouterStatus | undefined;
  /** Fixed words and ids: what the newest router would still have to settle. */
  owned(): readonly string[];
}

/** Prepares the routers. */
export function sessionParts(options: SessionPartsOptions): SessionParts {
  let newest: Router | undefined;
  const opened = observeSessions(
    options.telemetry ?? noTelemetry,
    () => newest,
  );
  return {
    openRouter(connection) {
      const router = createRouter({
        ...options,
        sender: connection,
        harnesses: options.registry,
        ...options.bound,
        ...(options.suspensions === undefined
          ? {}
          : { suspension: options.suspensions.control }),
      });
      newest = router;
      opened(connection);
      const suspension = suspensionOf(router, options.suspensions, opened);
      return {
        ...asSessionRouter(router, options),
        ...(suspension === undefined ? {} : { suspension }),
      };
    },
    status: () => newest?.status(),
    owned: () => newest === undefined ? [] : ownedBy(newest.status()),
  };
}

function asSessionRouter(
  router: Router,
  { clock, registry }: SessionPartsOptions,
): SessionRouter {
  return {
    handle: (envelope) => router.handle(envelope),
    heartbeat: () => ({
      ts: Math.floor(clock.now() / 1000),
      active_requests: router.activeRuns,
      daemon_version: BUILD_VERSION,
      supported_agent_kinds: registry.supportedAgentKinds(),
    }),
    shutdown: () => router.shutdown(),
    shutdownRequested: router.shutdownRequested,
    waitingFor: () => ownedBy(router.status()),
  };
}

function suspensionOf(
  { suspension }: Router,
  suspensions: ProcessSuspensions | undefined,
  opened: (connection: SessionConnection) => void,
): SessionSuspension | undefined {
  if (suspension === undefined || suspensions === undefined) return undefined;
  return {
    get ended() {
      return suspension.ended;
    },
    woken: (signal) => suspensions.woken(signal),
    resume(envelope, connection) {
      opened(connection);
      return suspension.resume(envelope, connection);
    },
  };
}

function ownedBy(status: RouterStatus): string[] {
  return [
    ...status.runs.map((run) => `run ${run.id} (${run.state})`),
    ...status.executors.map((executor) =>
      `executor ${executor.id} of ${executor.kind} (${executor.state})`
    ),
    ...(status.owningAdmissions > 0
      ? [`${status.owningAdmissions} preparations`]
      : []),
    ...status.tasks.map((name) => `task ${name}`),
    ...status.unknownOwners.map(({ owner }) => `${owner}: outcome unknown`),
  ];
}

/** The counts that `status` shows. */
export function workCounts(
  status: RouterStatus | undefined,
): Record<string, number> {
  if (status === undefined) return {};
  const { services } = status;
  return {
    runs: status.runs.length,
    executors: status.executors.length,
    owning_admissions: status.owningAdmissions,
    owed_receipts: status.runs.reduce((sum, run) => sum + run.owedReceipts, 0),
    transfers: Number(services.transfer),
    writes: Number(services.write),
    exports: Number(services.export),
    reads: services.reads,
  };
}
