// Owns the answers of Core to what a Run asked: permission decisions, user choices and function
// results. All three are native submissions: one at a time per Run, in order of arrival, never in the
// receive loop.
import {
  type Turn,
  UnknownInteraction,
  UnsupportedOperation,
} from "../harness/contract.ts";
import type { CapabilityName } from "../protocol/capabilities.ts";
import type { FunctionResultErrorCode } from "../protocol/decision_ack.ts";
import { runtimeFrame } from "../protocol/frames.ts";
import { REPLY_BUDGET_MS } from "./limits.ts";
import type { RememberedDecisions } from "./remembered_decisions.ts";
import type { Run } from "./run.ts";
import type { RouterScope } from "./scope.ts";
import { untilAborted } from "./waiting.ts";

/** One answer on its way to the engine. */
export interface Submission {
  /** The interaction id, or the Run id for a function result. */
  readonly receiptId: string;
  readonly deliveryId: string;
  readonly trace: string;
  /** What is remembered once it was applied. */
  readonly key: string;
  readonly fingerprint: string;
  /** What the admitted declaration must support. */
  readonly capabilities: readonly CapabilityName[];
  /** What the Run lacks when the answer comes too late; asked again when its turn has come. */
  readonly stillPending: () => boolean;
  /** A second check that needs the pending interaction; a code refuses without any native call. */
  readonly refusal?: () => FunctionResultErrorCode | undefined;
  readonly submit: (turn: Turn, signal: AbortSignal) => Promise<void>;
  /** The interaction ended: applied, unknown to the engine, or without a responder. */
  readonly settled: () => void;
}

/** Code of a receipt; absent when applied. */
type Verdict = FunctionResultErrorCode | undefined;

/** See the file comment. */
export class Submissions {
  readonly #scope: RouterScope;
  readonly #remembered: RememberedDecisions;

  constructor(scope: RouterScope, remembered: RememberedDecisions) {
    this.#scope = scope;
    this.#remembered = remembered;
  }

  /** Answers from memory. Returns whether it did. */
  answerRemembered(submission: Submission): boolean {
    const recollection = this.#remembered.recall(
      submission.key,
      submission.fingerprint,
    );
    if (recollection === "unknown") return false;
    this.answer(
      submission,
      recollection === "same" ? undefined : "decision_conflict",
    );
    return true;
  }

  /** Sends a receipt without any native call. */
  answer(submission: Submission, verdict: Verdict): void {
    this.#scope.sender.reply(receiptOf(submission, verdict));
  }

  /** Admits an answer to a routed Run as an operation, which the Run's release waits for. */
  admit(run: Run, submission: Submission): void {
    if (run.reachable === undefined || !run.submissions.hasRoom) {
      return this.answer(submission, "not_ready");
    }
    const end = run.operations.begin();
    this.#scope.tasks.run(`submission of run ${run.id}`, async () => {
      try {
        await run.submissions.add(() => this.#submit(run, submission));
      } finally {
        end();
      }
    });
  }

  async #submit(run: Run, submission: Submission): Promise<void> {
    const verdict = await this.#verdict(run, submission);
    const delivery = await this.#scope.sender.sendWithin(
      REPLY_BUDGET_MS,
      receiptOf(submission, verdict),
    );
    if (delivery !== "delivered") {
      this.#scope.log.warn("receipt not delivered", { run: run.id });
    }
  }

  async #verdict(run: Run, submission: Submission): Promise<Verdict> {
    const recollection = this.#remembered.recall(
      submission.key,
      submission.fingerprint,
    );
    if (recollection === "same") return undefined;
    if (recollection === "conflict") return "decision_conflict";
    if (!submission.stillPending()) return "not_pending";
    const turn = run.reachable;
    if (turn === undefined) return "not_ready";
    for (const capability of submission.capabilities) {
      if (run.declaration[capability] !== "supported") return "unsupported";
    }
    const refusal = submission.refusal?.();
    if (refusal !== undefined) return refusal;
    return await this.#native(run, turn, submission);
  }

  async #native(
    run: Run,
    turn: Turn,
    submission: Submission,
  ): Promise<Verdict> {
    const signal = AbortSignal.any([
      run.operationsAbort.signal,
      this.#scope.shutdown,
    ]);
    try {
      await untilAborted(
        signal,
        Promise.try(() => submission.submit(turn, signal)),
      );
    } catch (error) {
      if (error instanceof UnsupportedOperation) {
        submission.settled();
        return "contract_violation";
      }
      if (error instanceof UnknownInteraction) {
        submission.settled();
        return "not_pending";
      }
      this.#scope.log.warn("native submission failed", {
        run: run.id,
        error: error instanceof Error ? error : undefined,
      });
      return "runtime_error";
    }
    submission.settled();
    this.#remembered.remember(submission.key, submission.fingerprint);
    return undefined;
  }
}

/** Constant texts only: a native text could hold what the engine was told. */
function receiptOf(submission: Submission, verdict: Verdict) {
  return runtimeFrame(
    "interaction_decision_ack",
    submission.receiptId,
    {
      delivery_id: submission.deliveryId,
      applied: verdict === undefined,
      ...(verdict === undefined ? {} : { error_code: verdict }),
    },
    submission.trace,
  );
}
