/**
 * Reads the program's frames on behalf of one Turn: feeds text, tools, receipts and usage, and
 * knows when nothing native of the Turn is left. It writes nothing.
 */
import type { EngineFailureCode } from "../../src/protocol/engine_failure.ts";
import { classifyFailure } from "./failure.ts";
import type { FunctionCalls } from "./function_calls.ts";
import type { InputLedger } from "./input_ledger.ts";
import type { Interactions } from "./interactions.ts";
import {
  namedUuids,
  type NativeFrame,
  type NativeFrames,
} from "./native_frames.ts";
import type { RunUsage } from "./run_usage.ts";
import {
  OUTPUT_TOOL,
  OutputMismatch,
  type StructuredOutput,
} from "./structured_output.ts";
import type { TextItems } from "./text_items.ts";
import type { ToolObservations } from "./tool_observations.ts";

/** The owners that one Turn's frames belong to. */
export interface TurnParts {
  readonly ledger: InputLedger;
  readonly text: TextItems;
  readonly tools: ToolObservations;
  readonly functions: FunctionCalls;
  readonly interactions: Interactions;
  readonly usage: RunUsage;
  /** Absent when no output schema was configured. */
  readonly structured?: StructuredOutput;
}

/** How the last native turn ended. */
export type NativeOutcome =
  | { readonly type: "none" }
  | { readonly type: "completed"; readonly content: string }
  | { readonly type: "aborted" }
  | {
    readonly type: "failed";
    readonly code?: EngineFailureCode;
    /** A native identifier, safe to show. */
    readonly cause: string;
  };

/** A native turn ended that no message of this Turn had begun. */
export class UnattributedResult extends Error {
  override readonly name = "UnattributedResult";
  constructor() {
    super("A native turn ended that this Turn did not begin");
  }
}

/** The program does not say when it is idle, so no Turn of it could ever be called ended. */
export class SilentStates extends Error {
  override readonly name = "SilentStates";
  constructor() {
    super("The program reports no session states");
  }
}

/** The model name of frames that the program makes up itself. */
const SYNTHETIC_MODEL = "<synthetic>";

const ABORTED: ReadonlySet<string> = new Set([
  "aborted_streaming",
  "aborted_tools",
]);

/** Reasons that show a request had gone to the provider, and so what it held was consumed. */
const AFTER_A_REQUEST: ReadonlySet<string> = new Set([
  "completed",
  "api_error",
  "image_error",
  "max_turns",
  "prompt_too_long",
  "structured_output_retry_exhausted",
]);

/** The reader of one Turn. */
export class TurnReader {
  /** Set when Core cancelled the Turn: error results of tools and turns are then expected. */
  cancelling = false;
  #idle = false;
  #ready = false;
  #reportsStates = false;
  #error: string | null = null;
  #refusalCategory: string | null = null;
  #outcome: NativeOutcome = { type: "none" };
  readonly #children = new Set<string>();

  constructor(private readonly parts: TurnParts) {}

  /** Whether the program has begun a native turn of this Turn. */
  get ready(): boolean {
    return this.#ready;
  }

  /** How the last native turn ended. */
  get outcome(): NativeOutcome {
    return this.#outcome;
  }

  /**
   * Whether every own message ended, no child works, and the program said it is idle after its
   * last result. A result alone is not enough: queued input begins another native turn.
   */
  get quiescent(): boolean {
    return this.#idle && this.#children.size === 0 &&
      this.parts.ledger.allTerminal;
  }

  /** Takes a frame. Throws when it breaks the protocol. */
  read(frame: NativeFrame): void {
    switch (frame.type) {
      case "command_lifecycle":
        if (frame.state === "queued" || frame.state === "started") {
          this.#idle = false;
        }
        this.parts.ledger.lifecycle(frame.command_uuid, frame.state);
        return;
      case "stream_event":
        if (isRoot(frame)) this.#stream(frame);
        return;
      case "assistant":
        if (isRoot(frame) && frame.isReplay !== true) this.#assistant(frame);
        return;
      case "user":
        if (isRoot(frame) && frame.isReplay !== true) this.#user(frame);
        return;
      case "result":
        this.#result(frame);
        return;
      case "system":
        this.#system(frame);
        return;
      case "control_request":
      case "control_response":
      case "control_cancel_request":
        return;
    }
  }

