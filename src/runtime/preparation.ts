// Owns `execution_prepare` and `execution_release` for Executors: admits, prepares outside the receive
// loop, and gives a reservation up again.
import type { Executor } from "../harness/contract.ts";
import { PreparationFailed } from "../harness/contract.ts";
import type { InboundEnvelope } from "../protocol/envelope.ts";
import {
  decodeExecutionPrepare,
  decodeExecutionRelease,
  type ExecutionPrepare,
  type PrepareErrorCode,
  type ReleaseErrorCode,
} from "../protocol/execution.ts";
import { type Admission, transition } from "./admission.ts";
import type { Admissions } from "./admissions.ts";
import type { WorkspaceBinding } from "./binding.ts";
import {
  type HarnessKinds,
  judgeConfiguration,
  type JudgedConfiguration,
} from "./configuration_judgement.ts";
import type { ExecutorRecord } from "./executor.ts";
import type { ExecutorPool } from "./executor_pool.ts";
import { prepareFingerprint } from "./fingerprint.ts";
import { decidePrepare } from "./prepare_decision.ts";
import type { ReadOnlyPreparations } from "./read_only_preparation.ts";
import { rejection } from "./rejection.ts";
import type { Reservations } from "./reservation.ts";
import type { RouterScope } from "./scope.ts";
import type { ServiceHost } from "./service_host.ts";
import { traceOf } from "./trace.ts";

/** The parts preparations work with. */
export interface PreparationParts {
  readonly scope: RouterScope;
  readonly admissions: Admissions;
  readonly pool: ExecutorPool;
  readonly harnesses: HarnessKinds;
  readonly binding: WorkspaceBinding | undefined;
  readonly services: ServiceHost;
  readonly readOnly: ReadOnlyPreparations;
  readonly reservations: Reservations;
}

/** See the file comment. */
export class Preparations {
  readonly #parts: PreparationParts;

  constructor(parts: PreparationParts) {
    this.#parts = parts;
  }

  /** Handles `execution_prepare`. */
  handlePrepare(envelope: InboundEnvelope): void {
    const { scope, harnesses, binding, services, readOnly } = this.#parts;
    const trace = traceOf(envelope.trace, scope.ids);
    const decoded = decodeExecutionPrepare(envelope);
    const reject = (code: PrepareErrorCode, reason: string) => {
      scope.log.info("preparation rejected", { code, reason });
      scope.sender.reply(
        rejection(envelope.id, trace, { operation: "execution_prepare", code }),
      );
    };
    if (!decoded.ok) return reject("invalid_request", decoded.reason);
    const request = decoded.value;
    const requestId = envelope.id ?? "";
    if (request.configuration.workspace_read_only === true) {
      const code = readOnly.prepare(request, { requestId, trace });
      return code === undefined ? undefined : reject(code, "read-only profile");
    }
    const judged = judgeConfiguration(request, {
      harnesses,
      binding,
      log: scope.log,
      source: envelope.source,
    });
    if (!judged.ok) return reject(judged.code, judged.reason);
    if (scope.phase === "draining" || services.excludesExecution()) {
      return reject("resource_unavailable", "other work is present");
    }
    const code = this.#admit(request, judged.value, { requestId, trace });
    if (code !== undefined) reject(code, "the router's state");
  }

  /** Handles `execution_release`. Never reaches a Run. */
  handleRelease(envelope: InboundEnvelope): void {
    const { scope, admissions, readOnly, reservations } = this.#parts;
    const reject = (code: ReleaseErrorCode) =>
      scope.sender.reply(
        rejection(envelope.id, traceOf(envelope.trace, scope.ids), {
          operation: "execution_release",
          code,
        }),
      );
    const decoded = decodeExecutionRelease(envelope);
    if (!decoded.ok) return reject("invalid_release");
    const admission = admissions.ofHandle(decoded.value.handle);
    if (admission === undefined || admission.grant.requestId !== envelope.id) {
      return reject("unknown_preparation");
    }
    if (admission.grant.target.kind === "read_only") {
      return readOnly.release(admission);
    }
    if (!reservations.release(admission)) {
      this.#parts.reservations.republish(admission);
    }
  }

