// Owns `execution_start`: consumes a reservation once and hands the Run to the engine.
import type { StartedTurn } from "../harness/contract.ts";
import type { InboundEnvelope } from "../protocol/envelope.ts";
import {
  decodeExecutionStart,
  type ExecutionStart,
  type PreparationStatus,
  type StartErrorCode,
} from "../protocol/execution.ts";
import { type Admission, transition } from "./admission.ts";
import { inputRefusal } from "./adapter_checks.ts";
import type { Admissions } from "./admissions.ts";
import type { ExecutorRecord } from "./executor.ts";
import { startFingerprint } from "./fingerprint.ts";
import { REPLY_BUDGET_MS } from "./limits.ts";
import type { OutputForwarder } from "./output.ts";
import { rejection } from "./rejection.ts";
import type { Reservations } from "./reservation.ts";
import { Run } from "./run.ts";
import type { Runs } from "./runs.ts";
import type { RouterScope } from "./scope.ts";
import type { ServiceHost } from "./service_host.ts";
import type { Settlements } from "./settlement.ts";
import { decideStart } from "./start_decision.ts";
import { traceOf } from "./trace.ts";
import { untilAborted } from "./waiting.ts";

/** The parts a start works with. */
export interface StartParts {
  readonly scope: RouterScope;
  readonly admissions: Admissions;
  readonly reservations: Reservations;
  readonly runs: Runs;
  readonly settlements: Settlements;
  readonly forwarder: OutputForwarder;
  readonly services: ServiceHost;
}

/** What the native start came to. `blocked`: it was never called. */
type NativeStart =
  | { readonly kind: "blocked" }
  | { readonly kind: "returned"; readonly started: StartedTurn }
  /** It threw or never returned: without a Turn, but input may have been submitted. */
  | { readonly kind: "uncertain"; readonly error: Error };

/** Core may show it. */
const START_FAILED_TEXT = "prepared execution could not start";

/** See the file comment. */
export class Starts {
  readonly #parts: StartParts;

  constructor(parts: StartParts) {
    this.#parts = parts;
  }

