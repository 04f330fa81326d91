/**
 * Owns the translation of a scenario's Core frame into the call of the loopback Core that sends it,
 * and the collection of what came of each call. What Core itself would never send (a repetition, a
 * stale handle) goes out as it is.
 */
import {
  decodeEnvelope,
  type InboundEnvelope,
} from "../../src/protocol/envelope.ts";
import {
  decodeExecutionPrepare,
  decodeExecutionRelease,
  decodeExecutionStart,
} from "../../src/protocol/execution.ts";
import { type CoreFrames, isCoreFrameType } from "../../src/protocol/frames.ts";
import { decodeFunctionResult } from "../../src/protocol/functions.ts";
import {
  decodePermissionDecision,
  decodeUserChoiceDecision,
} from "../../src/protocol/interactions.ts";
import { decodeRuntimePrepare } from "../../src/protocol/runtime_prepare.ts";
import { decodePromptSteer } from "../../src/protocol/steering.ts";
import {
  decodeEnvironmentQuiesce,
  decodeEnvironmentResume,
} from "../../src/protocol/suspension.ts";
import { decodeWorkspaceExport } from "../../src/protocol/workspace_export.ts";
import { decodeWorkspaceRead } from "../../src/protocol/workspace_read.ts";
import { decodeWorkspaceWrite } from "../../src/protocol/workspace_write.ts";
import type { InputOutcome } from "../../src/loopback/active_inputs.ts";
import type { DeviceSession } from "../../src/loopback/device_session.ts";
import type {
  ExchangeOutcome,
  ExchangeType,
} from "../../src/loopback/exchanges.ts";
import { CoreRuleBroken } from "../../src/loopback/observation.ts";
import type { Preparation } from "../../src/loopback/preparation.ts";
import type { Receipt } from "../../src/loopback/receipts.ts";
import type { ScenarioFrame } from "./scenario.ts";

/** Drives one loopback Core through the Core frames of a scenario. */
export class CoreDriver {
  readonly receipts: Record<string, string> = {};
  readonly inputs: Record<string, string> = {};
  readonly operations: Record<string, string> = {};
  readonly #preparations = new Map<string, Preparation>();

  /** Sends the frame through the session. */
  send(session: DeviceSession, frame: ScenarioFrame): void {
    try {
      if (!isWellFormed(frame)) throw new CoreRuleBroken("malformed");
      this.#call(session, frame);
    } catch (error) {
      if (!(error instanceof CoreRuleBroken)) throw error;
      const { type, id, payload } = frame;
      session.transmit({
        type,
        ...(id === undefined ? {} : { id }),
        ...(payload === undefined ? {} : { payload }),
      });
    }
  }

