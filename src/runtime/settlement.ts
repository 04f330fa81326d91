// Owns how a Run ends. One permanent claim, then attempts: native settlement, a close where the
// Executor cannot be kept, the join of admitted operations, retirement, and only then the frames.
import type { Turn } from "../harness/contract.ts";
import { deadlineSignal } from "../platform/clock.ts";
import { deferred } from "../platform/deferred.ts";
import type { ExecutorPool } from "./executor_pool.ts";
import {
  MAX_REFUSED_CANCELS,
  OPERATION_GRACE_MS,
  SETTLEMENT_BUDGET_MS,
} from "./limits.ts";
import { publishEnd, runOutcome } from "./run_end.ts";
import type { AttemptResult } from "./release.ts";
import type { Run } from "./run.ts";
import type { Runs } from "./runs.ts";
import type { RouterScope } from "./scope.ts";
import { untilAborted, WaitAborted } from "./waiting.ts";

/** How a Run is claimed. */
export interface Claim {
  /** Cancel the native Turn, or never start it. */
  readonly abort: boolean;
  /** Fixed text of the `error` that precedes `done`; the first one stays. */
  readonly failureText?: string;
  /** Begin another attempt when the last one kept the Run. */
  readonly retry?: boolean;
}

/** What the native side said. */
type NativeVerdict = "confirmed" | "unconfirmed" | "cancel_refused";

class CancelRefused extends Error {}

/** See the file comment. */
export class Settlements {
  readonly #scope: RouterScope;
  readonly #pool: ExecutorPool;
  readonly #runs: Runs;

  constructor(scope: RouterScope, pool: ExecutorPool, runs: Runs) {
    this.#scope = scope;
    this.#pool = pool;
    this.#runs = runs;
  }

  /** Claims the Run for its end; every later call can only make the claim stronger. */
  claim(run: Run, claim: Claim): void {
    const { release } = run;
    if (!release.claimed) {
      release.claim();
      this.#runs.dropRoutes(run);
    }
    release.failureText ??= claim.failureText;
    if (claim.abort && !release.aborting) {
      release.abort();
      run.startAbort.abort();
    }
    const again = claim.retry === true && release.result?.kind === "kept";
    if (release.attempt === undefined || again) this.#begin(run);
  }

