// Owns the admission records of one connection and the order in which their statuses leave.
import { runtimeFrame } from "../protocol/frames.ts";
import type { PreparationStatus } from "../protocol/execution.ts";
import { Admission, type AdmissionGrant } from "./admission.ts";
import type { Delivery } from "./frame_sender.ts";
import {
  ADMISSION_LIFETIME_MS,
  MAX_ADMISSION_RECORDS,
  REPLY_BUDGET_MS,
} from "./limits.ts";
import type { RouterScope } from "./scope.ts";

/** What a publication came to. `superseded`: a newer revision exists, nothing was sent. */
export type Publication = Delivery | "superseded";

/** See the file comment. */
export class Admissions {
  readonly #scope: RouterScope;
  readonly #byHandle = new Map<string, Admission>();
  readonly #byRequest = new Map<string, Admission>();

  constructor(scope: RouterScope) {
    this.#scope = scope;
  }

  all(): readonly Admission[] {
    return [...this.#byHandle.values()];
  }

  get count(): number {
    return this.#byHandle.size;
  }

  /** Records that own a preparation, of either profile. */
  get owning(): number {
    let owning = 0;
    for (const admission of this.#byHandle.values()) {
      if (admission.owns) owning++;
    }
    return owning;
  }

  ofHandle(handle: string): Admission | undefined {
    return this.#byHandle.get(handle);
  }

  ofRequest(requestId: string): Admission | undefined {
    return this.#byRequest.get(requestId);
  }

  /** Records a new handle with the full lifetime; `expire` runs when it is over. */
  grant(
    grant: Omit<AdmissionGrant, "handle" | "expiresAt" | "deadline">,
    expire: (admission: Admission) => void,
  ): Admission {
    const { clock, ids } = this.#scope;
    const admission = new Admission({
      ...grant,
      handle: ids.uuid(),
      expiresAt: clock.now() + ADMISSION_LIFETIME_MS,
      deadline: clock.monotonic() + ADMISSION_LIFETIME_MS,
    });
    this.#byHandle.set(admission.grant.handle, admission);
    this.#byRequest.set(admission.grant.requestId, admission);
    admission.timer = clock.after(ADMISSION_LIFETIME_MS, () => {
      admission.timer = undefined;
      expire(admission);
    });
    return admission;
  }

  /**
   * Drops records that own nothing: first those past their deadline, then, while the table is full,
   * the one with the earliest deadline. Owners stay.
   */
  prune(): void {
    const now = this.#scope.clock.monotonic();
    for (const admission of this.#byHandle.values()) {
      if (this.#droppable(admission) && admission.grant.deadline <= now) {
        this.#drop(admission);
      }
    }
    if (this.count < MAX_ADMISSION_RECORDS) return;
    let oldest: Admission | undefined;
    for (const admission of this.#byHandle.values()) {
      if (!this.#droppable(admission)) continue;
      if (!oldest || admission.grant.deadline < oldest.grant.deadline) {
        oldest = admission;
      }
    }
    if (oldest) this.#drop(oldest);
  }

  /**
   * Sends a snapshot behind the earlier ones of the same handle, when it is still current by then.
   * Never throws.
   */
  publish(
    admission: Admission,
    snapshot: PreparationStatus,
    limits: { readonly until?: number; readonly signal?: AbortSignal } = {},
  ): Promise<Publication> {
    const publication = admission.publications.then(
      (): Promise<Publication> | Publication => {
        if (admission.revision !== snapshot.revision) return "superseded";
        const budget = limits.until === undefined
          ? REPLY_BUDGET_MS
          : limits.until - this.#scope.clock.monotonic();
        const frame = runtimeFrame(
          "preparation_status",
          admission.grant.requestId,
          snapshot,
          admission.grant.trace,
        );
        return this.#scope.sender.sendWithin(budget, frame, limits.signal);
      },
    );
    admission.publications = publication;
    return publication;
  }

  /** Publishes as a detached task; the outcome decides nothing. */
  publishDetached(
    admission: Admission,
    snapshot: PreparationStatus | undefined,
  ): void {
    if (snapshot === undefined) return;
    this.#scope.tasks.run("publish preparation status", async () => {
      await this.publish(admission, snapshot);
    });
  }

  stopTimers(): void {
    for (const admission of this.#byHandle.values()) admission.stopTimer();
  }

  #droppable(admission: Admission): boolean {
    return !admission.owns && !admission.busy && !admission.pending;
  }

  #drop(admission: Admission): void {
    admission.stopTimer();
    this.#byHandle.delete(admission.grant.handle);
    const { requestId } = admission.grant;
    if (this.#byRequest.get(requestId) === admission) {
      this.#byRequest.delete(requestId);
    }
  }
}
