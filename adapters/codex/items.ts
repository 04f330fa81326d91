/**
 * Native tool items as neutral observations. Maps the kinds the wire knows and no other: an item of
 * an unknown kind is not reported.
 */
import type { ContentPart } from "../../src/protocol/message_input.ts";
import type {
  ToolCall,
  ToolObservation,
} from "../../src/protocol/tool_call.ts";
import { boundOutput, boundValue } from "./oversize.ts";
import type { NativeItem } from "./native_schema.ts";

/** A tool item that lacks what its observation needs. The Turn cannot be reported faithfully. */
export class InvalidObservation extends Error {
  override readonly name = "InvalidObservation";
}

type Stage = "before" | "after";
type Mapped = Omit<ToolCall, "id" | "stage">;

/** Whether `item` is a tool whose before and after are observed. */
export function isTool(item: NativeItem): boolean {
  return item.type in MAPPINGS;
}

/**
 * The observation of a tool item; `undefined` for an item that is no tool.
 *
 * @throws {InvalidObservation} when a required member is missing.
 */
export function observeItem(
  item: NativeItem,
  stage: Stage,
): ToolCall | undefined {
  const map = MAPPINGS[item.type];
  if (!map) return undefined;
  return { ...map(item, stage), id: item.id, stage };
}

/** The end of a tool that got none: what it did is unknown. */
export function incompleteCall(before: ToolCall): ToolCall {
  const { observation, args: _args, ...rest } = before;
  if (!observation) return { ...rest, stage: "after" };
  return {
    ...rest,
    stage: "after",
    observation: { ...observation, status: "incomplete" },
  };
}

const MAPPINGS: Readonly<
  Record<string, (item: NativeItem, stage: Stage) => Mapped>
> = {
  commandExecution: observeCommand,
  mcpToolCall: observeMcp,
  dynamicToolCall: observeFunction,
  fileChange: observeFileChange,
  webSearch: observeWebSearch,
};

function observeCommand(item: NativeItem, stage: Stage): Mapped {
  const command = required(item, "command");
  const cwd = text(item.cwd);
  const exitCode = integer(item.exitCode);
  const duration = integer(item.durationMs);
  const output = text(item.aggregatedOutput);
  const observation: ToolObservation = {
    kind: "command",
    status: statusOf(item, stage),
    command,
    ...(cwd === undefined ? {} : { cwd }),
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    ...(duration === undefined ? {} : { duration_ms: duration }),
    ...(stage === "after" && output !== undefined
      ? { output: boundOutput(output) }
      : {}),
  };
  return {
    name: "Bash",
    observation,
    ...(stage === "before"
      ? { args: { command, ...(cwd === undefined ? {} : { cwd }) } }
      : {
        result: {
          ...(exitCode === undefined ? {} : { exit_code: exitCode }),
          status: observation.status,
        },
      }),
  };
}

function observeMcp(item: NativeItem, stage: Stage): Mapped {
  const server = required(item, "server");
  const tool = required(item, "tool");
  const argumentsValue = boundValue(item.arguments ?? null);
  return {
    name: `mcp__${server}__${tool}`,
    observation: {
      kind: "mcp",
      status: statusOf(item, stage),
      server,
      name: tool,
      arguments: argumentsValue,
      output: boundValue(item.result ?? null),
      error: boundValue(item.error ?? null),
    },
    ...payloadOf(item, stage, argumentsValue),
  };
}

function observeFunction(item: NativeItem, stage: Stage): Mapped {
  const tool = required(item, "tool");
  const namespace = text(item.namespace);
  const name = namespace ? `${namespace}::${tool}` : tool;
  const argumentsValue = boundValue(item.arguments ?? null);
  const status = stage === "after" && item.success === false
    ? "failed"
    : statusOf(item, stage);
  const content = stage === "after" ? contentOf(item) : undefined;
  return {
    name,
    observation: {
      kind: "function",
      status,
      name,
      arguments: argumentsValue,
      ...(content ? { content } : {}),
    },
    ...payloadOf(item, stage, argumentsValue),
  };
}

function observeFileChange(item: NativeItem, stage: Stage): Mapped {
  const changes = boundValue(item.changes ?? null);
  return {
    name: "Edit",
    observation: {
      kind: "function",
      status: statusOf(item, stage),
      name: "apply_patch",
      arguments: { changes },
    },
    ...payloadOf(item, stage, { changes }),
  };
}

const SEARCH_ACTIONS = {
  search: "search",
  openPage: "open_page",
  findInPage: "find_in_page",
  other: "other",
} as const;

function observeWebSearch(item: NativeItem, stage: Stage): Mapped {
  const query = text(item.query);
  return {
    name: "WebSearch",
    observation: {
      kind: "web_search",
      status: statusOf(item, stage),
      ...(item.action ? { action: searchAction(item.action) } : {}),
    },
    ...payloadOf(item, stage, query === undefined ? {} : { query }),
  };
}

function searchAction(
  native: unknown,
): NonNullable<ToolObservation["action"]> {
  const action = record(native) ?? {};
  const type = SEARCH_ACTIONS[action.type as keyof typeof SEARCH_ACTIONS];
  if (!type) throw new InvalidObservation("codex: invalid tool observation");
  const queries = Array.isArray(action.queries)
    ? action.queries.filter((query) => typeof query === "string")
    : undefined;
  return {
    type,
    ...optional("query", text(action.query)),
    ...(queries ? { queries } : {}),
    ...optional("url", text(action.url)),
    ...optional("pattern", text(action.pattern)),
  };
}

/** `args` before, the native status after: members that older readers of the frame use. */
function payloadOf(
  item: NativeItem,
  stage: Stage,
  argumentsValue: unknown,
): Pick<Mapped, "args" | "result"> {
  if (stage === "before") {
    return { args: record(argumentsValue) ?? { value: argumentsValue } };
  }
  const status = text(item.status);
  return { result: status === undefined ? {} : { status } };
}

function statusOf(item: NativeItem, stage: Stage): ToolObservation["status"] {
  if (stage === "before") return "in_progress";
  switch (text(item.status) ?? "") {
    case "":
    case "completed":
      return "completed";
    case "failed":
    case "declined":
      return "failed";
    default:
      return "incomplete";
  }
}

function contentOf(item: NativeItem): ContentPart[] | undefined {
  if (!Array.isArray(item.contentItems)) return undefined;
  return item.contentItems.map((native): ContentPart => {
    const part = record(native) ?? {};
    if (part.type === "inputText" && typeof part.text === "string") {
      return { type: "input_text", text: boundOutput(part.text) };
    }
    if (part.type === "inputImage" && typeof part.imageUrl === "string") {
      const image = boundValue(part.imageUrl);
      return image === part.imageUrl
        ? { type: "input_image", image_url: part.imageUrl }
        : { type: "input_text", text: String(image) };
    }
    throw new InvalidObservation("codex: invalid tool observation");
  });
}

function required(item: NativeItem, member: string): string {
  const value = text(item[member]);
  if (!value) throw new InvalidObservation("codex: invalid tool observation");
  return value;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function integer(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value)
    ? value
    : undefined;
}

function optional<N extends string>(
  name: N,
  value: string | undefined,
): Partial<Record<N, string>> {
  return value === undefined ? {} : { [name]: value } as Record<N, string>;
}

function record(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? value as Record<string, unknown>
    : undefined;
}
