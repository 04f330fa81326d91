// Owns the rule for engines that cannot take a message of white space only. The wire accepts such a
// message; a Harness that needs more asks here.
import { isSpace } from "./text.ts";
import type { Message } from "./message_input.ts";

const BYTE_ORDER_MARK = 0xfeff;

/**
 * Whether the message has an image or a character that is no white space. White space is what
 * either of two common definitions calls so: the Unicode set and U+FEFF, 26 code points.
 */
export function hasVisibleContent(message: Message): boolean {
  return message.content.some((part) =>
    part.type === "input_image" || hasVisibleText(part.text)
  );
}

function hasVisibleText(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (!isSpace(unit) && unit !== BYTE_ORDER_MARK) return true;
  }
  return false;
}
