// Owns the forwarding of one Run's events: numbers and labels them, keeps `done` back for the
// settlement, and drains to the end whatever happens to the connection.
import type { TurnEvent } from "../harness/contract.ts";
import type { Envelope } from "../protocol/envelope.ts";
import { normaliseFailure } from "../protocol/engine_failure.ts";
import { runtimeFrame } from "../protocol/frames.ts";
import { errorText } from "./error_text.ts";
import type { Run } from "./run.ts";
import type { Runs } from "./runs.ts";
import type { RouterScope } from "./scope.ts";
import type { Settlements } from "./settlement.ts";

/** Why an output that broke its own order ends the Run; Core may show it. */
const BOUNDARY_TEXT = "output crossed the Turn boundary";

/** Why a frame that cannot be sent ends the Run; Core may show it. */
const REFUSED_TEXT = "an output frame could not be sent";

/** See the file comment. */
export class OutputForwarder {
  readonly #scope: RouterScope;
  readonly #runs: Runs;
  readonly #settlements: Settlements;

  constructor(scope: RouterScope, runs: Runs, settlements: Settlements) {
    this.#scope = scope;
    this.#runs = runs;
    this.#settlements = settlements;
  }

  /** Forwards until the output ends. Bounded by the settlement, which closes the output. */
  async forward(run: Run): Promise<void> {
    for (;;) {
      const event = await run.output.next();
      if (event === undefined) break;
      await this.#take(run, event);
    }
    run.outputDone.resolve();
    this.#settlements.claim(run, { abort: false });
  }

  async #take(run: Run, event: TurnEvent): Promise<void> {
    if (run.lossy) return; // drained, not delivered
    if (run.done !== undefined) return this.#violation(run);
    if (event.type === "done") {
      run.done = event.payload;
      this.#settlements.claim(run, { abort: false });
      return;
    }
    const frame = this.#frame(run, event);
    if (frame === undefined) return;
    const delivery = await this.#scope.sender.sendUntil(
      frame,
      this.#scope.shutdown,
    );
    if (delivery === "delivered") return;
    if (this.#scope.shutdown.aborted) run.interrupted = true;
    else if (delivery === "refused") {
      run.outputRefused = true;
      run.protocolError ??= REFUSED_TEXT;
    } else run.outputFailed = true;
    this.#settlements.claim(run, { abort: true });
  }

  /** The frame of an event; `undefined` when it must not go out. */
  #frame(run: Run, event: Exclude<TurnEvent, { type: "done" }>):
    | Envelope
    | undefined {
    switch (event.type) {
      case "delta":
        return this.#labelled(run, "delta", {
          ...event.payload,
          sequence: ++run.deltaSequence,
        });
      case "thinking":
        return this.#labelled(run, "thinking", {
          ...event.payload,
          ...(event.unsequenced ? {} : { sequence: ++run.thinkingSequence }),
        });
      case "error":
        if (run.errorSent) return undefined; // one error belongs to a result
        run.errorSent = true;
        return this.#labelled(run, "error", {
          error: errorText(event.payload.error),
          ...normaliseFailure(event.payload),
        });
      case "permission_request": {
        const id = event.payload.request_id.trim();
        this.#ask(run, id, {
          kind: "permission",
          nativeId: event.payload.request_id,
        });
        return this.#labelled(run, event.type, event.payload);
      }
      case "prompt_for_user_choice": {
        const { ask_id, questions } = event.payload;
        this.#ask(run, ask_id, {
          kind: "user_choice",
          nativeId: ask_id,
          questions,
        });
        return this.#labelled(run, event.type, event.payload);
      }
      case "permission_cancel":
        return this.#withdrawal(run, event.requestId);
      default:
        return this.#labelled(run, event.type, event.payload);
    }
  }

  /** Indexed before the frame is sent: the answer may come before the send returns. */
  #ask(run: Run, id: string, interaction: Parameters<Runs["ask"]>[2]): void {
    if (id === "") return;
    run.asked.add(id);
    if (run.release.claimed || !this.#scope.open) return;
    this.#runs.ask(run, id, interaction);
  }

  /** Carries the interaction id, so only a question of this very Run may be withdrawn. */
  #withdrawal(run: Run, requestId: string): Envelope | undefined {
    const id = requestId.trim();
    if (!run.asked.has(id)) {
      this.#violation(run);
      return undefined;
    }
    run.asked.delete(id);
    this.#runs.dropRoute(id);
    return runtimeFrame("permission_cancel", id, undefined, run.trace);
  }

  #violation(run: Run): void {
    run.protocolError ??= BOUNDARY_TEXT;
    this.#scope.log.warn("output crossed the turn boundary", { run: run.id });
    this.#settlements.claim(run, { abort: true });
  }

  #labelled<T extends Parameters<typeof runtimeFrame>[0]>(
    run: Run,
    type: T,
    payload: Parameters<typeof runtimeFrame<T>>[2],
  ): Envelope {
    return runtimeFrame(type, run.id, payload, run.trace);
  }
}