  #expire(admission: Admission): void {
    this.#parts.reservations.expire(admission);
  }

  #admit(
    request: ExecutionPrepare,
    judged: JudgedConfiguration,
    origin: { readonly requestId: string; readonly trace: string },
  ): PrepareErrorCode | undefined {
    const { admissions, pool } = this.#parts;
    admissions.prune();
    const fingerprint = prepareFingerprint(request);
    const { prepared } = judged;
    const counts = pool.counts();
    const decision = decidePrepare({
      requestFingerprint: fingerprint,
      environmentId: judged.environmentId,
      executorFingerprint: judged.fingerprint,
      agentSessionId: prepared.agentSessionId ?? "",
      requireExistingNativeSession: prepared.requireExistingNativeSession,
      known: admissions.ofRequest(origin.requestId),
      records: admissions.count,
      owningAdmissions: admissions.owning,
      activeExecutors: counts.active,
      maximumActiveExecutors: this.#parts.scope.executorLimits.active,
      executors: counts.active + counts.idle,
      ofSession: pool.ofSession(prepared.sessionId),
      ofStateKey: pool.ofStateKey(prepared.agentStateKey),
    });
    switch (decision.kind) {
      case "reject":
        return decision.code;
      case "republish":
        this.#parts.reservations.republish(decision.admission);
        return undefined;
      case "reuse":
        pool.claim(decision.executor);
        this.#grant(decision.executor, {
          ...origin,
          fingerprint,
          reused: true,
        });
        return undefined;
      case "create":
        this.#create(judged, { ...origin, fingerprint });
        return undefined;
    }
  }

  #create(
    judged: JudgedConfiguration,
    origin: {
      readonly requestId: string;
      readonly trace: string;
      readonly fingerprint: string;
    },
  ): void {
    const { scope, pool } = this.#parts;
    const executor = pool.create({
      id: scope.ids.uuid(),
      kind: judged.harness.kind,
      sessionId: judged.prepared.sessionId,
      environmentId: judged.environmentId,
      stateKey: judged.prepared.agentStateKey,
      fingerprint: judged.fingerprint,
      declaration: judged.harness.declaration,
      configuration: judged.prepared,
      complete: judged.complete,
      factory: judged.factory,
    });
    const admission = this.#grant(executor, { ...origin, reused: false });
    scope.tasks.run(
      `prepare executor ${executor.id}`,
      async () => {
        const { trace } = admission.grant;
        const { kind } = executor.identity;
        const span = scope.telemetry.begin("preparation", trace, { kind });
        await this.#prepare(admission, executor);
        span.end(admission.errorCode ?? admission.state);
      },
    );
  }

  #grant(
    executor: ExecutorRecord,
    origin: {
      readonly requestId: string;
      readonly trace: string;
      readonly fingerprint: string;
      readonly reused: boolean;
    },
  ): Admission {
    const admission = this.#parts.admissions.grant({
      ...origin,
      target: { kind: "executable", executor },
    }, (expired) => this.#expire(expired));
    executor.admission = admission;
    if (origin.reused) {
      this.#parts.scope.tasks.run("publish preparation status", async () => {
        await this.#parts.reservations.publish(admission);
      });
    }
    return admission;
  }

  /** The one task of a fresh Executor, from `preparing` to `ready` or to a settled failure. */
  async #prepare(
    admission: Admission,
    executor: ExecutorRecord,
  ): Promise<void> {
    const { pool, admissions } = this.#parts;
    admission.busy = true;
    const announced = await this.#parts.reservations.publish(admission);
    const native = announced && executor.invalid === undefined
      ? await this.#prepareNative(executor)
      : {};
    if (native.executor !== undefined) pool.adopt(executor, native.executor);
    executor.preparing = false;
    admission.busy = false;
    if (
      native.executor !== undefined && native.complete &&
      this.#stillWanted(executor)
    ) {
      if (transition(admission, ["preparing"], "ready") !== undefined) {
        await this.#parts.reservations.publish(admission);
        return;
      }
    }
    admission.busy = true;
    executor.invalid ??= "preparation_failed";
    const failed = transition(
      admission,
      ["preparing"],
      "failed",
      "preparation_failed",
    );
    admission.stopTimer();
    const closed = await pool.close(executor);
    if (executor.admission === admission) executor.admission = undefined;
    admission.busy = false;
    admission.owns = !closed;
    const snapshot = closed ? failed : transition(
      admission,
      ["failed", "released", "expired"],
      "failed",
      "executor_cleanup_unconfirmed",
    );
    if (snapshot !== undefined) await admissions.publish(admission, snapshot);
  }

  #stillWanted(executor: ExecutorRecord): boolean {
    return executor.invalid === undefined && this.#parts.scope.open;
  }

  async #prepareNative(
    executor: ExecutorRecord,
  ): Promise<{ readonly executor?: Executor; readonly complete?: boolean }> {
    const { scope } = this.#parts;
    const { complete, factory, kind } = executor.identity;
    const { signal } = executor.owner;
    const began = scope.clock.monotonic();
    try {
      const configuration = await complete(signal);
      if (signal.aborted) return {};
      const native = await factory.prepare(configuration, signal);
      scope.log.info("executor prepared", {
        executor: executor.id,
        kind,
        milliseconds: scope.clock.monotonic() - began,
      });
      return { executor: native, complete: true };
    } catch (error) {
      scope.log.warn("preparation failed", {
        executor: executor.id,
        kind,
        milliseconds: scope.clock.monotonic() - began,
        error: error instanceof Error ? error : undefined,
      });
      const retained = error instanceof PreparationFailed
        ? error.retained
        : undefined;
      return retained === undefined ? {} : { executor: retained };
    }
  }
}