  #begin(run: Run): void {
    const { release } = run;
    release.result = undefined;
    const attempt = this.#attempt(run).catch((error): AttemptResult => {
      this.#scope.log.error("settlement failed", {
        run: run.id,
        error: error instanceof Error ? error : undefined,
      });
      return { kind: "kept", cause: "close" };
    }).then((result) => {
      release.result = result;
      if (result.kind === "kept") {
        this.#scope.log.warn("run kept", { run: run.id, cause: result.cause });
        this.#pool.scheduleRetry(run.executor);
      }
      return result;
    });
    release.attempt = attempt;
    this.#scope.tasks.run(`settle run ${run.id}`, async () => {
      await attempt;
    });
  }

  async #attempt(run: Run): Promise<AttemptResult> {
    if (!await this.#startReturned(run)) {
      return { kind: "kept", cause: "close" };
    }
    const verdict = run.turn === undefined
      ? this.#nothingStarted(run)
      : await this.#settleTurn(run, run.turn);
    if (verdict === "cancel_refused") return { kind: "kept", cause: verdict };
    if (verdict === "confirmed") await run.outputDone.promise;
    this.#judgeOutput(run, verdict);
    if (this.#mustClose(run)) {
      if (!await this.#pool.close(run.executor)) {
        return { kind: "kept", cause: "close" };
      }
      run.output.close(); // a confirmed close ends the output of a Turn that did not
    }
    await this.#joinOperations(run);
    await run.outputDone.promise;
    await run.publicationDone.promise;
    this.#retire(run);
    await publishEnd(this.#scope, run);
    run.release.settled.resolve();
    const result = {
      kind: "finished",
      confirmed: verdict === "confirmed",
    } as const;
    run.span.end(runOutcome(run, result));
    return result;
  }

  /** Waits for the native start; an abort meanwhile closes the Executor, which also unblocks it. */
  async #startReturned(run: Run): Promise<boolean> {
    const { release, startDone } = run;
    if (startDone.settled) return true;
    const aborted = deferred();
    const onAbort = () => aborted.resolve();
    if (release.aborting) onAbort();
    release.abortSignal.addEventListener("abort", onAbort, { once: true });
    await Promise.race([startDone.promise, aborted.promise]);
    release.abortSignal.removeEventListener("abort", onAbort);
    if (startDone.settled) return true;
    if (!await this.#pool.close(run.executor)) return false;
    // Nothing native lives any more: a start that still does not return is given up.
    const timer = this.#scope.clock.after(
      SETTLEMENT_BUDGET_MS,
      () => run.startForsaken.abort(),
    );
    await startDone.promise;
    timer.cancel();
    return true;
  }

  /** Without a Turn there is nothing to ask: either no input was submitted, or nobody can say. */
  #nothingStarted(run: Run): NativeVerdict {
    if (run.startUncertain) return "unconfirmed";
    run.release.outcome ??= { content: "" };
    return "confirmed";
  }

  /** One budget for native cancel and settlement. An abort that comes later joins at once. */
  async #settleTurn(run: Run, turn: Turn): Promise<NativeVerdict> {
    const { release } = run;
    if (release.settlement !== undefined) return "confirmed";
    const budget = deadlineSignal(
      this.#scope.clock,
      SETTLEMENT_BUDGET_MS,
      "Turn settlement",
    );
    const refused = deferred<never>();
    let cancelling: Promise<void> | undefined;
    const cancel = () => {
      cancelling = Promise.try(() => turn.cancel(budget.signal));
      cancelling.catch(() => refused.reject(new CancelRefused()));
    };
    try {
      const settling = Promise.try(() => turn.awaitSettlement(budget.signal));
      if (release.aborting) cancel();
      else release.abortSignal.addEventListener("abort", cancel);
      const settlement = await untilAborted(
        budget.signal,
        Promise.race([settling, refused.promise]),
      );
      if (cancelling !== undefined) {
        await untilAborted(
          budget.signal,
          Promise.race([cancelling, refused.promise]),
        );
      }
      release.settlement = settlement;
      release.outcome = turn.cancellationOutcome();
      return "confirmed";
    } catch (error) {
      return this.#unsettled(run, error, budget.signal.aborted);
    } finally {
      release.abortSignal.removeEventListener("abort", cancel);
      budget.cancel();
    }
  }

  #unsettled(run: Run, error: unknown, outOfTime: boolean): NativeVerdict {
    const refused = error instanceof CancelRefused && !outOfTime;
    this.#scope.log.warn("turn settlement unconfirmed", {
      run: run.id,
      cause: refused
        ? "cancel refused"
        : error instanceof WaitAborted
        ? "out of time"
        : "settlement failed",
    });
    if (!refused) return "unconfirmed";
    run.release.refusedCancels++;
    return run.release.refusedCancels < MAX_REFUSED_CANCELS
      ? "cancel_refused"
      : "unconfirmed";
  }

  /** An end without a terminal result is a broken promise of the adapter, unless it was asked for. */
  #judgeOutput(run: Run, verdict: NativeVerdict): void {
    if (run.turn === undefined) return;
    if (verdict === "unconfirmed") {
      run.release.failureText ??= "Turn settlement failed";
    } else if (
      run.done === undefined && !run.release.aborting
    ) run.protocolError ??= "the Turn ended without a terminal result";
  }

  /** Whether the Executor cannot be kept; without a confirmed settlement it never is. */
  #mustClose(run: Run): boolean {
    const { executor, release } = run;
    return run.turn === undefined || release.settlement?.reusable !== true ||
      run.startError !== undefined ||
      run.protocolError !== undefined || run.outputFailed || run.interrupted ||
      executor.invalid !== undefined || executor.retired !== undefined ||
      !this.#scope.open;
  }

  /** Receipts of admitted operations go first. What outlives the grace counts as unknown. */
  async #joinOperations(run: Run): Promise<void> {
    const timer = this.#scope.clock.after(
      OPERATION_GRACE_MS,
      () => run.operationsAbort.abort(),
    );
    await run.operations.idle();
    timer.cancel();
    run.operationsAbort.abort();
  }

  /** Hands the Executor over before anything is published: a prepare that follows `done` finds it. */
  #retire(run: Run): void {
    const { executor, admission } = run;
    this.#runs.remove(run);
    executor.run = undefined;
    if (executor.admission === admission) executor.admission = undefined;
    admission.owns = false;
    const nativeId = run.release.outcome?.metadata?.agent_session_id;
    if (typeof nativeId === "string" && nativeId !== "") {
      executor.nativeSessionId = nativeId;
    }
    if (executor.closeState === "closed") this.#pool.removeClosed(executor);
    else this.#pool.becomeIdle(executor);
  }
}
