// Owns the last frames of a Run: at most one `error`, exactly one `done`, sent when the native side
// is settled or its Executor confirmed closed.
import { runtimeFrame } from "../protocol/frames.ts";
import type { Envelope } from "../protocol/envelope.ts";
import type { Done } from "../protocol/run_output.ts";
import type { Run } from "./run.ts";
import type { RouterScope } from "./scope.ts";

/**
 * Sends the end of a Run that had a Turn and whose output was delivered so far. A failed send is
 * this Run's alone: its Executor may already serve the next one.
 */
export async function publishEnd(scope: RouterScope, run: Run): Promise<void> {
  if (run.turn === undefined || run.outputFailed || run.interrupted) return;
  if (!scope.open) return;
  const failure = run.failure();
  if (failure !== undefined && !run.errorSent) {
    run.errorSent = true;
    if (
      !await send(scope, run, runtimeFrame("error", run.id, failure, run.trace))
    ) {
      return;
    }
  }
  await send(scope, run, runtimeFrame("done", run.id, doneOf(run), run.trace));
}

async function send(
  scope: RouterScope,
  run: Run,
  frame: Envelope,
): Promise<boolean> {
  const delivery = await scope.sender.sendUntil(frame, scope.shutdown);
  if (delivery === "delivered") return true;
  if (scope.shutdown.aborted) run.interrupted = true;
  else run.outputFailed = true;
  scope.log.warn("run end not delivered", { run: run.id, type: frame.type });
  return false;
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
