/**
 * The server-sent events of a scripted Messages answer. Owns the order of the events; knows
 * nothing of sockets.
 */

/** A piece of a block: sent at once, or a promise that holds the stream open until it resolves. */
export type Fragment = string | Promise<void>;

/** One content block of a scripted answer. */
export type ScriptedBlock =
  | { readonly type: "text"; readonly fragments: readonly Fragment[] }
  | { readonly type: "thinking"; readonly fragments: readonly Fragment[] }
  | {
    readonly type: "tool_use";
    readonly id: string;
    readonly name: string;
    /** The raw JSON text of the input, in pieces, so that a test controls every byte of it. */
    readonly fragments: readonly Fragment[];
  };

/** Token counts that a scripted answer reports. */
export interface ScriptedUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
}

/** One whole model answer. */
export interface ScriptedMessage {
  readonly id: string;
  readonly blocks: readonly ScriptedBlock[];
  /** `tool_use` when a block is one, else `end_turn`. */
  readonly stopReason?: string;
  /** 100 in and 10 out unless given. */
  readonly usage?: ScriptedUsage;
  /** Resolves right before the end of the message; a broken stream rejects. */
  readonly beforeEnd?: Promise<void>;
}

/** One event of the stream. */
export interface ServerSentEvent {
  readonly event: string;
  readonly data: unknown;
}

/** Writes an event in its wire form. */
export function encodeEvent(event: ServerSentEvent): string {
  return `event: ${event.event}\ndata: ${JSON.stringify(event.data)}\n\n`;
}

/** The events of a message in order, waiting where the script waits. */
export async function* messageEvents(
  message: ScriptedMessage,
  model: string,
): AsyncGenerator<ServerSentEvent> {
  const usage = message.usage ?? { input_tokens: 100, output_tokens: 10 };
  yield event("message_start", {
    message: {
      id: message.id,
      type: "message",
      role: "assistant",
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...usage, output_tokens: 1 },
    },
  });
  for (const [index, block] of message.blocks.entries()) {
    yield* blockEvents(block, index);
  }
  await message.beforeEnd;
  const stopReason = message.stopReason ??
    (message.blocks.some((block) => block.type === "tool_use")
      ? "tool_use"
      : "end_turn");
  yield event("message_delta", {
    delta: { stop_reason: stopReason, stop_sequence: null },
    usage,
  });
  yield event("message_stop", {});
}

async function* blockEvents(
  block: ScriptedBlock,
  index: number,
): AsyncGenerator<ServerSentEvent> {
  yield event("content_block_start", { index, content_block: opening(block) });
  for (const fragment of block.fragments) {
    if (typeof fragment !== "string") {
      await fragment;
      continue;
    }
    yield event("content_block_delta", {
      index,
      delta: piece(block, fragment),
    });
  }
  if (block.type === "thinking") {
    yield event("content_block_delta", {
      index,
      delta: { type: "signature_delta", signature: "c2lnbmF0dXJl" },
    });
  }
  yield event("content_block_stop", { index });
}

function opening(block: ScriptedBlock): unknown {
  switch (block.type) {
    case "text":
      return { type: "text", text: "" };
    case "thinking":
      return { type: "thinking", thinking: "", signature: "" };
    case "tool_use":
      return { type: "tool_use", id: block.id, name: block.name, input: {} };
  }
}

function piece(block: ScriptedBlock, fragment: string): unknown {
  switch (block.type) {
    case "text":
      return { type: "text_delta", text: fragment };
    case "thinking":
      return { type: "thinking_delta", thinking: fragment };
    case "tool_use":
      return { type: "input_json_delta", partial_json: fragment };
  }
}

function event(type: string, members: object): ServerSentEvent {
  return { event: type, data: { type, ...members } };
}

/** The content of a message that was not streamed; waits as the stream would. */
export async function messageBody(
  message: ScriptedMessage,
  model: string,
): Promise<unknown> {
  const content: unknown[] = [];
  for (const block of message.blocks) {
    const text: string[] = [];
    for (const fragment of block.fragments) {
      if (typeof fragment === "string") text.push(fragment);
      else await fragment;
    }
    content.push(wholeBlock(block, text.join("")));
  }
  await message.beforeEnd;
  return {
    id: message.id,
    type: "message",
    role: "assistant",
    model,
    content,
    stop_reason: message.stopReason ?? "end_turn",
    stop_sequence: null,
    usage: message.usage ?? { input_tokens: 100, output_tokens: 10 },
  };
}

function wholeBlock(block: ScriptedBlock, text: string): unknown {
  switch (block.type) {
    case "text":
      return { type: "text", text };
    case "thinking":
      return { type: "thinking", thinking: text, signature: "c2lnbmF0dXJl" };
    case "tool_use":
      return {
        type: "tool_use",
        id: block.id,
        name: block.name,
        input: text === "" ? {} : JSON.parse(text),
      };
  }
}
