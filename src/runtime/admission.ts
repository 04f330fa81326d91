// Owns the record behind one handle and its only way to change: `transition` checks the state it
// comes from, counts the revision and returns the snapshot to publish.
import type { Timer } from "../platform/clock.ts";
import type {
  PreparationFailureCode,
  PreparationState,
  PreparationStatus,
} from "../protocol/execution.ts";
import type { ExecutorRecord } from "./executor.ts";
import { OperationCounter } from "./waiting.ts";

/** A state of a handle; a refused operation is none. */
export type HandleState = Exclude<PreparationState, "rejected">;

/** What a read-only handle holds open; confirmed closed before its release is published. */
export interface ReadOnlyResource {
  /** Ends local access. A rejection keeps the resource; it may be called again. */
  close(): Promise<void>;
}

/** What an admission is about. */
export type AdmissionTarget =
  | { readonly kind: "executable"; readonly executor: ExecutorRecord }
  | {
    readonly kind: "read_only";
    readonly environmentId: string;
    resource: ReadOnlyResource | undefined;
  };

/** What an admission is created with. */
export interface AdmissionGrant {
  readonly handle: string;
  /** The envelope id of the prepare, the start and the release. */
  readonly requestId: string;
  readonly trace: string;
  readonly fingerprint: string;
  readonly target: AdmissionTarget;
  readonly reused: boolean;
  /** Unix milliseconds on the wire. */
  readonly expiresAt: number;
  /** The same instant on the monotonic clock; decides, because the wall clock may be set. */
  readonly deadline: number;
}

/** One admission record. Lives until it is pruned, also long after its handle ended. */
export class Admission {
  state: HandleState;
  revision = 1;
  errorCode: PreparationFailureCode | undefined;
  runId: string | undefined;
  startFingerprint: string | undefined;
  /** Whether it counts as an owner: native preparation, reservation or uncertain cleanup. */
  owns = true;
  /** Whether a task of this admission is at work on its resource. */
  busy = false;
  /** Whether `started` was delivered. */
  startPublished = false;
  timer: Timer | undefined;
  /** Reads and exports that were begun under this handle and hold something open. */
  readonly access = new OperationCounter();
  readonly #ended = new AbortController();
  /** The publications of this handle, one after the other. */
  publications: Promise<unknown> = Promise.resolve();
  republishing = false;

  constructor(readonly grant: AdmissionGrant) {
    this.state = grant.reused ? "ready" : "preparing";
  }

  /** The Executor, unless this is a read-only admission. */
  get executor(): ExecutorRecord | undefined {
    return this.grant.target.kind === "executable"
      ? this.grant.target.executor
      : undefined;
  }

  /** Aborts when the handle leaves `ready`; what was begun under it ends then. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Called by {@linkcode transition} only. */
  leaveReady(): void {
    this.#ended.abort();
  }

  /** Whether the handle can still change. */
  get pending(): boolean {
    return this.state === "preparing" || this.state === "ready" ||
      this.state === "starting";
  }

  /** What a status frame says about the handle now. */
  snapshot(): PreparationStatus {
    const executorId = this.executor?.id;
    return {
      ...(executorId === undefined ? {} : { executor_id: executorId }),
      ...(this.grant.reused ? { reused: true } : {}),
      handle: this.grant.handle,
      revision: this.revision,
      state: this.state,
      expires_at: this.grant.expiresAt,
      ...(this.runId === undefined ? {} : { run_id: this.runId }),
      ...(this.errorCode === undefined ? {} : { error_code: this.errorCode }),
    };
  }

  stopTimer(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }
}

/**
 * The only change of a handle. Returns the snapshot to publish, or `undefined` when the handle is in
 * none of the states in `from`: then nothing changed.
 */
export function transition(
  admission: Admission,
  from: readonly HandleState[],
  to: HandleState,
  errorCode?: PreparationFailureCode,
): PreparationStatus | undefined {
  if (!from.includes(admission.state)) return undefined;
  if (admission.state === "ready") admission.leaveReady();
  admission.state = to;
  admission.errorCode = errorCode;
  admission.revision++;
  return admission.snapshot();
}
