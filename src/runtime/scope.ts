// Owns what every part of one router shares: clock, ids, log, the way out, the tasks and the answer
// to "is this router still open".
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { noTelemetry, type Telemetry } from "../platform/telemetry.ts";
import { BudgetedSender, type FrameSender } from "./frame_sender.ts";
import { MAX_ACTIVE_EXECUTORS, MAX_IDLE_EXECUTORS } from "./limits.ts";
import { TaskSet } from "./tasks.ts";

/** What one router is made with. */
export interface ScopeOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly sender: FrameSender;
  /** Where spans and counts go; nowhere when absent. */
  readonly telemetry?: Telemetry;
  /** The operator's own limits; they lower the built-in ones and never raise them. */
  readonly executorLimits?: Partial<ExecutorLimits>;
}

/** How many Executors one router keeps. */
export interface ExecutorLimits {
  readonly active: number;
  readonly idle: number;
}

/**
 * `open` admits work; `suspended` takes no frame and keeps its idle owners; `draining` settles and
 * refuses new work; `closed` sends nothing any more.
 */
export type Phase = "open" | "suspended" | "draining" | "closed";

/** Shared by the parts of one router; lives exactly as long as its connection's work. */
export class RouterScope {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly telemetry: Telemetry;
  readonly tasks: TaskSet;
  readonly sender: BudgetedSender;
  readonly executorLimits: ExecutorLimits;
  readonly #shutdown = new AbortController();
  #phase: Phase = "open";

  constructor(options: ScopeOptions) {
    this.clock = options.clock;
    this.ids = options.ids;
    this.log = options.log;
    this.telemetry = options.telemetry ?? noTelemetry;
    const { active, idle } = options.executorLimits ?? {};
    this.executorLimits = {
      active: Math.min(active ?? MAX_ACTIVE_EXECUTORS, MAX_ACTIVE_EXECUTORS),
      idle: Math.min(idle ?? MAX_IDLE_EXECUTORS, MAX_IDLE_EXECUTORS),
    };
    this.tasks = new TaskSet(options.log);
    this.sender = new BudgetedSender({
      sender: options.sender,
      clock: options.clock,
      shutdown: this.#shutdown.signal,
      tasks: this.tasks,
      log: options.log,
      telemetry: this.telemetry,
    });
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Whether this router still sends; a suspended one does, for the receipts that it owes. */
  get open(): boolean {
    return this.#phase !== "closed";
  }

  /** Aborts every cooperating send and native write of this router. */
  get shutdown(): AbortSignal {
    return this.#shutdown.signal;
  }

  /** No new work; what runs is settled and reported. */
  drain(): void {
    if (this.open) this.#phase = "draining";
  }

  /** No frame is taken any more until a resume; what was begun before it is sent. */
  suspend(): void {
    if (this.#phase === "open") this.#phase = "suspended";
  }

  /** Takes frames again. Only a suspended router can. */
  resume(): void {
    if (this.#phase === "suspended") this.#phase = "open";
  }

  /** Nothing is handled or admitted any more. Claims are made between this and the interruption. */
  close(): void {
    this.#phase = "closed";
  }

  /** Ends every wait for the peer. */
  interrupt(): void {
    this.#shutdown.abort();
  }
}
