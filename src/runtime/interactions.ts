// Owns `permission_decision` and `prompt_for_user_choice_decision`: finds the question a decision
// answers and submits it once.
import type { InboundEnvelope } from "../protocol/envelope.ts";
import {
  bindUserChoice,
  decodePermissionDecision,
  decodeUserChoiceDecision,
} from "../protocol/interactions.ts";
import { decisionFingerprint } from "./fingerprint.ts";
import { decisionKey } from "./remembered_decisions.ts";
import type { InteractionKind, Runs } from "./runs.ts";
import type { RouterScope } from "./scope.ts";
import type { Submission, Submissions } from "./submissions.ts";
import { traceOf } from "./trace.ts";

/** See the file comment. */
export class Decisions {
  readonly #scope: RouterScope;
  readonly #runs: Runs;
  readonly #submissions: Submissions;

  constructor(scope: RouterScope, runs: Runs, submissions: Submissions) {
    this.#scope = scope;
    this.#runs = runs;
    this.#submissions = submissions;
  }

  /** Handles `permission_decision`. What cannot be attributed is not answered. */
  handlePermission(envelope: InboundEnvelope): void {
    const decoded = decodePermissionDecision(envelope);
    if (!decoded.ok) return;
    const decision = decoded.value;
    this.#handle(envelope, "permission", {
      deliveryId: decision.delivery_id,
      fingerprint: decisionFingerprint(decision),
      submit: (turn, signal, nativeId) =>
        turn.submitPermission(nativeId, decision, signal),
    });
  }

  /** Handles `prompt_for_user_choice_decision`. */
  handleUserChoice(envelope: InboundEnvelope): void {
    const decoded = decodeUserChoiceDecision(envelope);
    if (!decoded.ok) return;
    const decision = decoded.value;
    this.#handle(envelope, "user_choice", {
      deliveryId: decision.delivery_id,
      fingerprint: decisionFingerprint(decision),
      // An answer to a question that was not asked leaves the question open.
      refusal: (interaction) =>
        interaction.kind === "user_choice" &&
          !bindUserChoice(interaction.questions, decision).ok
          ? "runtime_error"
          : undefined,
      submit: (turn, signal, nativeId) =>
        turn.submitUserChoice(nativeId, decision, signal),
    });
  }

  #handle(
    envelope: InboundEnvelope,
    kind: InteractionKind,
    parts: DecisionParts,
  ): void {
    const id = envelope.id ?? "";
    const route = this.#runs.route(kind, id);
    const { refusal } = parts;
    const submission: Submission = {
      receiptId: id,
      deliveryId: parts.deliveryId,
      trace: traceOf(envelope.trace, this.#scope.ids),
      key: decisionKey(kind, id),
      fingerprint: parts.fingerprint,
      capabilities: ["permissions"],
      stillPending: () => this.#runs.route(kind, id) === route,
      ...(refusal === undefined || route === undefined
        ? {}
        : { refusal: () => refusal(route.interaction) }),
      submit: (turn, signal) =>
        parts.submit(turn, signal, route?.interaction.nativeId ?? id),
      settled: () => this.#runs.dropRoute(id, kind),
    };
    if (this.#submissions.answerRemembered(submission)) return;
    if (route === undefined) {
      return this.#submissions.answer(submission, "not_pending");
    }
    this.#submissions.admit(route.run, submission);
  }
}

type NativeSubmit = Submission["submit"];
type RouteOf = NonNullable<ReturnType<Runs["route"]>>;

interface DecisionParts {
  readonly deliveryId: string;
  readonly fingerprint: string;
  readonly refusal?: (
    interaction: RouteOf["interaction"],
  ) => ReturnType<NonNullable<Submission["refusal"]>>;
  readonly submit: (
    turn: Parameters<NativeSubmit>[0],
    signal: AbortSignal,
    nativeId: string,
  ) => Promise<void>;
}
