// Owns the ledger of active inputs of one Run: what each id carried and its last receipt. It decides;
// `steering.ts` acts.
import type { PromptSteerAck, SteerErrorCode } from "../protocol/steering.ts";
import { MAX_INPUTS_PER_RUN } from "./limits.ts";

/** One recorded input. */
export interface InputRecord {
  readonly inputId: string;
  readonly fingerprint: string;
  readonly durable: boolean;
  receipt: PromptSteerAck;
}

/** What the ledger says about an input that arrives. */
export type InputVerdict =
  | { readonly kind: "refuse"; readonly code: SteerErrorCode }
  /** Answer with the recorded receipt; nothing native happens. */
  | { readonly kind: "repeat"; readonly receipt: PromptSteerAck }
  /** New, or tried again after `not_ready` or `busy`. */
  | { readonly kind: "admit"; readonly record: InputRecord };

/** What arrived. */
export interface ArrivingInput {
  readonly inputId: string;
  readonly fingerprint: string;
  readonly durable: boolean;
  /** A release was claimed: no input is admitted any more. */
  readonly closed: boolean;
}

/** See the file comment. */
export class ActiveInputs {
  readonly #records = new Map<string, InputRecord>();
  /** An input waits for its native receipt. */
  busy = false;

  /** Decides and records; a new id is bound to its content before any retryable answer. */
  judge(input: ArrivingInput): InputVerdict {
    const { inputId, fingerprint, durable, closed } = input;
    const known = this.#records.get(inputId);
    if (known !== undefined) {
      if (known.fingerprint !== fingerprint || known.durable !== durable) {
        return { kind: "refuse", code: "input_conflict" };
      }
      const code = known.receipt.error_code;
      return closed || (code !== "not_ready" && code !== "busy")
        ? { kind: "repeat", receipt: known.receipt }
        : { kind: "admit", record: known };
    }
    if (this.#records.size >= MAX_INPUTS_PER_RUN) {
      return { kind: "refuse", code: "input_limit" };
    }
    if (closed) return { kind: "refuse", code: "run_inactive" };
    const record: InputRecord = {
      inputId,
      fingerprint,
      durable,
      receipt: refusalOf(inputId, "not_ready"),
    };
    this.#records.set(inputId, record);
    return { kind: "admit", record };
  }
}

/** A receipt that refuses. */
export function refusalOf(
  inputId: string,
  code: SteerErrorCode,
): PromptSteerAck {
  return { input_id: inputId, accepted: false, error_code: code };
}
