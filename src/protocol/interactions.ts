// Owns the questions a Run asks and the decisions that answer them. Requests carry the Run id in
// their envelope and the interaction id in the payload; decisions and withdrawals carry the
// interaction id in the envelope.
import * as z from "zod";
import { accepted, type Decoded, refused } from "./decoded.ts";
import type { InboundEnvelope } from "./envelope.ts";
import { isBlank } from "./text.ts";
import {
  list,
  omitted,
  pointer,
  rawObject,
  readPayload,
  readWire,
  text,
  unsigned,
  type Wire,
  wireObject,
} from "./wire_object.ts";

export * from "./decision_ack.ts";

/** Schema of `permission_request`. */
export const permissionRequestWire = wireObject({
  request_id: z.string(),
  tool: z.string(),
  title: z.string(),
  detail: omitted(z.string()),
  payload: omitted(rawObject),
}, "rejected");
/** Payload of `permission_request`, Runtime to Core. */
export type PermissionRequest = Wire<typeof permissionRequestWire>;

/** Schema of `permission_decision`. */
export const permissionDecisionWire = wireObject({
  delivery_id: text,
  approved: z.boolean(),
  message: omitted(z.string()),
  updated_input: omitted(rawObject),
});
/** Payload of `permission_decision`, Core to Runtime. `updated_input` replaces the tool's input. */
export type PermissionDecision = Wire<typeof permissionDecisionWire>;

/** Schema of one question. */
export const userChoiceQuestionWire = wireObject({
  id: z.string(),
  header: omitted(z.string()),
  question: z.string(),
  multi_select: omitted(z.boolean()),
  is_other: omitted(z.boolean()),
  is_secret: omitted(z.boolean()),
  options: list(wireObject({
    label: z.string(),
    description: omitted(z.string()),
  }, "rejected")),
}, "rejected");
/** One question. Only `id` identifies it; neither its position nor its header does. */
export type UserChoiceQuestion = Wire<typeof userChoiceQuestionWire>;

/** Schema of `prompt_for_user_choice`. */
export const promptForUserChoiceWire = wireObject({
  ask_id: z.string(),
  questions: list(userChoiceQuestionWire),
  tool_use_id: omitted(z.string()),
  auto_resolution_ms: pointer(unsigned),
}, "rejected");
/** Payload of `prompt_for_user_choice`, Runtime to Core. */
export type PromptForUserChoice = Wire<typeof promptForUserChoiceWire>;

/** Schema of `prompt_for_user_choice_decision`; undeclared members are rejected at any depth. */
export const userChoiceDecisionWire = wireObject({
  delivery_id: text,
  question_answers: omitted(list(wireObject({
    question_id: text,
    answers: list(z.string()),
  }, "rejected"))),
  cancelled: omitted(z.boolean()),
  reason: omitted(z.string()),
}, "rejected");
/**
 * Payload of `prompt_for_user_choice_decision`, Core to Runtime. An omitted question stays
 * unanswered; an empty `answers` is an explicit non-answer. `cancelled` excludes answers.
 */
export type UserChoiceDecision = Wire<typeof userChoiceDecisionWire>;

/** Reads `permission_request`. A blank request id cannot be routed. */
export function decodePermissionRequest(
  envelope: InboundEnvelope,
): Decoded<PermissionRequest> {
  const value = readPayload(permissionRequestWire, envelope);
  return value === undefined || isBlank(value.request_id)
    ? refused("the permission_request payload is malformed")
    : accepted(value);
}

/** Reads `permission_decision`. A refused decision is not answered. */
export function decodePermissionDecision(
  envelope: InboundEnvelope,
): Decoded<PermissionDecision> {
  const value = readPayload(permissionDecisionWire, envelope);
  if (value === undefined) {
    return refused("the permission_decision payload is malformed");
  }
  return envelope.id && value.delivery_id !== ""
    ? accepted(value)
    : refused("the permission decision lacks an identity");
}

/** Reads `prompt_for_user_choice`. */
export function decodePromptForUserChoice(
  envelope: InboundEnvelope,
): Decoded<PromptForUserChoice> {
  const value = readPayload(promptForUserChoiceWire, envelope);
  return value === undefined || isBlank(value.ask_id)
    ? refused("the prompt_for_user_choice payload is malformed")
    : accepted(value);
}

/** Reads `prompt_for_user_choice_decision`. A refused decision is not answered. */
export function decodeUserChoiceDecision(
  envelope: InboundEnvelope,
): Decoded<UserChoiceDecision> {
  const decision = readUserChoiceDecision(envelope.payload);
  if (!decision.ok) return decision;
  return envelope.id && decision.value.delivery_id !== ""
    ? decision
    : refused("the user choice lacks an identity");
}

/** Reads the payload alone; its delivery id may still be empty. */
export function readUserChoiceDecision(
  payload: unknown,
): Decoded<UserChoiceDecision> {
  const value = readWire(userChoiceDecisionWire, payload);
  if (value === undefined) return refused("the user choice is malformed");
  const answers = value.question_answers ?? [];
  if (value.cancelled === true && answers.length > 0) {
    return refused("a cancelled user choice has answers");
  }
  const ids = new Set<string>();
  for (const { question_id } of answers) {
    if (isBlank(question_id) || ids.has(question_id)) {
      return refused("the user choice does not identify its answers");
    }
    ids.add(question_id);
  }
  return accepted(value);
}

/**
 * The answers by question id. Refused when an answer belongs to none of the emitted questions;
 * call it before the pending interaction is consumed.
 */
export function bindUserChoice(
  questions: readonly Pick<UserChoiceQuestion, "id">[],
  decision: UserChoiceDecision,
): Decoded<ReadonlyMap<string, readonly string[]>> {
  const emitted = new Set(questions.map(({ id }) => id));
  const answers = new Map<string, readonly string[]>();
  for (const answer of decision.question_answers ?? []) {
    if (!emitted.has(answer.question_id)) {
      return refused("an answer belongs to no emitted question");
    }
    answers.set(answer.question_id, answer.answers);
  }
  return accepted(answers);
}
