// Owns the last frames of a Run: at most one `error`, exactly one `done`, sent when the native side
// is settled or its Executor confirmed closed.
import { runtimeFrame } from "../protocol/frames.ts";
import type { Done } from "../protocol/run_output.ts";
import type { Delivery } from "./frame_sender.ts";
import type { Run } from "./run.ts";
import type { RouterScope } from "./scope.ts";

/** Core may show it. */
const REFUSED_TEXT = "the result could not be sent";

/**
 * Sends the end of a Run that had a Turn and whose output was delivered so far. A failed send is
 * this Run's alone: its Executor may already serve the next one.
 */
export async function publishEnd(scope: RouterScope, run: Run): Promise<void> {
  if (run.turn === undefined || run.outputFailed || run.interrupted) return;
  if (!scope.open) return;
  if (!await sendFailure(scope, run)) return;
  if (await sendDone(scope, run, doneOf(run)) !== "refused") return;
  // A result that fits into no frame is lost, and says so; the Run still ends.
  run.outputRefused = true;
  run.done = undefined;
  run.protocolError ??= REFUSED_TEXT;
  if (await sendFailure(scope, run)) {
    await sendDone(scope, run, { content: "" });
  }
}

/** Sends the error of a failed end, unless the engine's own went out. Whether to go on. */
async function sendFailure(scope: RouterScope, run: Run): Promise<boolean> {
  const failure = run.failure();
  if (failure === undefined || run.errorSent) return true;
  run.errorSent = true;
  const frame = runtimeFrame("error", run.id, failure, run.trace);
  const delivery = await scope.sender.sendUntil(frame, scope.shutdown);
  return record(scope, run, delivery) === "delivered";
}

async function sendDone(
  scope: RouterScope,
  run: Run,
  done: Done,
): Promise<Delivery> {
  const frame = runtimeFrame("done", run.id, done, run.trace);
  const delivery = await scope.sender.sendUntil(frame, scope.shutdown);
  return record(scope, run, delivery);
}

function record(scope: RouterScope, run: Run, delivery: Delivery): Delivery {
  if (delivery === "delivered") return delivery;
  if (scope.shutdown.aborted) run.interrupted = true;
  else if (delivery !== "refused") run.outputFailed = true;
  scope.log.warn("run end not delivered", { run: run.id, delivery });
  return delivery;
}

/** The captured result; else an empty one, with what was observed only when the end failed. */
function doneOf(run: Run): Done {
  if (run.done !== undefined) return run.done;
  if (run.failure() === undefined) return { content: "" };
  const { metadata, usage } = observed(run);
  return {
    content: "",
    ...(usage === undefined ? {} : { usage }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

function observed(run: Run): Partial<Done> {
  if (run.release.outcome !== undefined) return run.release.outcome;
  try {
    return run.turn?.cancellationOutcome() ?? {};
  } catch {
    return {}; // an adapter that cannot say what it saw saw nothing
  }
}

/** How a retired Run ended, in one word for telemetry. `confirmed`: its settlement proved it. */
export function runOutcome(
  run: Run,
  { confirmed }: { readonly confirmed: boolean },
): string {
  if (!confirmed) return "unconfirmed";
  if (run.turn === undefined) return "not_started";
  if (run.outputFailed || run.interrupted) return "observation_lost";
  if (run.errorSent) return "failed";
  return run.release.aborting ? "cancelled" : "completed";
}
