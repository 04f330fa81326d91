// Owns `function_result`: brings Core's result to the Run that called.
import type { InboundEnvelope } from "../protocol/envelope.ts";
import { runtimeFrame } from "../protocol/frames.ts";
import { decodeFunctionResult } from "../protocol/functions.ts";
import { resultFingerprint } from "./fingerprint.ts";
import { resultKey } from "./remembered_decisions.ts";
import type { Runs } from "./runs.ts";
import type { RouterScope } from "./scope.ts";
import type { Submission, Submissions } from "./submissions.ts";
import { traceOf } from "./trace.ts";

/** See the file comment. */
export class FunctionResults {
  readonly #scope: RouterScope;
  readonly #runs: Runs;
  readonly #submissions: Submissions;

  constructor(scope: RouterScope, runs: Runs, submissions: Submissions) {
    this.#scope = scope;
    this.#runs = runs;
    this.#submissions = submissions;
  }

  /** Handles `function_result`. What cannot be attributed is not answered. */
  handle(envelope: InboundEnvelope): void {
    const runId = envelope.id ?? "";
    const trace = traceOf(envelope.trace, this.#scope.ids);
    const decoded = decodeFunctionResult(envelope);
    if (!decoded.ok) {
      const { receipt } = decoded;
      if (receipt === undefined) return;
      return this.#scope.sender.reply(
        runtimeFrame("interaction_decision_ack", runId, {
          delivery_id: receipt.delivery_id,
          applied: false,
          error_code: "invalid_result",
        }, trace),
      );
    }
    const result = decoded.value;
    const run = this.#runs.get(runId);
    const submission: Submission = {
      receiptId: runId,
      deliveryId: result.delivery_id,
      trace,
      key: resultKey(runId, result.call_id),
      fingerprint: resultFingerprint(result),
      capabilities: result.content.some(({ type }) => type === "input_image")
        ? ["function_tools", "function_result_images"]
        : ["function_tools"],
      stillPending: () => this.#runs.get(runId) === run,
      submit: (turn, signal) => turn.submitFunctionResult(result, signal),
      settled: () => {},
    };
    if (this.#submissions.answerRemembered(submission)) return;
    if (run === undefined) {
      return this.#submissions.answer(submission, "not_pending");
    }
    this.#submissions.admit(run, submission);
  }
}
