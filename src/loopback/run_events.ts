/**
 * Owns the events that one Run shows its observer, and the bounded queue they wait in. A queue
 * that runs full ends the observation; it never drops an event in silence.
 */
import type { RuntimeFrames } from "../protocol/frames.ts";

/** Frame types that a Run puts out under its own id. */
export const RUN_EVENT_TYPES = [
  "delta",
  "thinking",
  "output_message",
  "tool_call",
  "usage",
  "error",
  "done",
  "function_call",
  "permission_request",
  "prompt_for_user_choice",
  "subagent_identity",
  "subagent_lifecycle",
  "subagent_turn",
  "subagent_item",
  "subagent_coordination",
] as const;

/** One of {@linkcode RUN_EVENT_TYPES}. */
export type RunEventType = typeof RUN_EVENT_TYPES[number];

/** One observed frame of a Run; `permission_cancel` names the interaction it withdraws. */
export type RunEvent =
  | {
    [T in RunEventType]: {
      readonly type: T;
      readonly payload: RuntimeFrames[T];
    };
  }[RunEventType]
  | { readonly type: "permission_cancel"; readonly interactionId: string };

/** Events that may wait for the observer before its observation ends: Core's own buffer. */
export const MAX_WAITING_EVENTS = 256;

/** What a queue ends with, besides its natural end. */
export class SubscriberOverflow extends Error {
  override readonly name = "SubscriberOverflow";
  constructor() {
    super(`more than ${MAX_WAITING_EVENTS} events waited for the observer`);
  }
}

/**
 * A single-observer queue. Iterating it yields what was put in, in order, and ends at `end` or
 * throws the reason given to `fail` after the waiting events were taken.
 */
export class EventQueue implements AsyncIterable<RunEvent> {
  readonly #waiting: RunEvent[] = [];
  #wake: (() => void) | undefined;
  #end: { readonly error?: Error } | undefined;

  /** Adds an event. Returns false when the queue was full: it has failed then. */
  put(event: RunEvent): boolean {
    if (this.#end) return true;
    if (this.#waiting.length >= MAX_WAITING_EVENTS) {
      this.fail(new SubscriberOverflow());
      return false;
    }
    this.#waiting.push(event);
    this.#wake?.();
    return true;
  }

  /** Ends the queue. The first end counts. */
  end(): void {
    this.#end ??= {};
    this.#wake?.();
  }

  /** Ends the queue with a reason. The first end counts. */
  fail(error: Error): void {
    this.#end ??= { error };
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent, void, void> {
    for (;;) {
      const event = this.#waiting.shift();
      if (event) {
        yield event;
        continue;
      }
      if (this.#end?.error) throw this.#end.error;
      if (this.#end) return;
      await new Promise<void>((resolve) => this.#wake = resolve);
      this.#wake = undefined;
    }
  }
}
