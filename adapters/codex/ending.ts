/**
 * How a native terminal ends a Run: with which error, which text, and whether the Executor can be
 * used again. Pure.
 */
import type { Settlement } from "../../src/harness/contract.ts";
import type { Done, RunError } from "../../src/protocol/run_output.ts";
import { classifyFailure, failureText } from "./errors.ts";
import type { NativeTurn } from "./native_schema.ts";
import type { Observation } from "./observation.ts";
import type { StructuredCheck } from "./structured.ts";

/** The end of a Run. */
export interface Ending {
  readonly error?: RunError;
  /** The text of `done`. */
  readonly content: string;
}

/** See the file comment. `fault` is an error of our own, which outranks a native success. */
export function endingOf(facts: {
  readonly turn: NativeTurn;
  readonly observation: Observation;
  readonly structured: StructuredCheck | undefined;
  readonly fault: string | undefined;
}): Ending {
  const { turn, observation, structured, fault } = facts;
  const text = observation.messages.content();
  if (fault !== undefined) return { error: { error: fault }, content: text };
  const status = turn.status.toLowerCase();
  if (status === "failed") return failed(turn, observation, text);
  const final = observation.messages.lastCompleted() ?? "";
  if (status === "completed" && structured && !structured(final)) {
    const error = "codex: the final text does not conform to the output schema";
    return { error: { error }, content: text };
  }
  return { content: text };
}

function failed(
  turn: NativeTurn,
  observation: Observation,
  text: string,
): Ending {
  const message = turn.error ? failureText(turn.error.message) : undefined;
  const body = [text, message ?? observation.lastError]
    .filter((part) => part !== undefined && part !== "")
    .join("\n\n") || "codex: turn failed";
  return {
    error: { error: body, ...classifyFailure(turn.error?.codexErrorInfo) },
    content: body,
  };
}

/** What was observed of a Turn so far, as a `done` without an end. */
export function outcomeOf(observation: Observation, threadId: string): Done {
  const usage = observation.usage();
  return {
    content: observation.messages.content(),
    ...(usage ? { usage } : {}),
    metadata: {
      agent_session_id: threadId,
      agent_session_type: "codex_thread",
    },
  };
}

/** Whether another Turn may follow. Three facts, none of which stands for another. */
export function settlementOf(proved: {
  readonly processLives: boolean;
  readonly childrenDone: boolean;
  readonly terminalsDone: boolean;
  /** No submitted function result lacks its receipt. */
  readonly receipts: boolean;
}): Settlement {
  const reason = !proved.processLives
    ? "native_execution_unavailable"
    : !proved.childrenDone
    ? "child_settlement_unconfirmed"
    : !proved.terminalsDone
    ? "native_terminal_cleanup_unconfirmed"
    : !proved.receipts
    ? "unsettled_native_operations"
    : undefined;
  return reason === undefined
    ? { reusable: true }
    : { reusable: false, reason };
}
