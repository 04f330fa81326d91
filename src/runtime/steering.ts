// Owns `prompt_steer`: admits one input at a time, hands it to the Turn, and sends `written` and the
// final receipt. The native input is called once for each id, whatever becomes of the receipts.
import { SteeringRefused, UnsupportedOperation } from "../harness/contract.ts";
import type { Turn } from "../harness/contract.ts";
import type { InboundEnvelope } from "../protocol/envelope.ts";
import { runtimeFrame } from "../protocol/frames.ts";
import {
  decodePromptSteer,
  type PromptSteer,
  type PromptSteerAck,
  type SteerErrorCode,
} from "../protocol/steering.ts";
import { inputRefusal } from "./adapter_checks.ts";
import { type InputRecord, refusalOf } from "./active_inputs.ts";
import { inputFingerprint } from "./fingerprint.ts";
import { INPUT_WRITE_BUDGET_MS, REPLY_BUDGET_MS } from "./limits.ts";
import type { Run } from "./run.ts";
import type { Runs } from "./runs.ts";
import type { RouterScope } from "./scope.ts";
import { traceOf } from "./trace.ts";
import { untilAborted } from "./waiting.ts";

/** See the file comment. */
export class Steering {
  readonly #scope: RouterScope;
  readonly #runs: Runs;

  constructor(scope: RouterScope, runs: Runs) {
    this.#scope = scope;
    this.#runs = runs;
  }

  /** Handles `prompt_steer`. */
  handle(envelope: InboundEnvelope): void {
    const reply: Reply = {
      runId: envelope.id ?? "",
      trace: traceOf(envelope.trace, this.#scope.ids),
    };
    const decoded = decodePromptSteer(envelope);
    if (!decoded.ok) {
      return this.#reply(reply, refusalOf(decoded.input_id, "invalid_input"));
    }
    const steer = decoded.value;
    const run = this.#runs.get(reply.runId);
    if (run === undefined) {
      return this.#reply(reply, refusalOf(steer.input_id, "run_inactive"));
    }
    const verdict = run.inputs.judge({
      inputId: steer.input_id,
      fingerprint: inputFingerprint(steer.input),
      durable: steer.durable_receipt === true,
      closed: run.release.claimed,
    });
    if (verdict.kind === "repeat") return this.#reply(reply, verdict.receipt);
    if (verdict.kind === "refuse") {
      return this.#reply(reply, refusalOf(steer.input_id, verdict.code));
    }
    this.#admit(run, steer, verdict.record, reply);
  }

  #admit(
    run: Run,
    steer: PromptSteer,
    record: InputRecord,
    reply: Reply,
  ): void {
    const refuse = (code: SteerErrorCode) =>
      this.#reply(reply, refusalOf(steer.input_id, code));
    const turn = run.reachable;
    if (turn === undefined) {
      record.receipt = refusalOf(steer.input_id, "not_ready");
      return refuse("not_ready");
    }
    // A plain input has no operation of its own in the contract, whatever is declared for it.
    if (
      !record.durable ||
      run.declaration.durable_input_receipts !== "supported"
    ) return refuse("unsupported");
    if (run.inputs.busy) {
      record.receipt = refusalOf(steer.input_id, "busy");
      return refuse("busy");
    }
    const { identity } = run.executor;
    if (inputRefusal(this.#scope.log, identity, steer.input) !== undefined) {
      record.receipt = refusalOf(steer.input_id, "rejected");
      return refuse("rejected");
    }
    record.receipt = refusalOf(steer.input_id, "in_flight");
    run.inputs.busy = true;
    const end = run.operations.begin();
    this.#scope.tasks.run(`active input of run ${run.id}`, async () => {
      try {
        await this.#submit(run, turn, steer, record, reply);
      } finally {
        run.inputs.busy = false;
        end();
      }
    });
  }

  async #submit(
    run: Run,
    turn: Turn,
    steer: PromptSteer,
    record: InputRecord,
    reply: Reply,
  ): Promise<void> {
    const cancel = new AbortController();
    const signal = AbortSignal.any([
      cancel.signal,
      run.operationsAbort.signal,
      this.#scope.shutdown,
    ]);
    let writeTimer: { cancel(): void } | undefined = this.#scope.clock.after(
      INPUT_WRITE_BUDGET_MS,
      () => {
        writeTimer = undefined;
        cancel.abort();
      },
    );
    let receiptSent: Promise<void> = Promise.resolve();
    const written = () => {
      if (writeTimer === undefined || signal.aborted) return;
      writeTimer.cancel();
      writeTimer = undefined;
      record.receipt = {
        input_id: steer.input_id,
        accepted: false,
        written: true,
      };
      receiptSent = this.#send(reply, record.receipt).then((delivered) => {
        if (!delivered) cancel.abort();
      });
    };
    try {
      await untilAborted(
        signal,
        Promise.try(() =>
          turn.steerWithReceipt(
            { inputId: steer.input_id, input: steer.input },
            written,
            signal,
          )
        ),
      );
      record.receipt = { input_id: steer.input_id, accepted: true };
    } catch (error) {
      record.receipt = refusalOf(steer.input_id, codeOf(error));
      this.#scope.log.info("active input not accepted", {
        run: run.id,
        code: record.receipt.error_code,
      });
    }
    writeTimer?.cancel();
    writeTimer = undefined;
    await receiptSent;
    if (!await this.#send(reply, record.receipt)) {
      this.#scope.log.warn("input receipt delivery failed", { run: run.id });
    }
  }

  async #send(reply: Reply, receipt: PromptSteerAck): Promise<boolean> {
    const frame = runtimeFrame(
      "prompt_steer_ack",
      reply.runId,
      receipt,
      reply.trace,
    );
    return await this.#scope.sender.sendWithin(REPLY_BUDGET_MS, frame) ===
      "delivered";
  }

  #reply(reply: Reply, receipt: PromptSteerAck): void {
    this.#scope.sender.reply(
      runtimeFrame("prompt_steer_ack", reply.runId, receipt, reply.trace),
    );
  }
}

interface Reply {
  readonly runId: string;
  readonly trace: string;
}

/** Only the adapter's own typed refusals prove that nothing was consumed. */
function codeOf(error: unknown): SteerErrorCode {
  if (error instanceof UnsupportedOperation) return "contract_violation";
  if (!(error instanceof SteeringRefused)) return "outcome_unknown";
  switch (error.refusal) {
    case "not_ready":
      return "not_ready";
    case "inactive":
      return "run_inactive";
    case "rejected":
      return "rejected";
  }
}
