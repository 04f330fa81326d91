// Owns the end of everything: `device_shutdown`, which still reports, and the router's own shutdown,
// which does not. Both retry only what failed, on the same objects.
import type { InboundEnvelope } from "../protocol/envelope.ts";
import { decodeDeviceShutdown } from "../protocol/cancellation.ts";
import { type Deferred, deferred } from "../platform/deferred.ts";
import type { Admissions } from "./admissions.ts";
import type { ExecutorPool } from "./executor_pool.ts";
import type { ReadOnlyPreparations } from "./read_only_preparation.ts";
import type { Reservations } from "./reservation.ts";
import type { Runs } from "./runs.ts";
import type { RouterScope } from "./scope.ts";
import type { ServiceHost } from "./service_host.ts";
import type { Settlements } from "./settlement.ts";

/** Something native or uncertain is still owned; the next attempt tries the same objects. */
export class ShutdownUnconfirmed extends Error {
  override readonly name = "ShutdownUnconfirmed";
  /** `owners` are fixed words and ids made by this daemon. */
  constructor(readonly owners: readonly string[]) {
    super(`the router still owns: ${owners.join(", ")}`);
  }
}

/** The parts a shutdown ends. */
export interface ShutdownParts {
  readonly scope: RouterScope;
  readonly admissions: Admissions;
  readonly reservations: Reservations;
  readonly readOnly: ReadOnlyPreparations;
  readonly pool: ExecutorPool;
  readonly runs: Runs;
  readonly settlements: Settlements;
  readonly services: ServiceHost;
}

/** See the file comment. */
export class RouterShutdown {
  readonly #parts: ShutdownParts;
  readonly #settled: Deferred<void> = deferred();
  #attempt: Promise<void> | undefined;
  #confirmed = false;

  constructor(parts: ShutdownParts) {
    this.#parts = parts;
    parts.scope.tasks.onIdle(() => this.#deviceSettled());
  }

  /** Resolves when a `device_shutdown` has settled everything and sent what was owed. */
  get deviceSettled(): Promise<void> {
    return this.#settled.promise;
  }

  /** Handles `device_shutdown`: no reply, no new work, every receipt that is owed. */
  handleDeviceShutdown(envelope: InboundEnvelope): void {
    const { scope } = this.#parts;
    scope.log.info("device shutdown requested", {
      readable: decodeDeviceShutdown(envelope).ok,
    });
    scope.drain();
    this.#endEverything();
    // Also when there is nothing to end: the work is looked at once it has had its turn.
    scope.tasks.run("device shutdown", () => Promise.resolve());
  }

  /**
   * Ends the router: no frame goes out any more. Callers share one attempt; after a failure the next
   * call is a new one.
   *
   * @throws {ShutdownUnconfirmed} while something is still owned.
   */
  shutdown(): Promise<void> {
    if (this.#confirmed) return Promise.resolve();
    this.#attempt ??= this.#shutdown().finally(() => {
      this.#attempt = undefined;
    });
    return this.#attempt;
  }

  async #shutdown(): Promise<void> {
    const { scope, admissions, runs, services, settlements } = this.#parts;
    const draining = scope.phase === "draining";
    for (const run of runs.all()) {
      settlements.claim(run, { abort: true, retry: true });
    }
    if (scope.open) {
      scope.close();
      services.close();
      scope.interrupt(); // the claims exist before the output is interrupted
    }
    admissions.stopTimers();
    this.#endEverything();
    const releases = await Promise.all(
      runs.all().map((run) => run.release.attempt),
    );
    if (releases.some((result) => result?.kind === "kept")) {
      throw this.#unconfirmed();
    }
    await scope.tasks.idle();
    if (this.#owners().length > 0) throw this.#unconfirmed();
    this.#confirmed = true;
    if (draining) this.#settled.resolve();
  }

  /** Claims every Run, gives up every handle, and starts every close that nothing else will start. */
  #endEverything(): void {
    const { scope, pool, reservations, readOnly, runs, settlements } =
      this.#parts;
    for (const run of runs.all()) {
      settlements.claim(run, { abort: true, retry: true });
    }
    scope.tasks.run("close read-only access", () => readOnly.closeAll());
    for (const executor of pool.all()) {
      executor.invalid ??= "shutdown";
      const { admission } = executor;
      if (admission !== undefined) reservations.cancel(admission);
      if (executor.preparing) executor.owner.abort();
      else if (executor.run === undefined) pool.closeDetached(executor);
    }
  }

  /** Everything that is not settled, for the log and the operator. */
  #owners(): string[] {
    const { admissions, pool, runs, services } = this.#parts;
    const owning = admissions.owning;
    return [
      ...runs.all().map(({ id }) => `run ${id}`),
      ...pool.all().map(({ id }) => `executor ${id}`),
      ...(owning > 0 ? [`${owning} admissions`] : []),
      ...services.unknownOwners().map(({ owner }) => owner),
    ];
  }

  #unconfirmed(): ShutdownUnconfirmed {
    const owners = this.#owners();
    this.#parts.scope.log.warn("router cleanup unconfirmed", { owners });
    return new ShutdownUnconfirmed(owners);
  }

  #deviceSettled(): void {
    if (this.#parts.scope.phase !== "draining") return;
    if (this.#owners().length === 0) this.#settled.resolve();
  }
}
