/**
 * Wire content as native content, and what the engine cannot take unchanged. Pure; runs before any
 * native effect.
 */
import type { Refusal, TurnStart } from "../../src/harness/contract.ts";
import { isBlank } from "../../src/protocol/text.ts";
import {
  checkInlineImageParts,
  checkInlineImages,
} from "../../src/protocol/inline_image.ts";
import {
  checkMessageInput,
  type ContentPart,
  type MessageInput,
} from "../../src/protocol/message_input.ts";
import { MAX_INPUT_CHARACTERS } from "./limits.ts";

/** A native input item. */
export type NativeInput =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly url: string };

/** A native item of a function result. */
export type NativeResultItem =
  | { readonly type: "inputText"; readonly text: string }
  | { readonly type: "inputImage"; readonly imageUrl: string };

/**
 * One native user message: all parts in order, a blank line as a text of its own between messages.
 * The engine keeps the order but not the boundary.
 */
export function nativeInput(input: MessageInput): NativeInput[] {
  return input.flatMap(({ content }, index): NativeInput[] => {
    const items = content.map((part): NativeInput =>
      part.type === "input_text"
        ? { type: "text", text: part.text }
        : { type: "image", url: part.image_url }
    );
    return index === 0 ? items : [{ type: "text", text: "\n\n" }, ...items];
  });
}

/** Why the engine would not take the input unchanged. */
export function checkNativeInput(input: MessageInput): Refusal | undefined {
  const images = checkInlineImages(input);
  if (images !== undefined) return { reason: `codex: ${images}` };
  let characters = 0;
  for (const item of nativeInput(input)) {
    if (item.type === "text") characters += [...item.text].length;
  }
  return characters > MAX_INPUT_CHARACTERS
    ? { reason: "codex: the input text is longer than the engine takes" }
    : undefined;
}

/** What is wrong with the arguments of a start, whatever the Executor is at. */
export function argumentRefusal(start: TurnStart): string | undefined {
  if (isBlank(start.runId) || !checkMessageInput(start.input).ok) {
    return "start requires a run identity and input";
  }
  if (start.signal.aborted) return "the start was cancelled";
  return checkNativeInput(start.input)?.reason.replace("codex: ", "");
}

/** The native content of a function result. */
export function nativeResult(
  content: readonly ContentPart[],
): NativeResultItem[] {
  return content.map((part): NativeResultItem =>
    part.type === "input_text"
      ? { type: "inputText", text: part.text }
      : { type: "inputImage", imageUrl: part.image_url }
  );
}

/** Why the engine would not take the result unchanged. It drops images of failed results. */
export function checkNativeResult(
  result: {
    readonly success: boolean;
    readonly content: readonly ContentPart[];
  },
): Refusal | undefined {
  const hasImage = result.content.some((part) => part.type === "input_image");
  if (hasImage && !result.success) {
    return { reason: "codex: a failed result cannot carry an image" };
  }
  const images = checkInlineImageParts(result.content);
  return images === undefined ? undefined : { reason: `codex: ${images}` };
}
