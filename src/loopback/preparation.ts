/**
 * Owns what Core observed of one preparation: the statuses of one handle in the order of their
 * revisions. A stale revision or a foreign handle changes nothing; a status that claims what cannot
 * be is a violation.
 */
import { type Deferred, deferred } from "../platform/deferred.ts";
import type { CapabilityDeclaration } from "../protocol/capabilities.ts";
import type { Configuration } from "../protocol/configuration.ts";
import type { PreparationStatus } from "../protocol/execution.ts";
import { type LossReason, ProtocolViolation } from "./observation.ts";

/** A reservation that a start may use once. */
export interface Admission {
  readonly handle: string;
  /** Absent for a read-only preparation. */
  readonly executorId?: string;
  /** Unix milliseconds. */
  readonly expiresAt: number;
  readonly reused: boolean;
}

/** How a preparation came to its reservation, or did not. */
export type PreparationOutcome =
  | { readonly kind: "ready"; readonly admission: Admission }
  | { readonly kind: "rejected"; readonly code: string }
  | { readonly kind: "failed"; readonly code: string }
  | { readonly kind: "released" }
  | { readonly kind: "expired" }
  | { readonly kind: "lost"; readonly reason: LossReason };

/** How a release or an expiry ended. */
export type ReleaseOutcome =
  | Exclude<PreparationOutcome, { kind: "ready" }>
  /** The reservation had already moved to a Run: the release changed nothing. */
  | { readonly kind: "started"; readonly runId: string };

/** What a driver asked for, and the declaration that was in force then. */
export interface PreparationRequest {
  readonly requestId: string;
  readonly sessionId: string;
  readonly configuration: Configuration;
  readonly declaration: CapabilityDeclaration;
}

/** One observed preparation. */
export class Preparation {
  readonly #ready = deferred<PreparationOutcome>();
  #release: Deferred<ReleaseOutcome> | undefined;
  #last: PreparationStatus | undefined;
  #admission: Admission | undefined;
  #lost: LossReason | undefined;
  #rejection: string | undefined;
  /** The Run that a start named; only then may a status name it. */
  startedRunId: string | undefined;

  constructor(readonly request: PreparationRequest) {}

  /** Settles at `ready`, or when it can no longer become ready. */
  get ready(): Promise<PreparationOutcome> {
    return this.#ready.promise;
  }

  /** The reservation, once there is one. */
  get admission(): Admission | undefined {
    return this.#admission;
  }

  /** The highest revision observed; absent before the first one. */
  get status(): PreparationStatus | undefined {
    return this.#last;
  }

  /** A release was asked for. The promise settles with the next terminal status. */
  expectRelease(): Promise<ReleaseOutcome> {
    if (!this.#release || this.#release.settled) this.#release = deferred();
    return this.#release.promise;
  }

  /** A rejected operation other than a start. */
  reject(code: string, operation: string): void {
    if (operation === "execution_release") {
      this.#release?.resolve({ kind: "rejected", code });
      return;
    }
    // A rejected repetition says nothing about a handle that was already granted.
    if (this.#last) return;
    this.#rejection = code;
    this.#ready.resolve({ kind: "rejected", code });
  }

  /**
   * Takes a status of a handle. False when it is stale or belongs to another handle.
   *
   * @throws {ProtocolViolation} when it contradicts what was proven before.
   */
  observe(status: PreparationStatus): boolean {
    const last = this.#last;
    if (last && last.handle !== status.handle) return false;
    if (last && status.revision <= last.revision) {
      this.#repeat(status);
      return false;
    }
    this.#check(status, last);
    this.#last = status;
    this.#settle(status);
    return true;
  }

  /** Ends the observation. */
  lose(reason: LossReason): void {
    this.#lost ??= reason;
    this.#ready.resolve({ kind: "lost", reason });
    this.#release?.resolve({ kind: "lost", reason });
  }

  /** One word for a report: the state, the rejection, or that nothing is known. */
  get word(): string {
    if (this.#rejection) return `rejected:${this.#rejection}`;
    if (!this.#last) return this.#lost ? "unknown" : "open";
    const code = this.#last.error_code ? `:${this.#last.error_code}` : "";
    return `${this.#last.state}${code}`;
  }

  /** A repeated current status still answers a release of a handle that had moved on. */
  #repeat(status: PreparationStatus): void {
    if (this.#last && status.revision === this.#last.revision) {
      this.#settleRelease(status);
    }
  }

  #check(
    status: PreparationStatus,
    last: PreparationStatus | undefined,
  ): void {
    const executorMoved = last?.executor_id !== undefined &&
      status.executor_id !== last.executor_id;
    if (executorMoved) throw violation("the executor of a handle changed");
    if (last && last.expires_at !== status.expires_at) {
      throw violation("the deadline of a handle moved");
    }
    const readOnly = this.request.configuration.workspace_read_only === true;
    if (status.state === "ready" && !status.executor_id && !readOnly) {
      throw violation("ready without an executor");
    }
    if (status.state === "preparing" && last) {
      throw violation("preparing is the first state only");
    }
    const runBound = status.state === "starting" || status.state === "started";
    if (runBound && this.startedRunId === undefined) {
      throw violation("a start that was never sent");
    }
    if (runBound && status.run_id !== this.startedRunId) {
      throw violation("a start under another Run id");
    }
    if (status.state === "released" && !this.#release) {
      throw violation("a release that was never sent");
    }
  }

  #settle(status: PreparationStatus): void {
    switch (status.state) {
      case "ready":
        this.#admission = {
          handle: status.handle ?? "",
          ...(status.executor_id ? { executorId: status.executor_id } : {}),
          expiresAt: status.expires_at ?? 0,
          reused: status.reused === true,
        };
        this.#ready.resolve({ kind: "ready", admission: this.#admission });
        return;
      case "failed":
        this.#ready.resolve({
          kind: "failed",
          code: status.error_code ?? "",
        });
        break;
      case "released":
      case "expired":
        this.#ready.resolve({ kind: status.state });
        break;
      case "preparing":
      case "starting":
      case "started":
      case "rejected":
        break;
    }
    this.#settleRelease(status);
  }

  #settleRelease(status: PreparationStatus): void {
    switch (status.state) {
      case "released":
      case "expired":
        return this.#release?.resolve({ kind: status.state });
      case "failed":
        return this.#release?.resolve({
          kind: "failed",
          code: status.error_code ?? "",
        });
      case "starting":
      case "started":
        return this.#release?.resolve({
          kind: "started",
          runId: status.run_id ?? "",
        });
      default:
    }
  }
}

function violation(rule: string): ProtocolViolation {
  return new ProtocolViolation("preparation_status", rule);
}
