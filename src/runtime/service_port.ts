// Owns what the router tells the workspace and Environment services: the present work and where a
// handle or a Run lets them read.
import type { Admissions } from "./admissions.ts";
import type { ExecutorPool } from "./executor_pool.ts";
import type { Runs } from "./runs.ts";
import type { RouterScope } from "./scope.ts";
import type {
  RuntimeWork,
  ServiceHost,
  ServicePort,
  WorkspaceTarget,
} from "./service_host.ts";

/** The parts behind the port. */
export interface PortParts {
  readonly scope: RouterScope;
  readonly admissions: Admissions;
  readonly pool: ExecutorPool;
  readonly runs: Runs;
  readonly services: ServiceHost;
}

/** Makes the port of one router. */
export function servicePort(parts: PortParts): ServicePort {
  const { scope, services } = parts;
  return {
    clock: scope.clock,
    ids: scope.ids,
    log: scope.log,
    telemetry: scope.telemetry,
    shutdown: scope.shutdown,
    sendWithin: (milliseconds, envelope) =>
      scope.sender.sendWithin(milliseconds, envelope),
    reply: (envelope) => scope.sender.reply(envelope),
    task: (name, work) => scope.tasks.run(name, work),
    runtimeWork: () => runtimeWork(parts),
    serviceWork: () => services.work(),
    readyHandle: (handle) => readyHandle(parts, handle),
    publishedRun: (runId) => publishedRun(parts, runId),
  };
}

function runtimeWork({ admissions, pool, runs }: PortParts): RuntimeWork {
  const { active, idle } = pool.counts();
  return {
    runs: runs.count,
    activeExecutors: active,
    idleExecutors: idle,
    ownedAdmissions: admissions.all().filter(({ owns, busy }) => owns || busy)
      .length,
    openInteractions: runs.openInteractions,
  };
}

function readyHandle(
  { scope, admissions }: PortParts,
  handle: string,
): WorkspaceTarget | undefined {
  const admission = admissions.ofHandle(handle);
  if (admission === undefined) return undefined;
  const { target, deadline } = admission.grant;
  if (
    admission.state !== "ready" || !admission.owns || admission.busy ||
    deadline <= scope.clock.monotonic()
  ) return undefined;
  return {
    environmentId: target.kind === "read_only"
      ? target.environmentId
      : target.executor.identity.environmentId,
    readOnly: target.kind === "read_only",
    ended: admission.ended,
    hold: () => admission.access.begin(),
  };
}

function publishedRun(
  { runs }: PortParts,
  runId: string,
): WorkspaceTarget | undefined {
  const run = runs.get(runId);
  if (run?.reachable === undefined) return undefined;
  return {
    environmentId: run.environmentId,
    readOnly: false,
    ended: run.release.claimSignal,
    hold: () => () => {}, // a Run ends for its own reasons; its reads end by their budget
  };
}
