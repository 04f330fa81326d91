/**
 * Owns the rules one Run's output must keep: only what was asked for and declared, in an order that
 * can be true. It keeps no content.
 */
import { ProtocolViolation } from "./observation.ts";
import type { PreparationRequest } from "./preparation.ts";
import type { RunEvent } from "./run_events.ts";

/** The state behind the rules of one Run. */
export class OutputRules {
  readonly #request: PreparationRequest;
  readonly #completedItems = new Set<string>();
  readonly #finishedTools = new Set<string>();
  readonly #functionCalls = new Set<string>();
  readonly #openInteractions = new Set<string>();
  #deltaSequence = 0;
  #thinkingSequence = 0;

  constructor(request: PreparationRequest) {
    this.#request = request;
  }

  /** Whether this interaction was asked and neither answered nor withdrawn. */
  isOpen(interactionId: string): boolean {
    return this.#openInteractions.has(interactionId);
  }

  /** The interaction is no longer pending. */
  close(interactionId: string): void {
    this.#openInteractions.delete(interactionId);
  }

  /** @throws {ProtocolViolation} when the event breaks a rule. */
  check(event: RunEvent): void {
    const broken = this.#brokenRule(event);
    if (broken) throw new ProtocolViolation(event.type, broken);
  }

  #brokenRule(event: RunEvent): string | undefined {
    switch (event.type) {
      case "delta":
        return this.#delta(event.payload.sequence, event.payload.item_id);
      case "thinking":
        return this.#thinking(event.payload.sequence);
      case "output_message":
        return this.#message(event.payload.id, event.payload.status);
      case "tool_call":
        return this.#tool(event.payload.id, event.payload.stage);
      case "function_call":
        return this.#function(event.payload.call_id, event.payload.name);
      case "permission_request":
        return this.#ask(event.payload.request_id);
      case "prompt_for_user_choice":
        return this.#ask(event.payload.ask_id);
      case "permission_cancel":
        return this.#openInteractions.delete(event.interactionId)
          ? undefined
          : "withdraws what is not pending";
      case "subagent_identity":
      case "subagent_lifecycle":
      case "subagent_turn":
      case "subagent_item":
      case "subagent_coordination":
        return this.#request.configuration.observe_subagent_identities
          ? undefined
          : "subagent observations were not asked for";
      case "usage":
      case "error":
      case "done":
        return undefined;
    }
  }

  #delta(sequence: number, itemId: string | undefined): string | undefined {
    if (sequence <= this.#deltaSequence) return "the sequence does not rise";
    this.#deltaSequence = sequence;
    if (!itemId) return undefined;
    if (!this.#request.configuration.observe_messages) {
      return "message items were not asked for";
    }
    return this.#completedItems.has(itemId)
      ? "text for a completed message"
      : undefined;
  }

  #thinking(sequence: number | undefined): string | undefined {
    if (sequence === undefined) return undefined;
    if (sequence <= this.#thinkingSequence) return "the sequence does not rise";
    this.#thinkingSequence = sequence;
    return undefined;
  }

  #message(id: string, status: string): string | undefined {
    if (!this.#request.configuration.observe_messages) {
      return "message items were not asked for";
    }
    if (this.#completedItems.has(id)) return "the message was completed before";
    if (status === "completed") this.#completedItems.add(id);
    return undefined;
  }

  #tool(id: string, stage: string): string | undefined {
    if (this.#finishedTools.has(id)) return "the tool call ended before";
    if (stage === "after") this.#finishedTools.add(id);
    return undefined;
  }

  #function(callId: string, name: string): string | undefined {
    const declared = this.#request.configuration.function_tools ?? [];
    if (!declared.some((tool) => tool.name === name)) {
      return "calls a function that was not declared";
    }
    if (this.#functionCalls.has(callId)) return "a call id is used twice";
    this.#functionCalls.add(callId);
    return undefined;
  }

  #ask(interactionId: string): string | undefined {
    if (this.#request.declaration.permissions !== "supported") {
      return "asks although permissions are not declared";
    }
    if (this.#openInteractions.has(interactionId)) {
      return "the interaction is pending already";
    }
    this.#openInteractions.add(interactionId);
    return undefined;
  }
}
