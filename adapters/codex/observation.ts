/**
 * What one native Turn shows of itself: text, thinking, tools, tokens, errors. Turns notifications
 * of exactly this Turn into events; decides nothing about its end.
 */
import type { TurnEvent } from "../../src/harness/contract.ts";
import type { ToolCall } from "../../src/protocol/tool_call.ts";
import type { Usage } from "../../src/protocol/run_output.ts";
import { incompleteCall, observeItem } from "./items.ts";
import type { Messages } from "./messages.ts";
import {
  deltaEvent,
  errorEvent,
  itemEvent,
  type NativeItem,
} from "./native_schema.ts";
import type { RunUsage, ThreadTotal } from "./usage.ts";

/** The observation of one Turn. */
export class Observation {
  readonly messages: Messages;
  readonly #usage: RunUsage;
  readonly #emit: (event: TurnEvent) => void;
  readonly #open = new Map<string, ToolCall>();
  readonly #thoughts = new Map<string, string>();
  #lastError: string | undefined;

  constructor(
    messages: Messages,
    usage: RunUsage,
    emit: (event: TurnEvent) => void,
  ) {
    this.messages = messages;
    this.#usage = usage;
    this.#emit = emit;
  }

  /** Whether a tool runs: then the engine is silent for a reason. */
  get toolRuns(): boolean {
    return this.#open.size > 0;
  }

  /** The text of the last `error` notification; an answer to nothing but a failed Turn. */
  get lastError(): string | undefined {
    return this.#lastError;
  }

  /** What is known of the tokens. */
  usage(): Usage | undefined {
    return this.#usage.snapshot();
  }

  /** A report of the counters of the root thread during this Turn. */
  used(total: ThreadTotal): void {
    this.#usage.report(total);
    const usage = this.#usage.snapshot();
    if (usage) this.#emit({ type: "usage", payload: usage });
  }

  /** A report about the history before this Turn. */
  history(total: ThreadTotal): void {
    this.#usage.history(total);
  }

  /**
   * A notification of this Turn.
   *
   * @throws {InvalidObservation} when a tool item cannot be reported.
   */
  notified(method: string, params: unknown): void {
    switch (method) {
      case "item/started":
      case "item/completed":
        return this.#item(method, params);
      case "item/agentMessage/delta": {
        const event = deltaEvent.safeParse(params);
        if (!event.success) return;
        return this.#send(
          this.messages.delta(event.data.itemId, event.data.delta),
        );
      }
      case "item/reasoning/textDelta":
      case "item/reasoning/summaryTextDelta":
        return this.#thought(params);
      case "error":
        return this.#error(params);
      default:
        return;
    }
  }

  /** The Turn ended: tools without an end are incomplete, whatever they did. */
  closeOpenTools(): void {
    for (const call of this.#open.values()) {
      this.#emit({ type: "tool_call", payload: incompleteCall(call) });
    }
    this.#open.clear();
  }

  #item(method: string, params: unknown): void {
    const event = itemEvent.safeParse(params);
    if (!event.success) return;
    const { item } = event.data;
    const began = method === "item/started";
    switch (item.type) {
      case "agentMessage":
        return this.#send(
          began ? this.messages.started(item) : this.messages.completed(item),
        );
      case "reasoning":
        if (!began) this.#thoughtWhole(item);
        return;
      default:
        return began ? this.#before(item) : this.#after(item);
    }
  }

  #before(item: NativeItem): void {
    const call = observeItem(item, "before");
    if (!call || this.#open.has(item.id)) return;
    this.#open.set(item.id, call);
    this.#emit({ type: "tool_call", payload: call });
  }

  #after(item: NativeItem): void {
    const call = observeItem(item, "after");
    if (!call) return;
    if (!this.#open.has(item.id)) this.#before(item);
    this.#open.delete(item.id);
    this.#emit({ type: "tool_call", payload: call });
  }

  #thought(params: unknown): void {
    const event = deltaEvent.safeParse(params);
    if (!event.success || event.data.delta === "") return;
    const { itemId, delta } = event.data;
    this.#thoughts.set(itemId, (this.#thoughts.get(itemId) ?? "") + delta);
    this.#emit({ type: "thinking", payload: { text: delta } });
  }

  /** The whole of a reasoning item, without a sequence: its fragments were counted. */
  #thoughtWhole(item: NativeItem): void {
    const text = this.#thoughts.get(item.id) ??
      (texts(item.summary).join("\n\n") || texts(item.content).join("\n\n"));
    this.#thoughts.delete(item.id);
    if (text === "") return;
    this.#emit({ type: "thinking", payload: { text }, unsequenced: true });
  }

  #error(params: unknown): void {
    const event = errorEvent.safeParse(params);
    if (!event.success) return;
    this.#lastError = event.data.error?.message ?? this.#lastError;
    // Whatever the lost answer used is in no counter, retried or not.
    this.#usage.lost();
    if (event.data.willRetry === true) this.messages.abandonOpen();
  }

  #send(events: readonly TurnEvent[]): void {
    for (const event of events) this.#emit(event);
  }
}

function texts(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return value.filter((text): text is string => typeof text === "string");
}
