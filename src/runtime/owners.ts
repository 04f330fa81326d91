// Owns the wiring of everything that owns something behind one connection. What acts on frames is
// wired in `router.ts`.
import { Admissions } from "./admissions.ts";
import type { WorkspaceBinding } from "./binding.ts";
import type { HarnessKinds } from "./configuration_judgement.ts";
import { ExecutorPool } from "./executor_pool.ts";
import { ReadOnlyPreparations } from "./read_only_preparation.ts";
import { Reservations } from "./reservation.ts";
import { Runs } from "./runs.ts";
import { RouterScope, type ScopeOptions } from "./scope.ts";
import { ServiceHost } from "./service_host.ts";
import { Settlements } from "./settlement.ts";

/** What the owners are made with; the fields are described at `RouterOptions`. */
export interface OwnerOptions extends ScopeOptions {
  readonly harnesses: HarnessKinds;
  readonly binding?: WorkspaceBinding;
  readonly executorIdleMilliseconds?: number;
}

/** The owners behind one connection. */
export interface RouterOwners {
  readonly scope: RouterScope;
  readonly harnesses: HarnessKinds;
  readonly binding: WorkspaceBinding | undefined;
  readonly services: ServiceHost;
  readonly runs: Runs;
  readonly admissions: Admissions;
  readonly pool: ExecutorPool;
  readonly reservations: Reservations;
  readonly settlements: Settlements;
  readonly readOnly: ReadOnlyPreparations;
}

/** Makes the owners of one connection. */
export function createOwners(options: OwnerOptions): RouterOwners {
  const scope = new RouterScope(options);
  const { harnesses, binding } = options;
  const services = new ServiceHost();
  const runs = new Runs();
  const admissions = new Admissions(scope);
  const pool = new ExecutorPool(scope, {
    retryRun({ run }) {
      if (run !== undefined) {
        settlements.claim(run, { abort: false, retry: true });
      }
    },
    retiredWhileReady: (executor) => reservations.failReady(executor),
    removed(executor) {
      for (const admission of admissions.all()) {
        if (admission.executor === executor) admission.owns = false;
      }
    },
  }, options.executorIdleMilliseconds);
  const reservations = new Reservations(scope, admissions, pool, ({ run }) => {
    if (run !== undefined) settlements.claim(run, { abort: true });
  });
  const settlements = new Settlements(scope, pool, runs);
  const shared = { scope, admissions, harnesses, binding, services };
  return {
    ...shared,
    runs,
    pool,
    reservations,
    settlements,
    readOnly: new ReadOnlyPreparations(shared),
  };
}
