// Owns the observations of child agents, Runtime to Core, with the Run id. Order per child: its
// identity, an active Turn, the Items of that Turn, the Turn's end.
import * as z from "zod";
import { accepted, type Decoded, refused } from "./decoded.ts";
import type { InboundEnvelope } from "./envelope.ts";
import { usageWire } from "./run_output.ts";
import {
  integer,
  integer32,
  list,
  nullable,
  rawValue,
  readPayload,
  type Wire,
  wireObject,
} from "./wire_object.ts";

/** Schema of `subagent_identity`. */
export const subagentIdentityWire = wireObject({
  native_id: z.string(),
  parent_native_id: z.string(),
  native_created_at: integer,
  parent_turn_id: z.string(),
  source_item_id: z.string(),
  name: nullable(z.string()),
  instructions: nullable(z.string()),
}, "rejected");
/** A child whose native identity and parent are proved. `native_created_at` is Unix seconds. */
export type SubagentIdentity = Wire<typeof subagentIdentityWire>;

/** Schema of `subagent_lifecycle`. */
export const subagentLifecycleWire = wireObject({
  native_id: z.string(),
  effect_id: z.string(),
  status: z.enum(["active", "closed"]),
  occurred_at_ms: integer,
}, "rejected");
/** A proved native close or reopen; never the completion of a task or a disconnect. */
export type SubagentLifecycle = Wire<typeof subagentLifecycleWire>;

/** Schema of `subagent_turn`. */
export const subagentTurnWire = wireObject({
  native_id: z.string(),
  turn_id: z.string(),
  status: z.enum(["in_progress", "completed", "failed", "cancelled"]),
  created_at_ms: integer,
  started_at_ms: nullable(integer),
  completed_at_ms: nullable(integer),
  usage: nullable(usageWire),
}, "rejected");
/** A snapshot of one child Turn; an ended Turn never goes back. Unknown measurements stay null. */
export type SubagentTurn = Wire<typeof subagentTurnWire>;

/** Schema of `subagent_item`. */
export const subagentItemWire = wireObject({
  native_id: z.string(),
  turn_id: z.string(),
  item_id: z.string(),
  position: integer32,
  kind: z.enum([
    "message",
    "output_message",
    "reasoning",
    "tool_call",
    "subagent_coordination",
  ]),
  payload: rawValue,
}, "rejected");
/** A complete snapshot of one child Item. `position` is the native order inside its Turn. */
export type SubagentItem = Wire<typeof subagentItemWire>;

/** Schema of `subagent_coordination`. */
export const subagentCoordinationWire = wireObject({
  id: z.string(),
  kind: z.enum([
    "create_subagent_call",
    "send_subagent_input_call",
    "wait_for_subagents_call",
    "close_subagent_call",
    "resume_subagent_call",
  ]),
  status: z.enum(["in_progress", "completed", "failed", "incomplete"]),
  actor_id: z.string(),
  recipients: list(z.string()),
  text: nullable(z.string()),
  model: nullable(z.string()),
  reasoning_effort: nullable(z.string()),
}, "rejected");
/** One native delegation call. The empty `actor_id` is the root. */
export type SubagentCoordination = Wire<typeof subagentCoordinationWire>;

/** Reads `subagent_identity`. */
export function decodeSubagentIdentity(
  envelope: InboundEnvelope,
): Decoded<SubagentIdentity> {
  const value = readPayload(subagentIdentityWire, envelope);
  return value === undefined
    ? refused("the subagent_identity payload is malformed")
    : accepted(value);
}

/** Reads `subagent_lifecycle`. */
export function decodeSubagentLifecycle(
  envelope: InboundEnvelope,
): Decoded<SubagentLifecycle> {
  const value = readPayload(subagentLifecycleWire, envelope);
  return value === undefined
    ? refused("the subagent_lifecycle payload is malformed")
    : accepted(value);
}

/** Reads `subagent_turn`. */
export function decodeSubagentTurn(
  envelope: InboundEnvelope,
): Decoded<SubagentTurn> {
  const value = readPayload(subagentTurnWire, envelope);
  return value === undefined
    ? refused("the subagent_turn payload is malformed")
    : accepted(value);
}

/** Reads `subagent_item`. */
export function decodeSubagentItem(
  envelope: InboundEnvelope,
): Decoded<SubagentItem> {
  const value = readPayload(subagentItemWire, envelope);
  return value === undefined
    ? refused("the subagent_item payload is malformed")
    : accepted(value);
}

/** Reads `subagent_coordination`. */
export function decodeSubagentCoordination(
  envelope: InboundEnvelope,
): Decoded<SubagentCoordination> {
  const value = readPayload(subagentCoordinationWire, envelope);
  return value === undefined
    ? refused("the subagent_coordination payload is malformed")
    : accepted(value);
}
