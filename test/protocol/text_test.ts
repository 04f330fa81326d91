// The string rules: blankness, identities, sizes.
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  fitsUtf8,
  isBlank,
  isCanonicalUuid,
  isOperationId,
  isSha256Hex,
  isTrimmed,
  isWellFormed,
  utf8Bytes,
} from "../../src/protocol/text.ts";
import { hasVisibleContent } from "../../src/protocol/visible_text.ts";

/** Written out one by one, not derived from the code under test. */
const SPACES = [
  0x09,
  0x0a,
  0x0b,
  0x0c,
  0x0d,
  0x20,
  0x85,
  0xa0,
  0x1680,
  0x2000,
  0x2001,
  0x2002,
  0x2003,
  0x2004,
  0x2005,
  0x2006,
  0x2007,
  0x2008,
  0x2009,
  0x200a,
  0x2028,
  0x2029,
  0x202f,
  0x205f,
  0x3000,
];

Deno.test("exactly the listed code points are blank", () => {
  for (let unit = 0; unit <= 0xffff; unit++) {
    assertEquals(
      isBlank(String.fromCharCode(unit)),
      SPACES.includes(unit),
      `U+${unit.toString(16)}`,
    );
  }
  assertEquals(isBlank(""), true);
  assertEquals(isBlank(String.fromCharCode(...SPACES)), true);
  assertEquals(isBlank("\ufeff"), false);
  assertEquals(isBlank("\u{1f600}"), false);
});

Deno.test("a text is blank exactly when each of its code points is", () => {
  const unit = fc.constantFrom(...SPACES, 0x41, 0xfeff, 0x200b, 0x180e)
    .map((code) => String.fromCharCode(code));
  fc.assert(fc.property(fc.array(unit), (units) => {
    const text = units.join("");
    const blank = units.every((one) => SPACES.includes(one.charCodeAt(0)));
    assertEquals(isBlank(text), blank);
  }));
});

/** A message of one text. */
function message(text: string) {
  return { content: [{ type: "input_text", text }] } as const;
}

Deno.test("a message of white space only has nothing visible", async (t) => {
  const set = [...SPACES, 0xfeff];
  assertEquals(set.length, 26);
  for (const unit of set) {
    await t.step(`U+${unit.toString(16)} alone`, () => {
      const text = String.fromCharCode(unit);
      assertEquals(hasVisibleContent(message(text)), false);
    });
  }
  await t.step("all together", () => {
    const text = String.fromCharCode(...set);
    assertEquals(hasVisibleContent(message(text)), false);
  });
  for (const unit of [0x180e, 0x200b, 0x41]) {
    await t.step(`space, U+${unit.toString(16)}, byte order mark`, () => {
      const text = ` ${String.fromCharCode(unit)}\ufeff`;
      assertEquals(hasVisibleContent(message(text)), true);
    });
  }
  await t.step("an image counts", () => {
    const image = { type: "input_image", image_url: "x" } as const;
    assertEquals(
      hasVisibleContent({ content: [...message(" ").content, image] }),
      true,
    );
  });
});

Deno.test("canonical UUIDs", async (t) => {
  const rows = {
    "11111111-2222-3333-4444-555555555555": true,
    "ffffffff-ffff-ffff-ffff-ffffffffffff": true,
    "00000000-0000-0000-0000-000000000001": true,
    "00000000-0000-0000-0000-000000000000": false,
    "AAAAAAAA-AAAA-4AAA-8AAA-AAAAAAAAAAAA": false,
    "{11111111-2222-3333-4444-555555555555}": false,
    "urn:uuid:11111111-2222-3333-4444-555555555555": false,
    "11111111222233334444555555555555": false,
    "11111111-2222-3333-4444-55555555555": false,
    "11111111-2222-3333-4444-55555555555g": false,
    "11111111-2222-3333-4444-555555555555\n": false,
    "": false,
  };
  for (const [text, canonical] of Object.entries(rows)) {
    await t.step(JSON.stringify(text), () => {
      assertEquals(isCanonicalUuid(text), canonical);
    });
  }
});

Deno.test("SHA-256 digests are 64 lower-case hexadecimal digits", async (t) => {
  const rows = {
    ["a".repeat(64)]: true,
    ["0123456789abcdef".repeat(4)]: true,
    ["A".repeat(64)]: false,
    ["a".repeat(63)]: false,
    ["a".repeat(65)]: false,
    [`${"a".repeat(64)}\n`]: false,
    aa: false,
    "": false,
  };
  for (const [text, digest] of Object.entries(rows)) {
    await t.step(JSON.stringify(text), () => {
      assertEquals(isSha256Hex(text), digest);
    });
  }
});

Deno.test("lengths count UTF-8 bytes", () => {
  assertEquals(utf8Bytes("aé€😀"), 1 + 2 + 3 + 4);
  fc.assert(fc.property(
    fc.string({ unit: "binary" }),
    fc.nat(40),
    (text, limit) => {
      assertEquals(fitsUtf8(text, limit), utf8Bytes(text) <= limit);
    },
  ));
});

Deno.test("operation ids are not empty and at most 128 bytes", () => {
  assertEquals(isOperationId("o"), true);
  assertEquals(isOperationId("o".repeat(128)), true);
  assertEquals(isOperationId("é".repeat(64)), true);
  assertEquals(isOperationId("o".repeat(129)), false);
  assertEquals(isOperationId("é".repeat(65)), false);
  assertEquals(isOperationId(""), false);
});

Deno.test("trimmed and well-formed texts", () => {
  assertEquals(isTrimmed("a b"), true);
  assertEquals([" a", "a ", "a\u0085", ""].some(isTrimmed), false);
  assertEquals(isWellFormed("\u{1f600}"), true);
  assertEquals(isWellFormed("\ud83d"), false);
});
