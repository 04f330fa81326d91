// Owns the write of one connection: a file received whole, checked against its digest, and created
// without ever taking the place of anything. After an unknown effect the slot stays taken.
import { DEFAULT_TRANSFER_BUDGET_MS } from "../protocol/limits.ts";
import { runtimeFrame } from "../protocol/frames.ts";
import {
  decodeWorkspaceWrite,
  type WorkspaceWriteBegin,
  type WorkspaceWriteReason,
  type WorkspaceWriteRejection,
  type WorkspaceWriteResult,
} from "../protocol/workspace_write.ts";
import type { TransferBody } from "../transfer/body.ts";
import type { Applied } from "../transfer/exchange.ts";
import type { WorkspaceWriter, WriteOutcome } from "../workspace/writer.ts";
import type { BoundIdentity } from "./bound_services.ts";
import type {
  RuntimeService,
  RuntimeServiceFactory,
  ServicePort,
} from "./service_host.ts";
import { type TransferReply, TransferSlot } from "./transfer_service.ts";

/** A refusal as the wire names it. */
interface Refusal {
  readonly code: WorkspaceWriteRejection;
  readonly reason?: WorkspaceWriteReason;
}

/** Bytes written. */
type Reply = TransferReply<WorkspaceWriteRejection, number, Refusal>;

/** Serves `workspace_write` for the bound workspace. */
export function workspaceWrites(
  identity: BoundIdentity,
  writer: WorkspaceWriter,
): RuntimeServiceFactory {
  return (port) => service(port, identity, writer);
}

function service(
  port: ServicePort,
  identity: BoundIdentity,
  writer: WorkspaceWriter,
): RuntimeService {
  const slot = new TransferSlot<
    WorkspaceWriteBegin,
    WorkspaceWriteRejection,
    number,
    Refusal
  >(port, {
    frame: "workspace_write",
    decode: decodeWorkspaceWrite,
    invalidRequest: "invalid_request",
    resourceUnavailable: "resource_unavailable",
    capacity: "write_capacity",
    admitBeforeCapacity() {
      const { transfer, export: exporting } = port.serviceWork();
      return transfer || exporting ? "resource_unavailable" : undefined;
    },
    admit(begin) {
      if (writer.components(begin.path) === undefined) return "invalid_request";
      const { runs, activeExecutors, ownedAdmissions } = port.runtimeWork();
      const isOurs = begin.environment_id === identity.environmentId &&
        begin.session_id === identity.sessionId;
      const isBusy = runs > 0 || activeExecutors > 0 || ownedAdmissions > 0 ||
        port.serviceWork().reads > 0;
      return !isOurs || isBusy ? "resource_unavailable" : undefined;
    },
    declared: (begin) => ({
      sizeBytes: begin.size_bytes ?? 0,
      sha256: begin.sha256,
    }),
    budget: () => DEFAULT_TRANSFER_BUDGET_MS,
    budgetCoversApplication: false,
    lostReplyEndsTransfer: false,
    apply: (begin, body) => write(writer, begin, body),
    reply: (id, reply) =>
      runtimeFrame("workspace_write_result", id, resultOf(reply)),
  });
  return {
    frames: ["workspace_write"],
    handle: (envelope) => slot.handle(envelope),
    work: () => ({
      transfer: false,
      write: slot.taken,
      export: false,
      reads: 0,
    }),
    unknownOwners: () =>
      slot.uncertain
        ? [{
          owner: "workspace write",
          remedy:
            "look at the destination, then restart the daemon; Core keeps its own record",
        }]
        : [],
    close: () => slot.close(),
  };
}

async function write(
  writer: WorkspaceWriter,
  begin: WorkspaceWriteBegin,
  body: TransferBody,
): Promise<Applied<number, Refusal>> {
  const components = writer.components(begin.path) ?? [];
  const written = await writer.write({
    components,
    chunks: body.chunks,
    mode: "create",
  });
  switch (written.outcome) {
    case "completed":
      return { outcome: "completed", value: begin.size_bytes ?? 0 };
    case "rejected":
      return { outcome: "refused", value: refusalOf(written.refusal) };
    case "unknown":
      return { outcome: "unknown" };
  }
}

function refusalOf(
  refusal: Extract<WriteOutcome, { outcome: "rejected" }>["refusal"],
): Refusal {
  switch (refusal) {
    case "busy":
      return { code: "write_capacity" };
    case "invalid_request":
    case "resource_unavailable":
      return { code: refusal };
    case "destination_directory":
    case "unsafe_destination":
      return { code: "write_rejected", reason: refusal };
    case "rejected":
      return { code: "write_rejected" };
  }
}

function resultOf(reply: Reply): WorkspaceWriteResult {
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
        outcome: "rejected",
        error_code: reply.value.code,
        ...(reply.value.reason === undefined
          ? {}
          : { reason: reply.value.reason }),
      };
    case "unknown":
      return { outcome: "unknown", error_code: "write_unconfirmed" };
  }
}
