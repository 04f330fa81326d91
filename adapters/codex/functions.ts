/**
 * Functions that Core executes: which are offered, which calls wait, and the native receipt of a
 * result. A call is answered once; what the engine took is proved by its own completed item.
 */
import { WriteNotStarted } from "../../src/harness/child.ts";
import { UnknownInteraction } from "../../src/harness/contract.ts";
import { DeadlineExceeded, within } from "../../src/platform/clock.ts";
import { type Deferred, deferred } from "../../src/platform/deferred.ts";
import type { FunctionTool } from "../../src/protocol/configuration.ts";
import type { FunctionResult } from "../../src/protocol/functions.ts";
import { isBlank } from "../../src/protocol/text.ts";
import {
  checkNativeResult,
  nativeResult,
  type NativeResultItem,
} from "./input.ts";
import { MAX_FUNCTION_TOOLS, MAX_PENDING_CALLS } from "./limits.ts";
import { type NativeItem, toolCallRequest } from "./native_schema.ts";
import type { TurnHost } from "./turn_host.ts";

/** What the engine takes as a tool name. */
const TOOL_NAME = /^[a-zA-Z0-9_-]+$/;
/** Names of the engine's own tools; a second tool of that name has no defined meaning. */
const NATIVE_TOOLS: ReadonlySet<string> = new Set([
  "apply_patch",
  "exec_command",
  "list_mcp_resource_templates",
  "list_mcp_resources",
  "read_mcp_resource",
  "request_user_input",
  "shell",
  "tool_search",
  "update_plan",
  "view_image",
  "web_search",
  "write_stdin",
]);

/** Why the engine would not take the tools. */
export function checkFunctionTools(
  tools: readonly FunctionTool[],
): string | undefined {
  if (tools.length > MAX_FUNCTION_TOOLS) {
    return "at most 64 function tools are supported";
  }
  const names = new Set<string>();
  for (const { name, parameters } of tools) {
    if (isBlank(name) || !TOOL_NAME.test(name) || names.has(name)) {
      return "function tools require unique names of letters, digits, _ and -";
    }
    if (NATIVE_TOOLS.has(name)) return "a function tool has a native name";
    if (typeof parameters !== "object" || parameters === null) {
      return "function tools require object schemas";
    }
    if (Array.isArray(parameters)) {
      return "function tools require object schemas";
    }
    names.add(name);
  }
  return undefined;
}

/** The tools as the thread declares them. */
export function dynamicTools(tools: readonly FunctionTool[]): object[] {
  return tools.map(({ name, description, parameters }) => ({
    type: "function",
    name,
    description,
    inputSchema: parameters,
  }));
}

interface PendingCall {
  readonly requestId: number | string;
  readonly tool: string;
  readonly receipt: Deferred<void>;
  submitted: {
    readonly success: boolean;
    readonly content: readonly NativeResultItem[];
  } | undefined;
}

/** The calls of one Turn. */
export class FunctionCalls {
  readonly #host: TurnHost;
  readonly #declared: ReadonlySet<string>;
  readonly #calls = new Map<string, PendingCall>();
  readonly #seen = new Set<string>();
  #open = true;

  constructor(host: TurnHost, tools: readonly FunctionTool[]) {
    this.#host = host;
    this.#declared = new Set(tools.map(({ name }) => name));
  }

  /** Whether a call waits for its result: then the engine is silent for a reason. */
  get waiting(): boolean {
    return this.#calls.size > 0;
  }

  /** A native call. What cannot be passed on is refused at once, so that the engine goes on. */
  called(id: number | string, params: unknown): void {
    const call = toolCallRequest.safeParse(params);
    const acceptable = this.#open && call.success && !call.data.namespace &&
      this.#declared.has(call.data.tool) &&
      !this.#seen.has(call.data.callId) &&
      this.#calls.size < MAX_PENDING_CALLS;
    if (!acceptable) {
      this.#host.rpc.refuse(id, -32602, "the call cannot be executed");
      return;
    }
    const { callId, tool, arguments: value } = call.data;
    this.#seen.add(callId);
    this.#calls.set(callId, {
      requestId: id,
      tool,
      receipt: deferred(),
      submitted: undefined,
    });
    this.#host.emit({
      type: "function_call",
      payload: { call_id: callId, name: tool, arguments: value },
    });
  }

  /**
   * Answers a call and waits for the native receipt.
   *
   * @throws {UnknownInteraction} when the call is not pending.
   */
  async submit(result: FunctionResult, signal: AbortSignal): Promise<void> {
    const call = this.#calls.get(result.call_id);
    if (!call || call.submitted || !this.#open) {
      throw new UnknownInteraction("codex: the function call is not pending");
    }
    const refusal = checkNativeResult(result);
    if (refusal) throw new Error(refusal.reason);
    const { limits, clock, rpc } = this.#host;
    const submitted = {
      success: result.success,
      content: nativeResult(result.content),
    };
    call.submitted = submitted;
    try {
      await within(
        clock,
        limits.functionResult,
        "function result",
        rpc.answer(call.requestId, {
          success: submitted.success,
          contentItems: submitted.content,
        }, signal).then(() => call.receipt.promise),
      );
    } catch (error) {
      if (call.receipt.settled) return await call.receipt.promise;
      if (error instanceof WriteNotStarted) call.submitted = undefined;
      else if (error instanceof DeadlineExceeded || !signal.aborted) {
        this.#host.lose("codex: a function result has no native receipt");
      }
      throw error;
    }
  }

  /** A completed function item: the receipt of its result. Call it before it is observed. */
  completed(item: NativeItem): void {
    const call = this.#calls.get(item.id);
    if (!call?.submitted) return;
    this.#calls.delete(item.id);
    if (matches(item, call)) return call.receipt.resolve();
    call.receipt.reject(new Error("codex: the engine took another result"));
  }

  /** No further call or result is taken; a submitted one keeps waiting for its receipt. */
  close(): void {
    this.#open = false;
  }

  /** The Turn ended: nothing waits any more. True when no submitted result lacks its receipt. */
  end(): boolean {
    this.#open = false;
    const unproved = [...this.#calls.values()].filter((call) => call.submitted);
    for (const { receipt } of this.#calls.values()) {
      receipt.reject(
        new UnknownInteraction("codex: the Turn of the call has ended"),
      );
    }
    this.#calls.clear();
    return unproved.length === 0;
  }
}

function matches(item: NativeItem, call: PendingCall): boolean {
  const { submitted } = call;
  if (!submitted || item.tool !== call.tool || item.namespace) return false;
  const status = submitted.success ? "completed" : "failed";
  if (item.status !== status || item.success !== submitted.success) {
    return false;
  }
  const native = item.contentItems;
  return Array.isArray(native) && native.length === submitted.content.length &&
    submitted.content.every((part, index) => samePart(part, native[index]));
}

function samePart(part: NativeResultItem, native: unknown): boolean {
  if (typeof native !== "object" || native === null) return false;
  const { type, text, imageUrl } = native as Record<string, unknown>;
  return type === part.type &&
    (part.type === "inputText"
      ? text === part.text
      : imageUrl === part.imageUrl);
}