  #call(session: DeviceSession, frame: ScenarioFrame): void {
    const id = frame.id ?? "";
    switch (frame.type) {
      case "execution_prepare":
        return this.#prepare(
          session,
          id,
          payloadOf<"execution_prepare">(frame),
        );
      case "execution_start":
        return this.#start(session, id, payloadOf<"execution_start">(frame));
      case "execution_release":
        return this.#release(
          session,
          id,
          payloadOf<"execution_release">(frame),
        );
      case "prompt_steer":
        return this.#steer(session, id, payloadOf<"prompt_steer">(frame));
      case "prompt_cancel": {
        const delivery = payloadOf<"prompt_cancel">(frame)?.delivery_id;
        if (!delivery) return session.abandon(id);
        return this.#keep(delivery, session.cancel(id, delivery));
      }
      case "function_result": {
        const result = payloadOf<"function_result">(frame);
        const receipt = session.functionResult(id, result);
        return this.#keep(result.delivery_id, receipt);
      }
      case "permission_decision": {
        const decision = payloadOf<"permission_decision">(frame);
        return this.#keep(
          decision.delivery_id,
          session.decide(id, decision),
        );
      }
      case "prompt_for_user_choice_decision": {
        const choice = payloadOf<"prompt_for_user_choice_decision">(frame);
        return this.#keep(choice.delivery_id, session.choose(id, choice));
      }
      case "device_shutdown":
        return session.shutdownDevice(
          payloadOf<"device_shutdown">(frame)?.reason,
        );
      default:
        return this.#exchange(session, id, frame);
    }
  }

  #exchange(session: DeviceSession, id: string, frame: ScenarioFrame): void {
    const envelope = decodeEnvelope(JSON.stringify(frame));
    const decoded = envelope.ok && decoders[frame.type]?.(envelope.value);
    if (!decoded || !decoded.ok) throw new CoreRuleBroken("malformed");
    const type = frame.type as ExchangeType;
    // The table pairs each type with the decoder of its payload.
    const outcome = session.exchange(type, id, decoded.value as never);
    this.operations[id] = "open";
    void outcome.then((known) => {
      this.operations[id] = operationWord(known);
    });
  }

  #prepare(
    session: DeviceSession,
    requestId: string,
    payload: CoreFrames["execution_prepare"],
  ): void {
    const preparation = session.prepare({
      requestId,
      sessionId: payload.session_id,
      configuration: payload.configuration,
    });
    this.#preparations.set(requestId, preparation);
  }

  #start(
    session: DeviceSession,
    requestId: string,
    payload: CoreFrames["execution_start"],
  ): void {
    const preparation = this.#held(requestId, payload.handle);
    if (preparation.admission?.executorId !== payload.executor_id) {
      throw new CoreRuleBroken("another executor");
    }
    const { run_id: runId, input } = payload;
    session.start(preparation, { runId, input });
  }

  #release(
    session: DeviceSession,
    requestId: string,
    payload: CoreFrames["execution_release"],
  ): void {
    void session.release(this.#held(requestId, payload.handle));
  }

  #steer(
    session: DeviceSession,
    runId: string,
    payload: CoreFrames["prompt_steer"],
  ): void {
    if (!payload.durable_receipt) throw new CoreRuleBroken("not durable");
    const { input_id: inputId, input } = payload;
    const delivery = session.steer(runId, inputId, input);
    const key = `${runId}/${inputId}`;
    this.inputs[key] = "open";
    void delivery.settled.then((outcome) => {
      this.inputs[key] = inputWord(outcome);
    });
  }

  #held(requestId: string, handle: string): Preparation {
    const preparation = this.#preparations.get(requestId);
    if (!preparation || preparation.status?.handle !== handle) {
      throw new CoreRuleBroken("a handle that Core does not hold");
    }
    return preparation;
  }

  #keep(deliveryId: string, receipt: Promise<Receipt>): void {
    this.receipts[deliveryId] = "open";
    void receipt.then((result) => {
      this.receipts[deliveryId] = receiptWord(result);
    });
  }
}

type Decoder = (
  envelope: InboundEnvelope,
) => { readonly ok: true; readonly value: unknown } | { readonly ok: false };

/** The families whose malformed frames a scenario sends; Core itself sends none. */
const decoders: Readonly<Record<string, Decoder>> = {
  execution_prepare: decodeExecutionPrepare,
  execution_start: decodeExecutionStart,
  execution_release: decodeExecutionRelease,
  prompt_steer: decodePromptSteer,
  function_result: decodeFunctionResult,
  permission_decision: decodePermissionDecision,
  prompt_for_user_choice_decision: decodeUserChoiceDecision,
  runtime_prepare: decodeRuntimePrepare,
  workspace_read: decodeWorkspaceRead,
  workspace_write: decodeWorkspaceWrite,
  workspace_export: decodeWorkspaceExport,
  environment_quiesce: decodeEnvironmentQuiesce,
  environment_resume: decodeEnvironmentResume,
};

function isWellFormed(frame: ScenarioFrame): boolean {
  if (!isCoreFrameType(frame.type)) return false;
  const envelope = decodeEnvelope(JSON.stringify(frame));
  return envelope.ok && (decoders[frame.type]?.(envelope.value).ok ?? true);
}

function payloadOf<T extends keyof CoreFrames>(
  frame: ScenarioFrame,
): CoreFrames[T] {
  return frame.payload as CoreFrames[T];
}

function operationWord(outcome: ExchangeOutcome): string {
  switch (outcome.kind) {
    case "lost":
      return `lost:${outcome.reason}`;
    case "unconfirmed":
      return outcome.kind;
    case "result": {
      const { payload } = outcome.frame;
      const code = payload.error_code === undefined
        ? ""
        : `:${payload.error_code}`;
      if ("accepted" in payload) {
        return payload.accepted ? "accepted" : `refused${code}`;
      }
      return `${payload.outcome}${code}`;
    }
  }
}

function receiptWord(receipt: Receipt): string {
  switch (receipt.kind) {
    case "refused":
      return `refused:${receipt.code}`;
    case "lost":
      return `lost:${receipt.reason}`;
    default:
      return receipt.kind;
  }
}

function inputWord(outcome: InputOutcome): string {
  switch (outcome.kind) {
    case "refused":
      return `refused:${outcome.code}`;
    case "lost":
      return `lost:${outcome.reason}`;
    default:
      return outcome.kind;
  }
}
