import type { TurnEvent } from "../../../src/harness/contract.ts";
import type { NativeMessage } from "./native_messages.ts";

/** The observation of a command. */
export function toolEvent(
  message: Extract<NativeMessage, { type: "tool" }>,
): TurnEvent {
  const { stage, call, command } = message;
  return {
    type: "tool_call",
    payload: {
      id: call,
      name: "command",
      stage,
      observation: {
        kind: "command",
        status: stage === "before" ? "in_progress" : "completed",
        command,
      },
    },
  };
}

/** A question for Core. */
export function questionEvent(
  type: "permission" | "choose",
  ask: string,
): TurnEvent {
  if (type === "permission") {
    const payload = { request_id: ask, tool: "command", title: "Run true" };
    return { type: "permission_request", payload };
  }
  const options = [{ label: "red" }, { label: "blue" }];
  const questions = [{ id: "colour", question: "Which colour?", options }];
  return {
    type: "prompt_for_user_choice",
    payload: { ask_id: ask, questions },
  };
}
