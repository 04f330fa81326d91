/**
 * Owns the way from an input to the one native user line that carries it. Order and text are kept;
 * the boundaries between messages are not, because one line is one native message.
 */
import type { Refusal } from "../../src/harness/contract.ts";
import type {
  ContentPart,
  Message,
  MessageInput,
} from "../../src/protocol/message_input.ts";
import { checkInlineImages } from "../../src/protocol/inline_image.ts";
import { isBlank } from "../../src/protocol/text.ts";

/** Refuses what the program would change or drop without a word. */
export function checkClaudeInput(input: MessageInput): Refusal | undefined {
  if (checkInlineImages(input) !== undefined) {
    return { reason: "An image is not a canonical inline PNG or JPEG" };
  }
  return input.every(hasVisibleContent)
    ? undefined
    : { reason: "A message has only white space" };
}

function hasVisibleContent(message: Message): boolean {
  return message.content.some((part) =>
    part.type === "input_image" || !isWhiteSpace(part.text)
  );
}

/** By Go's rule or ECMAScript's, which differ: the program drops a message of nothing else. */
function isWhiteSpace(text: string): boolean {
  return isBlank(text.replaceAll("\ufeff", ""));
}

/** A content block of the Messages form. */
export type NativeBlock =
  | { readonly type: "text"; readonly text: string }
  | {
    readonly type: "image";
    readonly source: {
      readonly type: "base64";
      readonly media_type: string;
      readonly data: string;
    };
  };

/**
 * The user line. `client_composed` and the human origin keep the program from reading commands and
 * file mentions out of the text, and make active input a message of the user.
 */
export function userLine(input: MessageInput, uuid: string): unknown {
  return {
    type: "user",
    uuid,
    session_id: "",
    parent_tool_use_id: null,
    client_composed: true,
    origin: { kind: "human" },
    message: {
      role: "user",
      content: input.flatMap((message) => message.content.map(nativeBlock)),
    },
  };
}

function nativeBlock(part: ContentPart): NativeBlock {
  if (part.type === "input_text") return { type: "text", text: part.text };
  const { mediaType, data } = splitImage(part.image_url);
  return {
    type: "image",
    source: { type: "base64", media_type: mediaType, data },
  };
}

/** The two halves of a checked inline image. */
export function splitImage(
  url: string,
): { readonly mediaType: string; readonly data: string } {
  const comma = url.indexOf(",");
  return {
    mediaType: url.slice("data:".length, comma).replace(/;base64$/, ""),
    data: url.slice(comma + 1),
  };
}