  /** Handles `execution_start`. */
  handle(envelope: InboundEnvelope): void {
    const { scope, admissions, reservations, runs, services } = this.#parts;
    const decoded = decodeExecutionStart(envelope);
    if (!decoded.ok) return this.#reject(envelope, "invalid_start");
    const start = decoded.value;
    const admission = admissions.ofHandle(start.handle);
    if (this.#refusesInput(admission, start)) {
      return this.#reject(envelope, "invalid_start");
    }
    const decision = decideStart({
      start,
      requestId: envelope.id ?? "",
      fingerprint: startFingerprint(start),
      admission,
      excluded: scope.phase === "draining" || services.excludesExecution(),
      runRouted: runs.get(start.run_id) !== undefined,
      now: scope.clock.monotonic(),
    });
    switch (decision.kind) {
      case "reject":
        return this.#reject(envelope, decision.code);
      case "silent":
        return;
      case "republish":
        return reservations.republish(decision.admission);
      case "expire":
        return reservations.expire(decision.admission);
      case "start":
        return this.#accept(
          envelope,
          start,
          decision.admission,
          decision.executor,
        );
    }
  }

  /** The adapter's own check; an input it cannot take unchanged leaves everything as it is. */
  #refusesInput(
    admission: Admission | undefined,
    start: ExecutionStart,
  ): boolean {
    const identity = admission?.executor?.identity;
    if (identity === undefined) return false;
    const refusal = inputRefusal(this.#parts.scope.log, identity, start.input);
    if (refusal === undefined) return false;
    this.#parts.scope.log.info("input refused", {
      kind: identity.kind,
      reason: refusal.reason,
    });
    return true;
  }

  #accept(
    envelope: InboundEnvelope,
    start: ExecutionStart,
    admission: Admission,
    executor: ExecutorRecord,
  ): void {
    const { scope, runs, forwarder } = this.#parts;
    admission.runId = start.run_id;
    admission.startFingerprint = startFingerprint(start);
    const starting = transition(admission, ["ready"], "starting");
    if (starting === undefined) return; // decided one line ago: cannot happen
    const trace = traceOf(envelope.trace, scope.ids);
    const { kind } = executor.identity;
    const run = new Run({
      id: start.run_id,
      trace,
      executor,
      admission,
      span: scope.telemetry.begin("run", trace, { kind }),
    });
    executor.run = run;
    runs.add(run);
    // The forwarder first: a start may emit more events than the queue holds before it returns.
    scope.tasks.run(`forward run ${run.id}`, () => forwarder.forward(run));
    scope.tasks.run(
      `start run ${run.id}`,
      () => this.#start(run, start, starting),
    );
  }

  async #start(
    run: Run,
    start: ExecutionStart,
    starting: PreparationStatus,
  ): Promise<void> {
    const { admission } = run;
    const { admissions } = this.#parts;
    const delivery = await admissions.publish(admission, starting);
    const native: NativeStart = delivery !== "delivered" || run.release.aborting
      ? { kind: "blocked" }
      : await this.#startNative(run, start);
    admission.stopTimer();
    if (native.kind === "returned" && native.started.turn !== undefined) {
      run.turn = native.started.turn;
      run.startError = native.started.error;
      run.startDone.resolve();
      return await this.#started(run);
    }
    await this.#notStarted(run, native);
  }

  async #startNative(run: Run, start: ExecutionStart): Promise<NativeStart> {
    const { native } = run.executor;
    if (native === undefined) return { kind: "blocked" };
    try {
      const started = await untilAborted(
        run.startForsaken.signal,
        Promise.try(() =>
          native.startTurn({
            runId: run.id,
            input: start.input,
            sink: run.output,
            signal: run.startAbort.signal,
          })
        ),
      );
      return { kind: "returned", started };
    } catch (error) {
      const cause = error instanceof Error ? error : new Error("start failed");
      return { kind: "uncertain", error: cause };
    }
  }

  /** The Run has its Turn: publishes `started`, at the latest until the admission's deadline. */
  async #started(run: Run): Promise<void> {
    const { admissions, settlements } = this.#parts;
    const { admission, release } = run;
    if (release.aborting) {
      transition(admission, ["starting"], "failed", "start_cancelled");
    } else {
      const started = transition(admission, ["starting"], "started");
      const publication = started === undefined
        ? "not_delivered"
        : await admissions.publish(admission, started, {
          until: admission.grant.deadline,
          signal: release.abortSignal,
        });
      if (publication === "delivered") {
        admission.startPublished = true;
        run.published = true;
      }
      if (publication !== "delivered" || run.startError !== undefined) {
        settlements.claim(run, { abort: true, failureText: START_FAILED_TEXT });
      }
    }
    admission.owns = false; // the Run owns from here on
    run.publicationDone.resolve();
  }

  /** No Turn: closes the Executor, and only a confirmed close may promise that nothing ran. */
  async #notStarted(run: Run, native: NativeStart): Promise<void> {
    const { scope, admissions, settlements } = this.#parts;
    if (native.kind === "returned") run.startError = native.started.error;
    if (native.kind === "uncertain") {
      run.startError = native.error;
      run.startUncertain = true;
    }
    if (run.startError !== undefined) {
      scope.log.warn("native start failed", {
        run: run.id,
        error: run.startError,
      });
    }
    run.output.close();
    run.startDone.resolve();
    run.publicationDone.resolve();
    settlements.claim(run, { abort: true });
    const result = await run.release.attempt;
    const code = result?.kind !== "finished"
      ? "executor_cleanup_unconfirmed"
      : native.kind === "returned"
      ? "executor_unavailable"
      : "start_cancelled";
    const { admission } = run;
    admission.owns = false;
    await scope.sender.sendWithin(
      REPLY_BUDGET_MS,
      rejection(admission.grant.requestId, admission.grant.trace, {
        operation: "execution_start",
        code,
        handle: admission.grant.handle,
        executorId: run.executor.id,
      }),
    );
    const failed = transition(admission, ["starting"], "failed", code);
    if (failed !== undefined) await admissions.publish(admission, failed);
  }

  #reject(envelope: InboundEnvelope, code: StartErrorCode): void {
    const { scope } = this.#parts;
    scope.sender.reply(
      rejection(envelope.id, traceOf(envelope.trace, scope.ids), {
        operation: "execution_start",
        code,
      }),
    );
  }
}