  #system(frame: Extract<NativeFrame, { type: "system" }>): void {
    switch (frame.subtype) {
      case "init":
        this.#ready = true;
        return;
      case "session_state_changed":
        this.#reportsStates = true;
        this.#idle = frame.state === "idle";
        return;
      case "task_started":
        this.#children.add(frame.task_id);
        return;
      case "task_notification":
        this.#children.delete(frame.task_id);
        return;
      case "model_refusal_no_fallback":
        this.#refusalCategory = frame.api_refusal_category ?? null;
        return;
    }
  }

  #stream(frame: NativeFrames["stream_event"]): void {
    const { ledger, text, structured } = this.parts;
    if (frame.event.type === "message_start") ledger.answerBegan();
    ledger.named(namedUuids(frame));
    text.stream(frame.event);
    structured?.stream(frame.event);
  }

  #assistant(frame: NativeFrames["assistant"]): void {
    this.#error = frame.error ?? null;
    if (frame.message.model === SYNTHETIC_MODEL) return;
    const { ledger, text, tools, structured } = this.parts;
    ledger.named(namedUuids(frame));
    text.finished(frame);
    for (const block of frame.message.content) {
      if (block.type !== "tool_use") continue;
      if (block.name === OUTPUT_TOOL) {
        structured?.finished(block.id, block.input);
      } else tools.began(block);
    }
  }

  #user(frame: NativeFrames["user"]): void {
    const content = frame.message.content;
    if (typeof content === "string") return;
    const results = content.flatMap((block) =>
      block.type === "tool_result" ? [block] : []
    );
    const { functions, interactions, structured, tools } = this.parts;
    for (const block of results) {
      const result = {
        isError: block.is_error === true,
        content: block.content,
        structured: results.length === 1 ? frame.tool_use_result : undefined,
      };
      interactions.toolSettled(block.tool_use_id);
      structured?.result(block.tool_use_id, result.isError);
      if (functions.result(block.tool_use_id, result, this.cancelling)) {
        continue;
      }
      tools.ended(block.tool_use_id, result, this.cancelling);
    }
  }

  #result(frame: NativeFrames["result"]): void {
    const { ledger, usage } = this.parts;
    if (!this.#reportsStates) throw new SilentStates();
    if (!usage.add(frame)) return;
    this.#idle = false;
    const named = namedUuids(frame);
    const own = ledger.ended(named);
    // An aborted turn may end before it knew its messages; their lifecycle frames end them then.
    if (!own && !this.cancelling) throw new UnattributedResult();
    if (AFTER_A_REQUEST.has(frame.terminal_reason ?? "")) ledger.named(named);
    this.#outcome = this.#judge(frame);
    this.#error = null;
    this.#refusalCategory = null;
  }

  #judge(frame: NativeFrames["result"]): NativeOutcome {
    const { structured } = this.parts;
    const reason = frame.terminal_reason ?? null;
    if (reason !== null && ABORTED.has(reason)) {
      structured?.discard();
      return this.cancelling
        ? { type: "aborted" }
        : { type: "failed", cause: reason };
    }
    if (frame.is_error || frame.subtype !== "success") {
      structured?.discard();
      const code = classifyFailure({
        terminalReason: reason,
        status: frame.api_error_status ?? null,
        error: this.#error,
        refusalCategory: this.#refusalCategory,
      });
      return {
        type: "failed",
        ...(code === undefined ? {} : { code }),
        cause: reason ?? frame.subtype,
      };
    }
    return this.#success(frame);
  }

  #success(frame: NativeFrames["result"]): NativeOutcome {
    const { ledger, structured } = this.parts;
    if (!structured) return { type: "completed", content: frame.result ?? "" };
    try {
      const phase = ledger.allTerminal ? "final_answer" : undefined;
      const raw = structured.publish(frame, phase);
      return raw === undefined
        ? { type: "failed", cause: "structured_output_missing" }
        : { type: "completed", content: raw };
    } catch (error) {
      if (!(error instanceof OutputMismatch)) throw error;
      return { type: "failed", cause: "structured_output_mismatch" };
    }
  }
}

/** Subagents' frames name the call that began them. */
function isRoot(
  frame: { readonly parent_tool_use_id?: string | null | undefined },
) {
  return frame.parent_tool_use_id === null ||
    frame.parent_tool_use_id === undefined;
}
