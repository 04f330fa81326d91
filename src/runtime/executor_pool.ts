// Owns all Executors of one router: at most one per Session, kept idle between Turns, and owned until
// a close was confirmed. A failed close keeps the object and is tried again on the same object.
import type { Executor } from "../harness/contract.ts";
import { deadlineSignal } from "../platform/clock.ts";
import { type CloseReason, ExecutorRecord } from "./executor.ts";
import type { ExecutorIdentity } from "./executor.ts";
import {
  CLOSE_BUDGET_MS,
  EXECUTOR_IDLE_MS,
  RETRY_FIRST_MS,
  RETRY_MAXIMUM_MS,
} from "./limits.ts";
import type { RouterScope } from "./scope.ts";
import { untilAborted } from "./waiting.ts";

/** What the pool asks of its router. */
export interface PoolEvents {
  /** A background retry is due although a Run still holds the Executor: settle that Run again. */
  retryRun(executor: ExecutorRecord): void;
  /** The engine gave up an Executor that a ready handle promises. */
  retiredWhileReady(executor: ExecutorRecord): void;
  /** A close was confirmed and the Executor left the pool. */
  removed(executor: ExecutorRecord): void;
}

/** Counts of the pool. */
export interface PoolCounts {
  readonly active: number;
  readonly idle: number;
}

/** See the file comment. */
export class ExecutorPool {
  readonly #scope: RouterScope;
  readonly #events: PoolEvents;
  readonly #idleMilliseconds: number;
  readonly #bySession = new Map<string, ExecutorRecord>();

  constructor(
    scope: RouterScope,
    events: PoolEvents,
    idleMilliseconds: number = EXECUTOR_IDLE_MS,
  ) {
    this.#scope = scope;
    this.#events = events;
    this.#idleMilliseconds = idleMilliseconds;
  }

