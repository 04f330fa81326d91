/**
 * The assistant messages of one Turn: which are open, what was streamed of each, what each said in
 * the end. A message that a retry restarts sends no further deltas, only its completion.
 */
import type { TurnEvent } from "../../src/harness/contract.ts";
import type { NativeItem } from "./native_schema.ts";
import { boundText } from "./oversize.ts";

interface Message {
  folded: string;
  completed: string | undefined;
  /** `restarted`: the same id began again, what it streams would repeat. */
  state: "open" | "abandoned" | "restarted" | "completed";
}

/** Collects messages and says what to emit. */
export class Messages {
  readonly #observed: boolean;
  readonly #messages = new Map<string, Message>();

  /** `observed` adds `output_message` frames and item ids on deltas. */
  constructor(observed: "observed" | "unobserved") {
    this.#observed = observed === "observed";
  }

  /** A message began. */
  started(item: NativeItem): TurnEvent[] {
    const known = this.#messages.get(item.id);
    if (known) {
      if (known.state !== "completed") known.state = "restarted";
      return [];
    }
    this.#messages.set(item.id, {
      folded: "",
      completed: undefined,
      state: "open",
    });
    if (!this.#observed) return [];
    return [{
      type: "output_message",
      payload: { id: item.id, status: "in_progress", ...phaseOf(item) },
    }];
  }

  /** A fragment arrived. */
  delta(id: string, text: string): TurnEvent[] {
    const message = this.#messages.get(id);
    if (!message || message.state !== "open" || text === "") return [];
    message.folded += text;
    return [{
      type: "delta",
      payload: this.#observed ? { item_id: id, delta: text } : { delta: text },
    }];
  }

  /** A message is whole. */
  completed(item: NativeItem): TurnEvent[] {
    const events = this.#messages.has(item.id) ? [] : this.started(item);
    const message = this.#messages.get(item.id);
    if (!message || message.state === "completed") return events;
    const text = typeof item.text === "string" ? item.text : message.folded;
    message.completed = text;
    message.state = "completed";
    if (!this.#observed) return events;
    return [...events, {
      type: "output_message",
      payload: {
        id: item.id,
        status: "completed",
        text: boundText(text),
        ...phaseOf(item),
      },
    }];
  }

  /** The answer that the open messages belonged to is lost; the engine tries again. */
  abandonOpen(): void {
    for (const message of this.#messages.values()) {
      if (message.state === "open" || message.state === "restarted") {
        message.state = "abandoned";
      }
    }
  }

  /** Text of the last completed message. */
  lastCompleted(): string | undefined {
    return [...this.#messages.values()].findLast((message) =>
      message.completed !== undefined
    )?.completed;
  }

  /** The texts in order, a blank line between them; what was streamed where none was completed. */
  content(): string {
    return boundText(
      [...this.#messages.values()]
        .filter((message) => message.state !== "abandoned")
        .map((message) => message.completed ?? message.folded)
        .filter((text) => text !== "")
        .join("\n\n"),
    );
  }
}

function phaseOf(item: NativeItem): { phase?: string } {
  return typeof item.phase === "string" ? { phase: item.phase } : {};
}
