// Owns what `status` and `doctor` show of a router: ids, states and counts, and for everything that
// stays unknown what an operator can do.
import type { Admissions } from "./admissions.ts";
import type { ExecutorRecord } from "./executor.ts";
import type { ExecutorPool } from "./executor_pool.ts";
import type { Run } from "./run.ts";
import type { Runs } from "./runs.ts";
import type { Phase, RouterScope } from "./scope.ts";
import type { ServiceHost, ServiceWork, UnknownOwner } from "./service_host.ts";

/** Where an Executor stands. `uncertain`: a close failed and is tried again. */
export type ExecutorState =
  | "preparing"
  | "ready"
  | "running"
  | "idle"
  | "closing"
  | "uncertain";

/** One Executor. */
export interface ExecutorStatus {
  readonly id: string;
  readonly kind: string;
  readonly sessionId: string;
  readonly state: ExecutorState;
}

/** One Run. `kept`: its last settlement attempt failed and another will follow. */
export interface RunStatus {
  readonly id: string;
  readonly executorId: string;
  readonly state: "starting" | "running" | "settling" | "kept";
  /** Inputs, decisions, function results and cancellations without their final receipt. */
  readonly owedReceipts: number;
}

/** A snapshot of one router. */
export interface RouterStatus {
  readonly phase: Phase;
  readonly runs: readonly RunStatus[];
  readonly executors: readonly ExecutorStatus[];
  readonly owningAdmissions: number;
  readonly admissionRecords: number;
  readonly services: ServiceWork;
  /** What runs now; a shutdown that waits, waits for these. */
  readonly tasks: readonly string[];
  readonly unknownOwners: readonly UnknownOwner[];
}

/** Takes the snapshot. */
export function routerStatus(parts: {
  readonly scope: RouterScope;
  readonly admissions: Admissions;
  readonly pool: ExecutorPool;
  readonly runs: Runs;
  readonly services: ServiceHost;
}): RouterStatus {
  const { scope, admissions, pool, runs, services } = parts;
  return {
    phase: scope.phase,
    runs: runs.all().map(runStatus),
    executors: pool.all().map(executorStatus),
    owningAdmissions: admissions.owning,
    admissionRecords: admissions.count,
    services: services.work(),
    tasks: scope.tasks.names,
    unknownOwners: [
      ...pool.all().filter(({ closeState }) => closeState === "failed")
        .map(uncertainExecutor),
      ...services.unknownOwners(),
    ],
  };
}

function executorStatus(executor: ExecutorRecord): ExecutorStatus {
  const { id, identity } = executor;
  return {
    id,
    kind: identity.kind,
    sessionId: identity.sessionId,
    state: executorState(executor),
  };
}

function executorState(executor: ExecutorRecord): ExecutorState {
  if (executor.closeState === "failed") return "uncertain";
  if (executor.closing !== undefined) return "closing";
  if (executor.preparing) return "preparing";
  if (executor.run !== undefined) return "running";
  if (executor.invalid !== undefined) return "closing";
  return executor.admission === undefined ? "idle" : "ready";
}

function runStatus(run: Run): RunStatus {
  return {
    id: run.id,
    executorId: run.executor.id,
    state: runState(run),
    owedReceipts: run.operations.count + run.waitingCancels,
  };
}

function runState(run: Run): RunStatus["state"] {
  if (run.release.result?.kind === "kept") return "kept";
  if (run.release.claimed) return "settling";
  return run.published ? "running" : "starting";
}

function uncertainExecutor({ id, identity }: ExecutorRecord): UnknownOwner {
  return {
    owner: `executor ${id} (${identity.kind})`,
    remedy:
      "Its processes could not be confirmed gone. The daemon tries again; if they hang, end them by hand.",
  };
}
