// The content tables: what a message list may hold, and the text-only form of it.
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Decoded } from "../../src/protocol/decoded.ts";
import {
  checkMessageInput,
  flattenText,
  hasImages,
  type MessageInput,
  messageInputWire,
} from "../../src/protocol/message_input.ts";
import { readWire } from "../../src/protocol/wire_object.ts";
import { acceptEach, refuseEach, valueOf } from "./wire_rows.ts";

/** Reads and checks JSON text, as the request decoders do. */
function decode(json: string): Decoded<MessageInput> {
  const input = readWire(messageInputWire, JSON.parse(json));
  return input === undefined
    ? { ok: false, reason: "shape" }
    : checkMessageInput(input);
}

const MIXED =
  '[{"content":[{"type":"input_text","text":" before "},{"type":"input_image",' +
  '"image_url":"data:image/png;base64,aW1hZ2U="},{"type":"input_text",' +
  '"text":" after "}]},{"content":[{"type":"input_text","text":"next"}]}]';

const ACCEPTED = {
  "text, image, text and a second message": MIXED,
  "spaces are content": '[{"content":[{"type":"input_text","text":"   "}]}]',
  "LF and TAB are content":
    '[{"content":[{"type":"input_text","text":"\\n\\t"}]}]',
  "two messages of white space":
    '[{"content":[{"type":"input_text","text":"   "}]},' +
    '{"content":[{"type":"input_text","text":"\\n\\t"}]}]',
  "empty part beside text": '[{"content":[{"type":"input_text","text":""},' +
    '{"type":"input_text","text":"Reply only OK."}]}]',
  "empty part beside a space": '[{"content":[{"type":"input_text","text":""},' +
    '{"type":"input_text","text":" "}]}]',
  "image alone":
    '[{"content":[{"type":"input_image","image_url":"https://x/y.png"}]}]',
};

const REFUSED = {
  "no message": "[]",
  "message without parts": '[{"content":[]}]',
  "message without content": "[{}]",
  "empty text": '[{"content":[{"type":"input_text","text":""}]}]',
  "two empty texts": '[{"content":[{"type":"input_text","text":""},' +
    '{"type":"input_text","text":""}]}]',
  "second message empty": '[{"content":[{"type":"input_text","text":"x"}]},' +
    '{"content":[{"type":"input_text","text":""}]}]',
  "null text": '[{"content":[{"type":"input_text","text":null}]}]',
  "no text": '[{"content":[{"type":"input_text"}]}]',
  "empty image URL": '[{"content":[{"type":"input_image","image_url":""}]}]',
  "blank image URL": '[{"content":[{"type":"input_image","image_url":" "}]}]',
  "image with text": '[{"content":[{"type":"input_image","image_url":"image",' +
    '"text":"unexpected"}]}]',
  "text with image": '[{"content":[{"type":"input_text","image_url":"image",' +
    '"text":"x"}]}]',
  "unknown part": '[{"content":[{"type":"input_audio","text":"x"}]}]',
  "part without type": '[{"content":[{"text":"x"}]}]',
  "null part": '[{"content":[null]}]',
  "null message": "[null]",
  "object": "{}",
};

Deno.test("message lists", async (t) => {
  await acceptEach(t, ACCEPTED, decode, (value, row) => {
    assertEquals(JSON.stringify(value), row);
  });
  await refuseEach(t, REFUSED, decode);
});

Deno.test("images are found in any message", () => {
  assertEquals(hasImages(valueOf(decode(MIXED))), true);
  assertEquals(
    hasImages(valueOf(decode(ACCEPTED["two messages of white space"]))),
    false,
  );
});

/** Messages of one text each. */
function texts(...messages: string[]): MessageInput {
  return messages.map((text) => ({ content: [{ type: "input_text", text }] }));
}

Deno.test("the text-only form changes no character", async (t) => {
  const rows: Readonly<Record<string, readonly [MessageInput, string]>> = {
    "two messages": [texts(" before ", " after "), " before \n\n after "],
    "white space stays": [
      texts("   ", "\u0085\u3000\n\t"),
      "   \n\n\u0085\u3000\n\t",
    ],
    "parts run together": [
      [{ content: [...texts("a", "b").flatMap(({ content }) => content)] }],
      "ab",
    ],
  };
  for (const [name, [input, expected]] of Object.entries(rows)) {
    await t.step(name, () => {
      assertEquals(valueOf(flattenText(input)), expected);
    });
  }
  await t.step("an image refuses the whole input", () => {
    assertEquals(flattenText(valueOf(decode(MIXED))).ok, false);
  });
  await t.step("an invalid input is refused", () => {
    assertEquals(flattenText([]).ok, false);
  });
});

Deno.test("any accepted input goes through the wire unchanged", () => {
  const part = fc.oneof(
    fc.string({ unit: "grapheme" }).map((text) => ({
      type: "input_text",
      text,
    })),
    fc.string().map((image_url) => ({ type: "input_image", image_url })),
  );
  const input = fc.array(fc.record({ content: fc.array(part) }));
  fc.assert(fc.property(input, (messages) => {
    const decoded = decode(JSON.stringify(messages));
    if (decoded.ok) {
      assertEquals(JSON.stringify(decoded.value), JSON.stringify(messages));
    }
  }));
});
