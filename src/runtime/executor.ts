// Owns the record of one Session's Executor: identity, frozen declaration, native object, and who
// holds it. How it is closed and kept idle is `executor_pool.ts`.
import type {
  Executor,
  ExecutorFactory,
  PreparedConfiguration,
} from "../harness/contract.ts";
import type { Timer } from "../platform/clock.ts";
import type { CapabilityDeclaration } from "../protocol/capabilities.ts";
import type { Admission } from "./admission.ts";
import type { CompleteConfiguration } from "./configuration_judgement.ts";
import type { Run } from "./run.ts";

/** Why an Executor is closed; a stable word of the log. */
export type CloseReason =
  | "preparation_failed"
  | "idle_capacity"
  | "idle_expired"
  | "invalidated"
  | "shutdown";

/** Where the close of an Executor stands. `failed` keeps the object and its capacity. */
export type CloseState = "open" | "closing" | "failed" | "closed";

/** What an Executor is created with; none of it changes. */
export interface ExecutorIdentity {
  /** A canonical UUID made by the Runtime. */
  readonly id: string;
  readonly kind: string;
  readonly sessionId: string;
  /** Empty for an Executor without an Environment. */
  readonly environmentId: string;
  readonly stateKey: string;
  readonly fingerprint: string;
  /** Frozen at admission: later heartbeats add nothing. */
  readonly declaration: CapabilityDeclaration;
  readonly configuration: PreparedConfiguration;
  /** Makes the configuration that the native preparation gets. */
  readonly complete: CompleteConfiguration;
  readonly factory: ExecutorFactory;
}

/** See the file comment. */
export class ExecutorRecord {
  /** Spans all Turns; its abort cancels a preparation in progress. */
  readonly owner = new AbortController();
  native: Executor | undefined;
  /** What the engine last confirmed, or what was requested before that. */
  nativeSessionId: string;
  preparing = true;
  /** Set once: no further Turn starts on this Executor. */
  invalid: CloseReason | undefined;
  /** Why the engine said that no further Turn can start. */
  retired: string | undefined;
  admission: Admission | undefined;
  run: Run | undefined;
  closeState: CloseState = "open";
  /** The close attempt in progress; callers join it. Resolves to whether it was confirmed. */
  closing: Promise<boolean> | undefined;
  /** Failed close attempts so far; paces the next one. */
  failedCloses = 0;
  retryTimer: Timer | undefined;
  idleTimer: Timer | undefined;
  /** Counts idle periods; a timer of an older one does nothing. */
  lease = 0;

  constructor(readonly identity: ExecutorIdentity) {
    this.nativeSessionId = identity.configuration.agentSessionId ?? "";
  }

  get id(): string {
    return this.identity.id;
  }

  /** Whether nothing holds it and it may take an admission. */
  get idle(): boolean {
    return !this.preparing && this.invalid === undefined &&
      this.admission === undefined && this.run === undefined;
  }

  /** Whether it counts against the active limit. */
  get active(): boolean {
    return !this.idle;
  }
}
