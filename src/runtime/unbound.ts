// Owns the answers to workspace and Environment frames that nothing here serves: each refusal is the
// one an unbound Runtime gives, and what must stay silent stays silent.
import type { InboundEnvelope } from "../protocol/envelope.ts";
import {
  runtimeFrame,
  type RuntimeFrames,
  type RuntimeFrameType,
} from "../protocol/frames.ts";
import { MAX_OPERATION_ID_BYTES } from "../protocol/limits.ts";
import { decodeRuntimePrepare } from "../protocol/runtime_prepare.ts";
import {
  decodeEnvironmentQuiesce,
  decodeEnvironmentResume,
} from "../protocol/suspension.ts";
import { fitsUtf8, isCanonicalUuid } from "../protocol/text.ts";
import { decodeWorkspaceExport } from "../protocol/workspace_export.ts";
import { decodeWorkspaceRead } from "../protocol/workspace_read.ts";
import { decodeWorkspaceWrite } from "../protocol/workspace_write.ts";
import type { RuntimeService, ServicePort } from "./service_host.ts";

/** Frame types of the families that a bound workspace or Environment serves. */
export const SERVICE_FRAMES = [
  "runtime_prepare",
  "workspace_read",
  "workspace_write",
  "workspace_export",
  "environment_quiesce",
  "environment_resume",
] as const;

type ServiceFrame = typeof SERVICE_FRAMES[number];
type Reply = <T extends RuntimeFrameType>(
  type: T,
  id: string | undefined,
  payload: RuntimeFrames[T],
) => void;

/** Refuses the given frame types for a Runtime without workspace and Environment. */
export function unboundService(
  port: ServicePort,
  frames: readonly ServiceFrame[] = SERVICE_FRAMES,
): RuntimeService {
  const reply: Reply = (type, id, payload) =>
    port.reply(runtimeFrame(type, id, payload));
  return {
    frames,
    handle(envelope) {
      const type = frames.find((frame) => frame === envelope.type);
      if (type !== undefined) answers[type](envelope, reply);
    },
    work: () => ({ transfer: false, write: false, export: false, reads: 0 }),
    unknownOwners: () => [],
    close() {},
  };
}

/** A malformed request, or one for which nothing is there. */
function refusalCode(decoded: { readonly ok: boolean }) {
  return decoded.ok ? "resource_unavailable" : "invalid_request";
}

const answers: Readonly<
  Record<ServiceFrame, (envelope: InboundEnvelope, reply: Reply) => void>
> = {
  runtime_prepare(envelope, reply) {
    if (!isCanonicalUuid(envelope.id ?? "")) return;
    reply("runtime_prepare_result", envelope.id, {
      outcome: "rejected",
      error_code: refusalCode(decodeRuntimePrepare(envelope)),
    });
  },
  workspace_read(envelope, reply) {
    // An id that is too long is never repeated, not even in a refusal.
    if (!fitsUtf8(envelope.id ?? "", MAX_OPERATION_ID_BYTES)) return;
    reply("workspace_read_result", envelope.id, {
      outcome: "rejected",
      error_code: refusalCode(decodeWorkspaceRead(envelope)),
    });
  },
  workspace_write(envelope, reply) {
    if (!isCanonicalUuid(envelope.id ?? "")) return;
    reply("workspace_write_result", envelope.id, {
      outcome: "rejected",
      error_code: refusalCode(decodeWorkspaceWrite(envelope)),
    });
  },
  workspace_export(envelope, reply) {
    const decoded = decodeWorkspaceExport(envelope);
    if (!decoded.ok || decoded.value.step === "cancel") return;
    reply("workspace_export_result", envelope.id, {
      outcome: "rejected",
      offset: 0,
      error_code: "resource_unavailable",
    });
  },
  environment_quiesce(envelope, reply) {
    const decoded = decodeEnvironmentQuiesce(envelope);
    const { environment_id, suspend_id } = decoded.ok ? decoded.value : decoded;
    reply("environment_quiesced", envelope.id, {
      environment_id,
      suspend_id,
      accepted: false,
      error_code: "invalid_request",
    });
  },
  environment_resume(envelope, reply) {
    const decoded = decodeEnvironmentResume(envelope);
    const { environment_id, suspend_id } = decoded.ok ? decoded.value : decoded;
    reply("environment_resumed", envelope.id, {
      environment_id,
      suspend_id,
      accepted: false,
      error_code: "not_suspended",
    });
  },
};
