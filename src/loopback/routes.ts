/**
 * Owns where each received frame of one connection goes: to the preparation, Run, receipt or
 * exchange it correlates with. What correlates with nothing proves nothing and is noted.
 */
import type { Clock } from "../platform/clock.ts";
import type { InteractionDecisionAck } from "../protocol/decision_ack.ts";
import type { PreparationStatus } from "../protocol/execution.ts";
import { Exchanges } from "./exchanges.ts";
import type { RuntimeFrame } from "./inbound_frames.ts";
import { type LossReason, ProtocolViolation } from "./observation.ts";
import type { ObservedRun, StartOutcome } from "./observed_run.ts";
import type { Preparation } from "./preparation.ts";
import { Receipts } from "./receipts.ts";
import type { RunEvent } from "./run_events.ts";

/** Says why a frame changed nothing; `undefined` when it was taken. */
export type Note = string | undefined;

/** One word for each preparation, by request id, and for each Run. */
export interface SessionReport {
  readonly preparations: Readonly<Record<string, string>>;
  readonly runs: Readonly<Record<string, string>>;
}

/** The observations of one connection. None outlives it. */
export class Routes {
  readonly preparations = new Map<string, Preparation>();
  readonly runs = new Map<string, ObservedRun>();
  readonly receipts: Receipts;
  readonly exchanges: Exchanges;

  constructor(clock: Clock) {
    this.receipts = new Receipts(clock);
    this.exchanges = new Exchanges(clock);
  }

  /** What is known of every observation. */
  report(): SessionReport {
    const words = (map: ReadonlyMap<string, { readonly word: string }>) =>
      Object.fromEntries([...map].map(([id, { word }]) => [id, word]));
    return {
      preparations: words(this.preparations),
      runs: words(this.runs),
    };
  }

  /** Ends every observation without an outcome. */
  lose(reason: LossReason): void {
    for (const preparation of this.preparations.values()) {
      preparation.lose(reason);
    }
    for (const run of this.runs.values()) run.lose(reason);
    this.receipts.lose(reason);
    this.exchanges.lose(reason);
  }

  /**
   * Takes one frame other than a heartbeat.
   *
   * @throws {ProtocolViolation} when it cannot be true.
   */
  take(frame: Exclude<RuntimeFrame, { type: "heartbeat" }>): Note {
    switch (frame.type) {
      case "preparation_status":
        return this.#status(frame.id, frame.payload);
      case "prompt_steer_ack":
        return this.runs.get(frame.id)?.observeInput(frame.payload)
          ? undefined
          : "no such input";
      case "interaction_decision_ack":
        return this.#receipt(frame.id, frame.payload);
      case "permission_cancel":
        return this.#withdraw(frame.id);
      case "runtime_prepare_result":
      case "workspace_read_result":
      case "workspace_write_result":
      case "workspace_export_result":
      case "environment_quiesced":
      case "environment_resumed":
        return this.exchanges.take(frame) ? undefined : "no such request";
      default:
        return this.#output(
          frame.id,
          { type: frame.type, payload: frame.payload } as RunEvent,
        );
    }
  }

  #receipt(id: string, ack: InteractionDecisionAck): Note {
    if (!this.receipts.take(id, ack)) return "no such delivery";
    // At once: a frame right behind it is output after the end.
    if (ack.outcome) this.runs.get(id)?.observeCancelled(ack.outcome);
    return undefined;
  }

  #output(runId: string, event: RunEvent): Note {
    const run = this.runs.get(runId);
    if (!run) {
      throw new ProtocolViolation(
        event.type,
        "output of a Run that this connection did not start",
      );
    }
    return run.observe(event) ? undefined : "the observer is too slow";
  }

  #withdraw(interactionId: string): Note {
    for (const run of this.runs.values()) {
      if (!run.hasOpenInteraction(interactionId)) continue;
      run.observe({ type: "permission_cancel", interactionId });
      return undefined;
    }
    return "no such interaction";
  }

  #status(requestId: string, status: PreparationStatus): Note {
    const preparation = this.preparations.get(requestId);
    if (!preparation) return "no such preparation";
    if (status.state === "rejected") return this.#rejected(preparation, status);
    if (!preparation.observe(status)) return "stale or of another handle";
    const run = this.runs.get(preparation.startedRunId ?? "");
    const start = startOutcome(status);
    if (run && start) run.observeStart(start);
    return undefined;
  }

  #rejected(preparation: Preparation, status: PreparationStatus): Note {
    const code = status.error_code ?? "";
    if (status.operation !== "execution_start") {
      preparation.reject(code, status.operation ?? "");
      return undefined;
    }
    const run = this.runs.get(preparation.startedRunId ?? "");
    if (!run) return "no such start";
    // A refused repetition says nothing about a start that already happened.
    if (preparation.status?.state === "started") return "a repeated start";
    run.observeStart({ kind: "rejected", code });
    return undefined;
  }
}

function startOutcome(status: PreparationStatus): StartOutcome | undefined {
  switch (status.state) {
    case "started":
      return { kind: "started" };
    case "failed":
      return { kind: "failed", code: status.error_code ?? "" };
    case "expired":
      return { kind: "expired" };
    default:
      return undefined;
  }
}
