/**
 * Owns the usage of one Turn: the program's own snapshots, one per native turn, never interpreted.
 * Token counts stay absent, because an aborted request is an estimate here.
 */
import type { TurnEvent } from "../../src/harness/contract.ts";
import type { Usage } from "../../src/protocol/run_output.ts";
import { CLAUDE_KIND } from "./kind.ts";
import type { NativeFrames } from "./native_frames.ts";

/** The snapshots of one Turn. */
export class RunUsage {
  readonly #snapshots: Readonly<Record<string, unknown>>[] = [];
  readonly #results = new Set<string>();

  constructor(private readonly emit: (event: TurnEvent) => void) {}

  /** Takes the snapshot of a native result and reports it. False for a result seen before. */
  add(result: NativeFrames["result"]): boolean {
    if (this.#results.has(result.uuid)) return false;
    this.#results.add(result.uuid);
    this.#snapshots.push({
      subtype: result.subtype,
      is_error: result.is_error,
      usage: result.usage ?? null,
      model_usage_since_last_result: result.model_usage_since_last_result ??
        null,
      modelUsage: result.modelUsage ?? null,
      total_cost_usd: result.total_cost_usd ?? null,
      scopes: SCOPES,
    });
    const usage = this.usage;
    if (usage) this.emit({ type: "usage", payload: usage });
    return true;
  }

  /** Cumulative for the Turn; `undefined` before the first native result. */
  get usage(): Usage | undefined {
    const latest = this.#snapshots.at(-1);
    if (!latest) return undefined;
    return {
      provider: CLAUDE_KIND,
      raw: {
        claude_sdk_result: latest,
        ...(this.#snapshots.length > 1
          ? { claude_sdk_results: [...this.#snapshots] }
          : {}),
      },
    };
  }
}

/** What each member of a snapshot counts. Only the second one is this native turn's alone. */
const SCOPES = {
  usage: "native_turn_main_loop",
  model_usage_since_last_result: "native_turn",
  modelUsage: "session_cumulative",
  total_cost_usd: "session_cumulative_estimate",
} as const;
