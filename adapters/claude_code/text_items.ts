/**
 * Turns the streamed text of root messages into deltas and message items. A message is completed
 * only by the program's own finished blocks after a real end of the provider's stream; an abandoned
 * one stays in progress for ever.
 */
import type { TurnEvent } from "../../src/harness/contract.ts";
import type { NativeFrames } from "./native_frames.ts";

interface TextBlock {
  draft: string;
  /** The program's authoritative text; absent until its `assistant` frame. */
  final?: string;
}

interface OpenMessage {
  readonly id: string;
  readonly blocks: Map<number, TextBlock>;
  announced: boolean;
  /** The provider said how the message ends; a synthetic stop lacks it. */
  ended: boolean;
}

/** A frame order that no intact stream has. */
export class BrokenStream extends Error {
  override readonly name = "BrokenStream";
}

/** Root text of one Turn. */
export class TextItems {
  #open: OpenMessage | undefined;
  #completed = "";

  constructor(
    private readonly observeMessages: boolean,
    private readonly emit: (event: TurnEvent) => void,
  ) {}

  /** All text so far: finished messages, then what the open one has streamed. */
  get text(): string {
    return this.#completed + draftOf(this.#open);
  }

  /** @throws {BrokenStream} when a piece arrives outside a message. */
  stream(event: NativeFrames["stream_event"]["event"]): void {
    switch (event.type) {
      case "message_start":
        // An unfinished predecessor was abandoned and is being repeated: its text is void.
        this.#open = {
          id: event.message.id,
          blocks: new Map(),
          announced: false,
          ended: false,
        };
        return;
      case "content_block_start":
        if (event.content_block.type === "text") {
          this.#startBlock(event.index, event.content_block.text ?? "");
        }
        return;
      case "content_block_delta":
        if (event.delta.type === "text_delta") {
          this.#append(event.index, event.delta.text ?? "");
        } else if (event.delta.type === "thinking_delta") {
          this.#think(event.delta.thinking ?? "");
        }
        return;
      case "message_delta":
        if (this.#open) this.#open.ended = true;
        return;
      case "message_stop":
        this.#stop();
        return;
      case "other":
        return;
    }
  }

  /** Takes the finished text blocks of an `assistant` frame, in order of their index. */
  finished(frame: NativeFrames["assistant"]): void {
    const open = this.#open;
    if (!open || open.id !== frame.message.id || frame.aborted === true) return;
    for (const block of frame.message.content) {
      if (block.type !== "text") continue;
      const waiting = ordered(open).find((each) => each.final === undefined);
      if (!waiting) throw new BrokenStream("A finished text has no block");
      waiting.final = block.text;
    }
  }

  #startBlock(index: number, text: string): void {
    const open = this.#requireOpen();
    open.blocks.set(index, { draft: "" });
    if (!open.announced) {
      open.announced = true;
      if (this.observeMessages) {
        this.emit({
          type: "output_message",
          payload: { id: open.id, status: "in_progress" },
        });
      }
    }
    this.#append(index, text);
  }

  #append(index: number, text: string): void {
    if (text === "") return;
    const open = this.#requireOpen();
    const block = open.blocks.get(index);
    if (!block) throw new BrokenStream("A text fragment has no block");
    block.draft += text;
    this.emit({
      type: "delta",
      payload: this.observeMessages
        ? { item_id: open.id, delta: text }
        : { delta: text },
    });
  }

  #think(text: string): void {
    if (text !== "") this.emit({ type: "thinking", payload: { text } });
  }

  #stop(): void {
    const open = this.#open;
    if (!open || !open.ended) return;
    const blocks = ordered(open);
    if (blocks.some((block) => block.final === undefined)) return;
    const text = blocks.map((block) => block.final ?? "").join("");
    this.#open = undefined;
    this.#completed += text;
    if (open.announced && this.observeMessages) {
      this.emit({
        type: "output_message",
        payload: { id: open.id, status: "completed", text },
      });
    }
  }

  #requireOpen(): OpenMessage {
    if (!this.#open) throw new BrokenStream("A fragment belongs to no message");
    return this.#open;
  }
}

function ordered(message: OpenMessage): readonly TextBlock[] {
  return [...message.blocks].sort(([a], [b]) => a - b).map(([, block]) =>
    block
  );
}

function draftOf(message: OpenMessage | undefined): string {
  if (!message) return "";
  return ordered(message).map((block) => block.final ?? block.draft).join("");
}
