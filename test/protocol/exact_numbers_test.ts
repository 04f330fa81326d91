// Numbers that survive binary64, and the schemas that hold them.
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  isBinary64Schema,
  keepsNumbers,
} from "../../src/protocol/exact_numbers.ts";
import { numberTokens } from "../../src/protocol/raw.ts";

Deno.test("schemas for engines that read numbers as binary64", async (t) => {
  const rows = {
    '{"type":"object","properties":{"n":{"const":9007199254740992}},"const":0.1}':
      true,
    '{"type":"object","const":1e3}': true,
    '{"type":"object","enum":[{"n":-0.0}]}': true,
    '{"type":"object"}': true,
    '{"type":"object","const":1.50E+2}': true,
    '{"type":"object","const":0e999999}': true,
    '{"type":"object","const":"9007199254740993"}': true,
    '{"type":"object","const":9007199254740993}': false,
    '{"type":"object","const":1.0000000000000001}': false,
    '{"type":"object","const":1e1000}': false,
    '{"type":"object","const":1e-1000}': false,
    '{"type":"object","const":-9007199254740993}': false,
    '{"type":"array"}': false,
    '{"type":["object"]}': false,
    "null": false,
    "{}": false,
    "[]": false,
  };
  for (const [text, kept] of Object.entries(rows)) {
    await t.step(`${kept ? "takes" : "refuses"} ${text}`, () => {
      assertEquals(isBinary64Schema(text), kept);
    });
  }
});

Deno.test("what this program writes itself always survives", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => {
    assertEquals(keepsNumbers(JSON.stringify(value)), true);
  }));
});

Deno.test("an integer that survives is a binary64 value, and every safe one survives", () => {
  fc.assert(fc.property(fc.bigInt({ min: 0n, max: 2n ** 70n }), (value) => {
    const kept = keepsNumbers(`[${value}]`);
    if (kept) assertEquals(BigInt(Number(value)), value);
    if (value < 2n ** 53n) assertEquals(kept, true);
  }));
});

Deno.test("the scanner finds every number and no text", () => {
  const text = '{"a1":[1,-2.5e+3 ,"3\\"4"],"b":0 }';
  assertEquals([...numberTokens(text)], ["1", "-2.5e+3", "0"]);
});

Deno.test("a number of a million digits is judged in linear time", () => {
  const zeros = "0".repeat(1_000_000);
  assertEquals(keepsNumbers(`[0.${zeros}1]`), false);
  assertEquals(keepsNumbers(`[1.${zeros}]`), true);
});
