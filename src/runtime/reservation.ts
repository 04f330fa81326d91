// Owns the end of a reservation that was not started: released, expired, undeliverable or dead. The
// Executor behind it goes idle, or is stopped when it is still being prepared.
import type { PreparationFailureCode } from "../protocol/execution.ts";
import { type Admission, type HandleState, transition } from "./admission.ts";
import type { Admissions } from "./admissions.ts";
import type { ExecutorRecord } from "./executor.ts";
import type { ExecutorPool } from "./executor_pool.ts";
import type { RouterScope } from "./scope.ts";

/** See the file comment. */
export class Reservations {
  readonly #scope: RouterScope;
  readonly #admissions: Admissions;
  readonly #pool: ExecutorPool;

  readonly #overdue: (executor: ExecutorRecord) => void;

  /** `overdue` ends a Run whose native start outlasts the reservation it came from. */
  constructor(
    scope: RouterScope,
    admissions: Admissions,
    pool: ExecutorPool,
    overdue: (executor: ExecutorRecord) => void,
  ) {
    this.#scope = scope;
    this.#admissions = admissions;
    this.#pool = pool;
    this.#overdue = overdue;
  }

  /** Answers a repeated request with what the handle is now. */
  republish(admission: Admission): void {
    if (admission.republishing) return; // the one under way says the same
    // Its own publication answers; one that failed ended the Run and is never made up for.
    if (admission.state === "started" && !admission.startPublished) return;
    admission.republishing = true;
    this.#scope.tasks.run("republish preparation status", async () => {
      await admission.publications;
      admission.republishing = false;
      await this.publish(admission);
    });
  }

  /** Core gives a reservation up. Returns whether the handle could still be released. */
  release(admission: Admission): boolean {
    return this.#giveUp(admission, "released");
  }

  /**
   * The admission's lifetime is over. A Run that was handed over keeps running; one whose start has
   * not returned could never be published any more.
   */
  expire(admission: Admission): void {
    const { executor, state } = admission;
    if (state === "starting" && executor !== undefined) this.#overdue(executor);
    else this.#giveUp(admission, "expired");
  }

  /** Ends a pending handle because the whole connection's work ends. */
  cancel(admission: Admission): void {
    this.#giveUp(admission, "failed", "connection_closed");
  }

  /** The engine died under a ready reservation. */
  failReady(executor: ExecutorRecord): void {
    const { admission } = executor;
    executor.invalid ??= "invalidated";
    if (admission !== undefined) {
      this.#giveUp(admission, "failed", "executor_unavailable");
    }
  }

  /** Ends a reservation that was not started, publishes it, and frees or stops its Executor. */
  #giveUp(
    admission: Admission,
    to: HandleState,
    code?: PreparationFailureCode,
  ): boolean {
    const { executor } = admission;
    if (executor === undefined) return false;
    const preparing = admission.state === "preparing";
    const snapshot = transition(admission, ["preparing", "ready"], to, code);
    if (snapshot === undefined) return false;
    admission.stopTimer();
    if (code !== "status_delivery_failed") {
      this.#admissions.publishDetached(admission, snapshot);
    }
    if (preparing) {
      // The task that prepares keeps the ownership until it has closed what it brings.
      this.#pool.invalidate(executor, "preparation_failed");
      return true;
    }
    admission.owns = false;
    if (executor.admission === admission) executor.admission = undefined;
    this.#pool.becomeIdle(executor);
    return true;
  }

  /** Publishes the present state; a pending handle that Core cannot learn about is given up. */
  async publish(admission: Admission): Promise<boolean> {
    const snapshot = admission.snapshot();
    const publication = await this.#admissions.publish(
      admission,
      snapshot,
    );
    if (publication === "delivered" || publication === "superseded") {
      return true;
    }
    this.#giveUp(admission, "failed", "status_delivery_failed");
    return false;
  }
}