  /** Every Executor that is owned, in order of creation. */
  all(): readonly ExecutorRecord[] {
    return [...this.#bySession.values()];
  }

  ofSession(sessionId: string): ExecutorRecord | undefined {
    return this.#bySession.get(sessionId);
  }

  /** The Executor that uses a state key, whatever its Session. */
  ofStateKey(stateKey: string): ExecutorRecord | undefined {
    for (const executor of this.#bySession.values()) {
      if (executor.identity.stateKey === stateKey) return executor;
    }
    return undefined;
  }

  counts(): PoolCounts {
    let active = 0;
    for (const executor of this.#bySession.values()) {
      if (executor.active) active++;
    }
    return { active, idle: this.#bySession.size - active };
  }

  /** Adds the Executor of a Session that has none. It counts as preparing from here on. */
  create(identity: ExecutorIdentity): ExecutorRecord {
    const executor = new ExecutorRecord(identity);
    this.#bySession.set(identity.sessionId, executor);
    this.#log("executor created", executor);
    return executor;
  }

  /** Keeps the native object that a preparation brought, usable or not. */
  adopt(executor: ExecutorRecord, native: Executor): void {
    executor.native = native;
    native.retired.then(
      (reason) => this.#retired(executor, reason),
      () => this.#retired(executor, "unknown"), // it promised never to reject
    );
  }

  /** Takes an idle Executor out of its idle period. */
  claim(executor: ExecutorRecord): void {
    executor.lease++;
    executor.idleTimer?.cancel();
    executor.idleTimer = undefined;
  }

  /** Keeps a released Executor, or closes it when it may not or cannot be kept. */
  becomeIdle(executor: ExecutorRecord): void {
    if (!executor.idle) {
      if (executor.invalid !== undefined) this.closeDetached(executor);
      return;
    }
    if (!this.#scope.open || executor.retired !== undefined) {
      return this.invalidate(executor, "invalidated");
    }
    if (this.#scope.phase === "draining") {
      return this.invalidate(executor, "shutdown");
    }
    if (this.counts().idle > this.#scope.executorLimits.idle) {
      return this.invalidate(executor, "idle_capacity");
    }
    const lease = ++executor.lease;
    executor.idleTimer = this.#scope.clock.after(
      this.#idleMilliseconds,
      () => {
        if (executor.lease !== lease || !executor.idle) return;
        this.invalidate(executor, "idle_expired");
      },
    );
    this.#log("executor idle", executor);
  }

  /** Stops every idle period; a timer that fired already finds another lease and does nothing. */
  pauseIdle(): void {
    for (const executor of this.all()) this.claim(executor);
  }

  /** Begins every idle period anew. */
  resumeIdle(): void {
    for (const executor of this.all()) this.becomeIdle(executor);
  }

  /** Marks an Executor as unusable and, when nobody holds it, starts its close. */
  invalidate(executor: ExecutorRecord, reason: CloseReason): void {
    executor.invalid ??= reason;
    this.claim(executor);
    if (executor.preparing) executor.owner.abort();
    else if (executor.run === undefined) this.closeDetached(executor);
  }

  /** Starts or joins a close without waiting for it. */
  closeDetached(executor: ExecutorRecord): void {
    if (executor.closing !== undefined || executor.closeState === "closed") {
      return;
    }
    this.#scope.tasks.run(`close executor ${executor.id}`, async () => {
      await this.close(executor);
    });
  }

  /**
   * Closes an Executor, bounded by 10 s. Joins an attempt in progress; after a failure the next call
   * is a new attempt on the same object. Returns whether the close is confirmed. While the
   * preparation still runs it is only cancelled: its task closes what it brings.
   */
  close(executor: ExecutorRecord): Promise<boolean> {
    executor.invalid ??= "invalidated";
    if (executor.closeState === "closed") return Promise.resolve(true);
    if (executor.preparing) {
      executor.owner.abort();
      return Promise.resolve(false);
    }
    executor.closing ??= this.#attempt(executor).finally(() => {
      executor.closing = undefined;
    });
    return executor.closing;
  }

  /** Gives up a confirmed Executor that no Run holds; otherwise changes nothing. */
  removeClosed(executor: ExecutorRecord): void {
    if (executor.closeState !== "closed" || executor.run !== undefined) return;
    const { sessionId } = executor.identity;
    if (this.#bySession.get(sessionId) !== executor) return;
    this.#bySession.delete(sessionId);
    this.#events.removed(executor);
  }

  /** Tries again later what failed now, with growing pauses. Not after the router was closed. */
  scheduleRetry(executor: ExecutorRecord): void {
    if (!this.#scope.open || executor.retryTimer !== undefined) return;
    const exponent = Math.min(Math.max(executor.failedCloses - 1, 0), 16);
    const pause = Math.min(RETRY_FIRST_MS * 2 ** exponent, RETRY_MAXIMUM_MS);
    executor.retryTimer = this.#scope.clock.after(pause, () => {
      executor.retryTimer = undefined;
      if (executor.run !== undefined) this.#events.retryRun(executor);
      else this.closeDetached(executor);
    });
  }

  async #attempt(executor: ExecutorRecord): Promise<boolean> {
    executor.retryTimer?.cancel();
    executor.retryTimer = undefined;
    executor.closeState = "closing";
    this.claim(executor);
    const deadline = deadlineSignal(
      this.#scope.clock,
      CLOSE_BUDGET_MS,
      "executor close",
    );
    try {
      const { native } = executor;
      if (native !== undefined) {
        await untilAborted(
          deadline.signal,
          Promise.try(() => native.close(deadline.signal)),
        );
      }
    } catch (error) {
      executor.closeState = "failed";
      executor.failedCloses++;
      this.#log("executor close unconfirmed", executor, error);
      this.scheduleRetry(executor);
      return false;
    } finally {
      deadline.cancel();
    }
    executor.closeState = "closed";
    executor.owner.abort();
    this.#log("executor closed", executor);
    this.removeClosed(executor);
    return true;
  }

  #retired(executor: ExecutorRecord, reason: string): void {
    executor.retired = reason;
    if (executor.invalid !== undefined || executor.preparing) return;
    this.#log("executor retired", executor);
    if (executor.run !== undefined) return; // its settlement closes it
    if (executor.admission !== undefined) {
      this.#events.retiredWhileReady(executor);
    } else this.invalidate(executor, "invalidated");
  }

  #log(event: string, executor: ExecutorRecord, error?: unknown): void {
    this.#scope.log.info(event, {
      executor: executor.id,
      kind: executor.identity.kind,
      reason: executor.invalid,
      failures: executor.failedCloses || undefined,
      error: error instanceof Error ? error : undefined,
    });
  }
}
