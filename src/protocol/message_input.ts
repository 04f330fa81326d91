// Owns the ordered message content that initial, prepared and active input share, and the content
// parts that function results use too. Order and text are never changed here.
import * as z from "zod";
import { accepted, type Decoded, refused } from "./decoded.ts";
import { isBlank } from "./text.ts";
import {
  absentAs,
  list,
  pointer,
  text,
  type Wire,
  wireObject,
} from "./wire_object.ts";

const partMembers = {
  type: text,
  text: pointer(z.string()),
  image_url: pointer(z.string()),
};

/** Schema of a part in a request; which members go together is {@linkcode isContentPart}. */
export const contentPartWire = wireObject(partMembers);
/** Schema of a part in a frame that rejects undeclared members. */
export const strictContentPartWire = wireObject(partMembers, "rejected");
/** Schema of an ordered message list. */
export const messageInputWire = list(
  wireObject({ content: absentAs(list(contentPartWire), []) }),
);

/** One part: `input_text` with `text`, or `input_image` with `image_url`. */
export type ContentPart =
  | { readonly type: "input_text"; readonly text: string }
  | { readonly type: "input_image"; readonly image_url: string };

/** One message: parts in order. */
export interface Message {
  readonly content: readonly ContentPart[];
}

/** Messages in order. */
export type MessageInput = readonly Message[];

/** A part as decoded, before its union is checked. */
export type UncheckedPart = Wire<typeof contentPartWire>;
/** A message list as decoded, before {@linkcode checkMessageInput}. */
export type UncheckedInput = Wire<typeof messageInputWire>;

/** Whether the part has exactly the member that its type names. */
export function isContentPart(part: UncheckedPart): part is ContentPart {
  if (part.type === "input_text") {
    return part.text !== undefined && part.image_url === undefined;
  }
  return part.type === "input_image" && part.image_url !== undefined &&
    part.text === undefined;
}

/**
 * Checks a whole input: at least one message, each with an image or a text that is not empty.
 * White space counts as text; a blank image URL does not count as an image.
 */
export function checkMessageInput(
  input: UncheckedInput,
): Decoded<MessageInput> {
  if (input.length === 0) return refused("the input has no message");
  for (const { content } of input) {
    let hasContent = false;
    for (const part of content) {
      if (!isContentPart(part)) return refused("a content part is malformed");
      if (part.type === "input_image" && isBlank(part.image_url)) {
        return refused("an image URL is blank");
      }
      hasContent ||= part.type === "input_image" || part.text !== "";
    }
    if (!hasContent) return refused("a message has no content");
  }
  return accepted(input as MessageInput);
}

/** Whether any part is an image. */
export function hasImages(input: MessageInput): boolean {
  return input.some(({ content }) =>
    content.some((part) => part.type === "input_image")
  );
}

/**
 * The text of a text-only input: the parts of a message run together, messages are separated by
 * one blank line. An image refuses the whole input; it is never dropped.
 */
export function flattenText(input: UncheckedInput): Decoded<string> {
  const checked = checkMessageInput(input);
  if (!checked.ok) return checked;
  const messages: string[] = [];
  for (const { content } of checked.value) {
    let joined = "";
    for (const part of content) {
      if (part.type === "input_image") {
        return refused("the input holds an image");
      }
      joined += part.text;
    }
    messages.push(joined);
  }
  return accepted(messages.join("\n\n"));
}
