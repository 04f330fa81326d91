/**
 * The server-sent events of a scripted Responses answer. Owns the order of the events; knows
 * nothing of sockets.
 */

/** A piece of a text: sent at once, or a promise that holds the stream open until it resolves. */
export type Fragment = string | Promise<void>;

/** One output item of a scripted answer. */
export type ScriptedItem =
  | {
    readonly type: "message";
    readonly id: string;
    readonly fragments: readonly Fragment[];
    /** Left out of the item when absent. */
    readonly phase?: "commentary" | "final_answer";
  }
  | {
    readonly type: "reasoning";
    readonly id: string;
    readonly fragments: readonly Fragment[];
  }
  | {
    readonly type: "function_call";
    readonly callId: string;
    readonly name: string;
    readonly namespace?: string;
    /** The raw JSON text of the arguments. */
    readonly arguments: string;
  }
  | {
    readonly type: "custom_tool_call";
    readonly callId: string;
    readonly name: string;
    readonly input: string;
  }
  | {
    readonly type: "web_search_call";
    readonly id: string;
    readonly query: string;
  };

/** Token counts that a scripted answer reports. */
export interface ScriptedUsage {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly reasoning: number;
}

/** One whole model answer. */
export interface ScriptedResponse {
  readonly items: readonly ScriptedItem[];
  /** 100 in, 20 of them cached, 10 out, 3 of them reasoning unless given; `null` reports none. */
  readonly usage?: ScriptedUsage | null;
  /** Resolves right before the end of the answer. */
  readonly beforeEnd?: Promise<void>;
}

/** The counts of an answer whose script names none. */
export const DEFAULT_USAGE: ScriptedUsage = {
  input: 100,
  cached: 20,
  output: 10,
  reasoning: 3,
};

/** Writes an event in its wire form. */
export function encodeEvent(type: string, members: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

/** The events of an answer in order, waiting where the script waits. */
export async function* responseEvents(
  response: ScriptedResponse,
  id: string,
): AsyncGenerator<string> {
  yield encodeEvent("response.created", { response: { id } });
  for (const [index, item] of response.items.entries()) {
    yield* itemEvents(item, index);
  }
  await response.beforeEnd;
  yield encodeEvent("response.completed", {
    response: { id, ...reportedUsage(response.usage) },
  });
}

/** The events of an answer up to its end, which never comes. */
export async function* brokenEvents(
  items: readonly ScriptedItem[],
  id: string,
): AsyncGenerator<string> {
  yield encodeEvent("response.created", { response: { id } });
  for (const [index, item] of items.entries()) {
    yield* itemEvents(item, index);
  }
}

/** An answer that ends as failed with a typed error. */
export function failedEvent(code: string, message: string, id: string): string {
  return encodeEvent("response.failed", {
    response: { id, status: "failed", error: { code, message } },
  });
}

/** An answer that ends incomplete. */
export function incompleteEvent(reason: string, id: string): string {
  return encodeEvent("response.incomplete", {
    response: { id, status: "incomplete", incomplete_details: { reason } },
  });
}

async function* itemEvents(
  item: ScriptedItem,
  index: number,
): AsyncGenerator<string> {
  const streamed = item.type === "message" || item.type === "reasoning";
  if (!streamed) {
    yield encodeEvent("response.output_item.done", {
      output_index: index,
      item: wholeItem(item, ""),
    });
    return;
  }
  yield encodeEvent("response.output_item.added", {
    output_index: index,
    item: wholeItem(item, undefined),
  });
  if (item.type === "reasoning") {
    yield encodeEvent("response.reasoning_summary_part.added", {
      item_id: item.id,
      summary_index: 0,
    });
  }
  let text = "";
  for (const fragment of item.fragments) {
    if (typeof fragment !== "string") {
      await fragment;
      continue;
    }
    text += fragment;
    yield item.type === "message"
      ? encodeEvent("response.output_text.delta", {
        item_id: item.id,
        output_index: index,
        content_index: 0,
        delta: fragment,
      })
      : encodeEvent("response.reasoning_summary_text.delta", {
        item_id: item.id,
        summary_index: 0,
        delta: fragment,
      });
  }
  yield encodeEvent("response.output_item.done", {
    output_index: index,
    item: wholeItem(item, text),
  });
}

/** The item as its event carries it; `undefined` text is an item that has just begun. */
function wholeItem(item: ScriptedItem, text: string | undefined): object {
  switch (item.type) {
    case "message":
      return {
        type: "message",
        role: "assistant",
        id: item.id,
        ...(item.phase ? { phase: item.phase } : {}),
        content: text === undefined ? [] : [{ type: "output_text", text }],
      };
    case "reasoning":
      return {
        type: "reasoning",
        id: item.id,
        summary: text === undefined ? [] : [{ type: "summary_text", text }],
      };
    case "function_call":
      return {
        type: "function_call",
        id: `fc_${item.callId}`,
        call_id: item.callId,
        name: item.name,
        ...(item.namespace ? { namespace: item.namespace } : {}),
        arguments: item.arguments,
      };
    case "custom_tool_call":
      return {
        type: "custom_tool_call",
        id: `ct_${item.callId}`,
        call_id: item.callId,
        name: item.name,
        input: item.input,
      };
    case "web_search_call":
      return {
        type: "web_search_call",
        id: item.id,
        status: "completed",
        action: { type: "search", query: item.query },
      };
  }
}

function reportedUsage(usage: ScriptedUsage | null | undefined): object {
  if (usage === null) return {};
  const { input, cached, output, reasoning } = usage ?? DEFAULT_USAGE;
  return {
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: input + output,
    },
  };
}
