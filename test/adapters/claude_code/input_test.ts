import { assert, assertEquals } from "@std/assert";
import type { MessageInput } from "../../../src/protocol/message_input.ts";
import {
  checkClaudeInput,
  userLine,
} from "../../../adapters/claude_code/input.ts";
import { JPEG, PNG } from "../../native/claude_code/images.ts";

const BLANK = [
  0x09,
  0x0a,
  0x0b,
  0x0c,
  0x0d,
  0x20,
  0x85,
  0xa0,
  0x1680,
  ...Array.from({ length: 11 }, (_, index) => 0x2000 + index),
  0x2028,
  0x2029,
  0x202f,
  0x205f,
  0x3000,
  0xfeff,
].map((code) => String.fromCodePoint(code));

function textInput(...texts: string[]): MessageInput {
  return [{ content: texts.map((text) => ({ type: "input_text", text })) }];
}

function image(image_url: string): MessageInput {
  return [{ content: [{ type: "input_image", image_url }] }];
}

Deno.test("a message of white space alone is refused, each of the 26 characters and all of them", () => {
  assertEquals(BLANK.length, 26);
  for (const blank of [...BLANK, BLANK.join("")]) {
    assert(checkClaudeInput(textInput(blank)));
  }
  assert(checkClaudeInput(textInput("", " ")));
  assert(checkClaudeInput([...textInput("x"), ...textInput("\n")]));
});

Deno.test("a visible character or an image makes a message", () => {
  for (const text of ["x", " \u180e\ufeff", "\u200b", " x "]) {
    assertEquals(checkClaudeInput(textInput(text)), undefined);
  }
  const picture = image(`data:image/png;base64,${PNG}`);
  assertEquals(
    checkClaudeInput([{
      content: [...picture[0]?.content ?? [], {
        type: "input_text",
        text: " ",
      }],
    }]),
    undefined,
  );
});

const REFUSED = [
  `data:image/gif;base64,${PNG}`,
  `data:image/jpeg;base64,${PNG}`,
  `data:image/png;base64,${JPEG}`,
  `data:image/PNG;base64,${PNG}`,
  `data:image/png;charset=x;base64,${PNG}`,
  "https://example.test/image.png",
  "file:///private/image.png",
  "data:image/png;base64,AA==",
  "data:image/png;base64,!",
  "data:image/png;base64,",
  `data:image/png;base64,${PNG.slice(0, -1)}`,
  `data:image/png;base64,${PNG.slice(0, 40)}\n${PNG.slice(40)}`,
];

for (const url of REFUSED) {
  Deno.test(`the image ${url.slice(0, 40)} (${url.length}) is refused`, () => {
    assert(checkClaudeInput(image(url)));
  });
}

Deno.test("canonical PNG and JPEG are accepted", () => {
  assertEquals(
    checkClaudeInput(image(`data:image/png;base64,${PNG}`)),
    undefined,
  );
  assertEquals(
    checkClaudeInput(image(`data:image/jpeg;base64,${JPEG}`)),
    undefined,
  );
});

Deno.test("one line carries all messages in order, unchanged, as words of the user", () => {
  const line = userLine([
    {
      content: [
        { type: "input_text", text: " before " },
        { type: "input_image", image_url: `data:image/png;base64,${PNG}` },
        { type: "input_text", text: " after" },
      ],
    },
    { content: [{ type: "input_text", text: "/next @file" }] },
  ], "u");
  assertEquals(line, {
    type: "user",
    uuid: "u",
    session_id: "",
    parent_tool_use_id: null,
    client_composed: true,
    origin: { kind: "human" },
    message: {
      role: "user",
      content: [
        { type: "text", text: " before " },
        {
          type: "image",
          source: { type: "base64", media_type: "image/png", data: PNG },
        },
        { type: "text", text: " after" },
        { type: "text", text: "/next @file" },
      ],
    },
  });
});
