/**
 * Owns the sentences about what came of a Turn. It keeps three things apart: what the engine did,
 * what Core could not see, and what never started.
 */
import type { TraceLine } from "../loopback/frame_trace.ts";
import type { RunOutcome, StartOutcome } from "../loopback/observed_run.ts";
import type { PreparationOutcome } from "../loopback/preparation.ts";
import type { Usage } from "../protocol/run_output.ts";

/** Why there is no reservation. */
export function describeRefusal(
  outcome: Exclude<PreparationOutcome, { kind: "ready" }>,
): string {
  switch (outcome.kind) {
    case "rejected":
      return `the preparation was refused: ${outcome.code}`;
    case "failed":
      return `the preparation failed: ${outcome.code}`;
    case "lost":
      return `the preparation is unknown: ${outcome.reason}`;
    case "released":
    case "expired":
      return `the preparation was ${outcome.kind}`;
  }
}

/** What is proven about a Run. */
export function describeOutcome(outcome: RunOutcome): string {
  switch (outcome.kind) {
    case "completed":
      return `completed${tokens(outcome.usage)}`;
    case "failed":
      return `the engine failed: ${outcome.error.code ?? "unclassified"}${
        tokens(outcome.usage)
      }`;
    case "cancelled":
      return "cancelled: the Turn has settled";
    case "not_started":
      return `not started, no input reached the model: ${
        startWord(outcome.start)
      }`;
    case "unknown":
      return `unknown: ${outcome.reason}; the engine may have gone on`;
  }
}

function startWord(start: StartOutcome): string {
  return "code" in start ? start.code : start.kind;
}

/** Only a complete measurement is shown; a missing one is not zero. */
function tokens(usage: Usage | undefined): string {
  const measured = usage?.tokens;
  return measured
    ? ` (${measured.input_tokens} tokens in, ${measured.output_tokens} out)`
    : "";
}

/** One line for one frame: direction, type, id and what it came to. */
export function describeTraceLine(line: TraceLine): string {
  const arrow = { to_runtime: "→", from_runtime: "←", core: "·" };
  const id = line.id ? ` ${line.id}` : "";
  const detail = line.detail ? ` ${line.detail}` : "";
  return `${arrow[line.direction]} ${line.type}${id}${detail}\n`;
}
