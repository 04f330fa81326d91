// The scanner of source texts agrees with JSON.parse about everything JSON.parse keeps.
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  hasRepeatedMember,
  itemSpans,
  numberTokens,
  rawMember,
  valueSpan,
} from "../../src/protocol/raw.ts";

/** JSON text with white space sprinkled between its tokens. */
const spacedJson = fc.tuple(
  fc.jsonValue(),
  fc.constantFrom(undefined, 1, "\t", "\n \r"),
).map(([value, space]) => JSON.stringify(value, null, space));

Deno.test("a value is found with nothing around it", () => {
  fc.assert(fc.property(spacedJson, (text) => {
    const { start, end } = valueSpan(` \n${text}\t `, 0);
    assertEquals([start, end], [2, 2 + text.length]);
  }));
});

Deno.test("every member is found where JSON.parse reads it", () => {
  const objects = fc.dictionary(
    fc.string({ unit: "binary" }),
    fc.jsonValue({ maxDepth: 3 }),
  );
  fc.assert(
    fc.property(objects, fc.constantFrom(undefined, 2), (object, space) => {
      const text = JSON.stringify(object, null, space);
      const parsed = JSON.parse(text);
      for (const name of Object.keys(parsed)) {
        const raw = rawMember(text, [name]);
        assertEquals(JSON.parse(raw ?? ""), parsed[name]);
      }
      assertEquals(hasRepeatedMember(text), false);
    }),
    { numRuns: 500 },
  );
});

Deno.test("every item is found where JSON.parse reads it", () => {
  fc.assert(fc.property(fc.array(fc.jsonValue()), (items) => {
    const text = JSON.stringify(items, null, 1);
    const spans = itemSpans(text, valueSpan(text, 0));
    assertEquals(
      spans.map(({ start, end }) => JSON.parse(text.slice(start, end))),
      JSON.parse(text),
    );
  }));
});

Deno.test("exactly the numbers of a text are found", () => {
  fc.assert(fc.property(spacedJson, (text) => {
    const found: number[] = [];
    const collect = (value: unknown): void => {
      if (typeof value === "number") found.push(value);
      else if (typeof value === "object" && value !== null) {
        Object.values(value).forEach(collect);
      }
    };
    collect(JSON.parse(text));
    const tokens = [...numberTokens(text)].map(Number);
    assertEquals(tokens.toSorted(), found.map((n) => n + 0).toSorted());
  }));
});

Deno.test("a member put in twice is found at any depth", () => {
  fc.assert(fc.property(
    fc.jsonValue({ maxDepth: 2 }),
    fc.string({ unit: "binary" }),
    fc.nat(4),
    (value, name, depth) => {
      const member = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
      const wrap = (text: string) =>
        "[".repeat(depth) + text + "]".repeat(depth);
      assertEquals(hasRepeatedMember(wrap(`{${member},${member}}`)), true);
      assertEquals(hasRepeatedMember(wrap(`[{${member}},{${member}}]`)), false);
    },
  ));
});

Deno.test("member lookup", async (t) => {
  const text = String.raw`{"a":{"b" : [1, "}"] },"a\"c":"\\","\u0064":null,` +
    `"twice":1,"twice":{"x":-1.50e2}}`;
  const rows: Readonly<
    Record<string, readonly [string[], string | undefined]>
  > = {
    "nested": [["a", "b"], '[1, "}"]'],
    "quote in a name": [['a"c'], String.raw`"\\"`],
    "escaped name": [["d"], "null"],
    "last of two": [["twice", "x"], "-1.50e2"],
    "whole text": [[], text],
    "absent": [["b"], undefined],
    "below a list": [["a", "b", "0"], undefined],
    "below a text": [['a"c', "x"], undefined],
  };
  for (const [name, [path, expected]] of Object.entries(rows)) {
    await t.step(name, () => assertEquals(rawMember(text, path), expected));
  }
});

Deno.test("a deep text is scanned without recursion", () => {
  const depth = 1_000_000;
  const text = `{"a":${"[".repeat(depth)}${"]".repeat(depth)},"b":1}`;
  assertEquals(rawMember(text, ["b"]), "1");
  assertEquals(hasRepeatedMember(text), false);
});
