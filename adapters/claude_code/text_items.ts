/**
 * Turns the streamed text of root messages into deltas and message items. A message is completed
 * only by the program's own finished blocks after a real end of the provider's stream; an abandoned
 * one stays in progress for ever.
 */
import type { TurnEvent } from "../../src/harness/contract.ts";
import type { NativeFrames } from "./native_frames.ts";

interface TextBlock {
  draft: string;
  /** The provider said that the block is whole. */
  whole: boolean;
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
      case "content_block_stop": {
        const block = this.#open?.blocks.get(event.index);
        if (block) block.whole = true;
        return;
      }
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

  /** Takes the finished text of an `assistant` frame for the block that it was streamed in. */
  finished(frame: NativeFrames["assistant"]): void {
    const open = this.#open;
    if (!open || open.id !== frame.message.id || frame.aborted === true) return;
    for (const block of frame.message.content) {
      if (block.type !== "text") continue;
      const waiting = ordered(open).filter((each) => each.final === undefined);
      const target = waiting.find((each) => each.draft === block.text) ??
        waiting.find((each) => !isBlank(each.draft));
      if (!target) throw new BrokenStream("A finished text has no block");
      target.final = block.text;
    }
  }

  #startBlock(index: number, text: string): void {
    const open = this.#requireOpen();
    open.blocks.set(index, { draft: "", whole: false });
    this.#append(index, text);
  }

  /** A message without any text, such as one of tool calls, is no item. */
  #announce(open: OpenMessage): void {
    if (open.announced) return;
    open.announced = true;
    if (!this.observeMessages) return;
    this.emit({
      type: "output_message",
      payload: { id: open.id, status: "in_progress" },
    });
  }

  #append(index: number, text: string): void {
    if (text === "") return;
    const open = this.#requireOpen();
    const block = open.blocks.get(index);
    if (!block) throw new BrokenStream("A text fragment has no block");
    block.draft += text;
    this.#announce(open);
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
    const texts = ordered(open).map(finalText);
    if (texts.includes(undefined)) return;
    const text = texts.join("");
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

/** The program drops a whole block of white space without a frame: what was streamed is final. */
function finalText(block: TextBlock): string | undefined {
  if (block.final !== undefined) return block.final;
  return block.whole && isBlank(block.draft) ? block.draft : undefined;
}

function isBlank(text: string): boolean {
  return text.trim() === "";
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
