// Owns the initialization exchange of one connection: `runtime_prepare` steps that install packages,
// place files and run setup. It excludes all other work and is excluded by it.
import { runtimeFrame } from "../protocol/frames.ts";
import { DEFAULT_TRANSFER_BUDGET_MS } from "../protocol/limits.ts";
import {
  decodeRuntimePrepare,
  type RuntimePrepareBegin,
  type RuntimePrepareRejection,
  type RuntimePrepareResult,
} from "../protocol/runtime_prepare.ts";
import type { TransferBody } from "../transfer/body.ts";
import type { Applied } from "../transfer/exchange.ts";
import type { BoundIdentity } from "./bound_services.ts";
import type {
  RuntimeService,
  RuntimeServiceFactory,
  ServicePort,
} from "./service_host.ts";
import { type TransferReply, TransferSlot } from "./transfer_service.ts";

/** A definite failure of a step. */
interface Failure {
  /** Of the setup process, 1 to 255. */
  readonly exitCode?: number;
}

/** Carries out a committed step; see `applyStep` of the Environment. */
export type ApplyStep = (
  begin: RuntimePrepareBegin,
  body: TransferBody,
  signal: AbortSignal,
) => Promise<Applied<undefined, Failure>>;

type Reply = TransferReply<RuntimePrepareRejection, number, Failure>;

/** Serves `runtime_prepare` for the bound Environment. */
export function runtimePreparations(
  identity: BoundIdentity,
  apply: ApplyStep,
): RuntimeServiceFactory {
  return (port) => service(port, identity, apply);
}

function service(
  port: ServicePort,
  identity: BoundIdentity,
  apply: ApplyStep,
): RuntimeService {
  const slot = new TransferSlot<
    RuntimePrepareBegin,
    RuntimePrepareRejection,
    number,
    Failure
  >(port, {
    frame: "runtime_prepare",
    decode: decodeRuntimePrepare,
    invalidRequest: "invalid_request",
    resourceUnavailable: "resource_unavailable",
    capacity: "runtime_preparation_capacity",
    admitBeforeCapacity: () => undefined,
    admit: (begin) =>
      begin.environment_id === identity.environmentId &&
        begin.session_id === identity.sessionId && isQuiet(port)
        ? undefined
        : "resource_unavailable",
    declared: (begin) =>
      "sha256" in begin
        ? { sizeBytes: begin.size_bytes ?? 0, sha256: begin.sha256 }
        : { sizeBytes: 0 },
    budget: (begin) => begin.budget_ms ?? DEFAULT_TRANSFER_BUDGET_MS,
    budgetCoversApplication: true,
    lostReplyEndsTransfer: true,
    apply: async (begin, body, signal) => {
      const applied = await apply(begin, body, signal);
      if (applied.outcome === "refused" && signal.aborted) {
        return { outcome: "unknown" }; // it may have failed because it was asked to stop
      }
      if (applied.outcome !== "completed") return applied;
      const size = "sha256" in begin ? begin.size_bytes ?? 0 : 0;
      return { outcome: "completed", value: size };
    },
    reply: (id, reply) =>
      runtimeFrame("runtime_prepare_result", id, resultOf(reply)),
  });
  return {
    frames: ["runtime_prepare"],
    handle: (envelope) => slot.handle(envelope),
    work: () => ({
      transfer: slot.taken,
      write: false,
      export: false,
      reads: 0,
    }),
    unknownOwners: () =>
      slot.uncertain
        ? [{
          owner: "runtime preparation",
          remedy:
            "look at the workspace and the installed packages, then restart the daemon",
        }]
        : [],
    close: () => slot.close(),
  };
}

/** Whether nothing else is present, an idle Executor included. */
function isQuiet(port: ServicePort): boolean {
  const { runs, activeExecutors, idleExecutors, ownedAdmissions } = port
    .runtimeWork();
  const { write, export: exporting, reads } = port.serviceWork();
  return runs + activeExecutors + idleExecutors + ownedAdmissions + reads ===
      0 && !write && !exporting;
}

function resultOf(reply: Reply): RuntimePrepareResult {
  switch (reply.outcome) {
    case "ready":
      return { outcome: "ready" };
    case "received":
      return { outcome: "received", offset: reply.offset };
    case "completed":
      return { outcome: "completed", size_bytes: reply.value };
    case "rejected":
      return { outcome: "rejected", error_code: reply.code };
    case "refused":
      return {
        outcome: "failed",
        error_code: "runtime_preparation_failed",
        ...(reply.value.exitCode === undefined
          ? {}
          : { exit_code: reply.value.exitCode }),
      };
    case "unknown":
      return {
        outcome: "unknown",
        error_code: "runtime_preparation_unconfirmed",
      };
  }
}
