// Owns the counting of receipts: which frames are receipts, and the one word that each of them says.
import type { Telemetry } from "../platform/telemetry.ts";
import type { Envelope } from "../protocol/envelope.ts";
import type { InteractionDecisionAck } from "../protocol/decision_ack.ts";
import type { PromptSteerAck } from "../protocol/steering.ts";
import type { Delivery } from "./frame_sender.ts";

/** Counts the attempt to send a receipt; other frames are none and not counted. */
export function countReceipt(
  telemetry: Telemetry,
  { type, payload }: Envelope,
  delivery: Delivery,
): void {
  const outcome = type === "prompt_steer_ack"
    ? inputOutcome(payload as PromptSteerAck)
    : type === "interaction_decision_ack"
    ? decisionOutcome(payload as InteractionDecisionAck)
    : undefined;
  if (outcome === undefined) return;
  telemetry.count("receipts", 1, { kind: type, outcome, delivery });
}

function inputOutcome(receipt: PromptSteerAck): string {
  if (receipt.accepted) return "accepted";
  return receipt.written === true ? "written" : receipt.error_code ?? "refused";
}

function decisionOutcome(receipt: InteractionDecisionAck): string {
  return receipt.applied ? "applied" : receipt.error_code ?? "refused";
}
