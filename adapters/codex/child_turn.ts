/** One Turn of a child agent: its snapshots and the position of its Items. */
import type { TurnEvent } from "../../src/harness/contract.ts";
import type {
  SubagentItem,
  SubagentTurn,
} from "../../src/protocol/subagents.ts";
import { coordinationOf, isDelegation } from "./coordination.ts";
import { incompleteCall, isTool, observeItem } from "./items.ts";
import type { NativeItem, NativeTurn } from "./native_schema.ts";
import { boundValue } from "./oversize.ts";
import { NO_HISTORY, readTotal, RunUsage } from "./usage.ts";

/** See the file comment. */
export class ChildTurn {
  readonly turnId: string;
  readonly #threadId: string;
  readonly #startedAt: number | null;
  readonly #usage: RunUsage;
  readonly #open = new Map<string, NativeItem>();
  #position = 0;

  /** `total` is what the child's thread had used before. */
  constructor(threadId: string, turn: NativeTurn, total: unknown) {
    this.#threadId = threadId;
    this.turnId = turn.id;
    this.#startedAt = milliseconds(turn.startedAt);
    this.#usage = new RunUsage(
      total === undefined ? NO_HISTORY : readTotal(total),
      undefined,
    );
  }

  /** Whether a tool of the child runs. */
  get toolRuns(): boolean {
    return this.#open.size > 0;
  }

  /** The Turn as it began. */
  begun(): TurnEvent {
    return this.#snapshot("in_progress", null);
  }

  /** A report of the counters of the child's thread. */
  used(total: unknown): void {
    this.#usage.report(readTotal(total));
  }

  /** An Item began. */
  opened(item: NativeItem): void {
    if (isTool(item)) this.#open.set(item.id, item);
  }

  /** An Item is whole. */
  completed(item: NativeItem): TurnEvent[] {
    this.#open.delete(item.id);
    const mapped = this.#map(item);
    return mapped ? [this.#item(item.id, mapped.kind, mapped.payload)] : [];
  }

  /** The Turn ended: tools without an end are incomplete. */
  ended(turn: NativeTurn): TurnEvent[] {
    const events = [...this.#open.values()].flatMap((item) => {
      const call = observeItem(item, "before");
      return call
        ? [this.#item(item.id, "tool_call", incompleteCall(call))]
        : [];
    });
    this.#open.clear();
    return [
      ...events,
      this.#snapshot(statusOf(turn.status), milliseconds(turn.completedAt)),
    ];
  }

  #map(
    item: NativeItem,
  ): { kind: SubagentItem["kind"]; payload: unknown } | undefined {
    if (isDelegation(item)) {
      const payload = coordinationOf(item, "completed", this.#threadId);
      return payload ? { kind: "subagent_coordination", payload } : undefined;
    }
    if (isTool(item)) {
      return { kind: "tool_call", payload: observeItem(item, "after") };
    }
    switch (item.type) {
      case "userMessage":
        return { kind: "message", payload: userMessage(item) };
      case "agentMessage":
        return {
          kind: "output_message",
          payload: {
            id: item.id,
            status: "completed",
            text: item.text ?? "",
            ...(typeof item.phase === "string" ? { phase: item.phase } : {}),
          },
        };
      case "reasoning":
        return { kind: "reasoning", payload: reasoning(item) };
      default:
        return undefined;
    }
  }

  #item(id: string, kind: SubagentItem["kind"], payload: unknown): TurnEvent {
    return {
      type: "subagent_item",
      payload: {
        native_id: this.#threadId,
        turn_id: this.turnId,
        item_id: id,
        position: this.#position++,
        kind,
        payload: boundValue(payload),
      },
    };
  }

  #snapshot(
    status: SubagentTurn["status"],
    completedAt: number | null,
  ): TurnEvent {
    return {
      type: "subagent_turn",
      payload: {
        native_id: this.#threadId,
        turn_id: this.turnId,
        status,
        created_at_ms: this.#startedAt ?? completedAt ?? 0,
        started_at_ms: this.#startedAt,
        completed_at_ms: completedAt,
        usage: this.#usage.snapshot() ?? null,
      },
    };
  }
}

function userMessage(item: NativeItem): object {
  const content = Array.isArray(item.content) ? item.content : [];
  const parts = content.flatMap((part: Record<string, unknown>) =>
    part.type === "text" ? [{ type: "input_text", text: part.text }] : []
  );
  return { type: "message", input: [{ role: "user", content: parts }] };
}

function reasoning(item: NativeItem): object {
  const summary = Array.isArray(item.summary) ? item.summary : [];
  return {
    status: "completed",
    summary: summary.filter((text) => typeof text === "string")
      .map((text) => ({ type: "summary_text", text })),
  };
}

function statusOf(native: string): SubagentTurn["status"] {
  switch (native) {
    case "completed":
      return "completed";
    case "interrupted":
      return "cancelled";
    default:
      return "failed";
  }
}

function milliseconds(seconds: number | null | undefined): number | null {
  return typeof seconds === "number" ? Math.round(seconds * 1000) : null;
}
