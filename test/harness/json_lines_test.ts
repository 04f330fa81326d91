import process from "node:process";
import { assert, assertEquals, assertLess, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  BrokenStream,
  JsonLineReader,
  TextLineReader,
} from "../../src/harness/json_lines.ts";

const LIMIT = 1024 * 1024;

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Everything a reader gives for these chunks, its end included. */
function read(...chunks: (string | Uint8Array)[]): object[] {
  const reader = new JsonLineReader(LIMIT);
  const messages = chunks.flatMap((chunk) => [
    ...reader.push(typeof chunk === "string" ? bytes(chunk) : chunk),
  ]);
  const last = reader.end();
  return last ? [...messages, last] : messages;
}

Deno.test("A message is the same wherever a pipe cuts its bytes", () => {
  const message = { text: "aé€😀\u2028\u2029 end", next: "ß" };
  const line = bytes(`${JSON.stringify(message)}\n`);
  for (let cut = 0; cut <= line.length; cut++) {
    assertEquals(read(line.slice(0, cut), line.slice(cut)), [message]);
  }
});

Deno.test("Any cutting of any messages gives the same messages", () => {
  const value = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue());
  fc.assert(
    fc.property(
      fc.array(value, { maxLength: 5 }),
      fc.array(fc.nat(40), { maxLength: 60 }),
      (messages, sizes) => {
        const wire = bytes(
          messages.map((message) => `${JSON.stringify(message)}\n`).join(""),
        );
        const chunks: Uint8Array[] = [];
        let start = 0;
        for (const size of sizes) {
          chunks.push(wire.slice(start, start + size));
          start += size;
        }
        chunks.push(wire.slice(start));
        const expected = messages.map((message) =>
          JSON.parse(JSON.stringify(message))
        );
        assertEquals(read(...chunks), expected);
      },
    ),
    { numRuns: 200 },
  );
});

Deno.test("Line ends of both kinds and a missing last one are taken", () => {
  assertEquals(read('{"a":1}\r\n{"b":2}\n\n{"c":3}'), [
    { a: 1 },
    { b: 2 },
    { c: 3 },
  ]);
});

Deno.test("Separators inside a string end no line", () => {
  assertEquals(read('{"a":"x\u2028y\u2029z"}\n'), [{ a: "x\u2028y\u2029z" }]);
});

Deno.test("Forty banner lines, colours and blank lines before the first message are skipped", () => {
  const banner = "\x1b[32mWelcome\x1b[0m\n\n" + "hello 1 { }\n".repeat(40) +
    "{ not json }\n\x1b]0;title\x07";
  assertEquals(read(`${banner}{"ready":true}\n`), [{ ready: true }]);
});

Deno.test("JSON that is no object is no message", () => {
  assertEquals(read('null\n1\n"text"\n[1]\ntrue\n{"a":1}\n'), [{ a: 1 }]);
});

for (
  const [name, text, works] of [
    ["64 lines", "x\n".repeat(64), true],
    ["65 lines", "x\n".repeat(65), false],
    ["64 KiB", `${"x".repeat(64 * 1024)}\n`, true],
    ["64 KiB and a byte", `${"x".repeat(64 * 1024 + 1)}\n`, false],
  ] as const
) {
  Deno.test(`Noise of ${name} in a row is ${works ? "skipped" : "refused"}`, () => {
    for (const before of ["", '{"first":1}\n']) {
      const run = () => read(`${before}${text}{"a":1}\n`);
      if (works) assertEquals(run().at(-1), { a: 1 });
      else assertThrows(run, BrokenStream, "Too much output");
    }
  });
}

Deno.test("A message makes the count of noise start again", () => {
  const block = `${"x\n".repeat(60)}{"a":1}\n`;
  assertEquals(read(block.repeat(5)).length, 5);
});

Deno.test("After the first message a malformed line that starts like one ends the stream", () => {
  assertThrows(() => read('{"a":1}\n{broken}\n'), BrokenStream);
  assertThrows(() => read('{"a":1}\n{\n'), BrokenStream);
  assertThrows(() => read('{"a":1}\n{"b":}\n{"c":1}\n'), BrokenStream);
});

Deno.test("A message that raw line feeds broke inside a string is joined, and the next one parsed", () => {
  assertEquals(read('{"a":1}\n{"b":"one\ntwo\r\nthree"}\n{"c":3}\n'), [
    { a: 1 },
    { b: "one\ntwo\nthree" },
    { c: 3 },
  ]);
  // A part of a string that looks like an object has its quotes escaped; `{}` has none.
  assertEquals(read('{"a":1}\n{"b":"x\n{\\"y\\":1}\n{}\n"}\n'), [
    { a: 1 },
    { b: 'x\n{"y":1}\n{}\n' },
  ]);
});

Deno.test("A cut message followed by a whole one ends the stream, it swallows nothing", () => {
  assertThrows(
    () => read('{"a":1}\n{"b":"cut he\n{"c":3}\n'),
    BrokenStream,
    "starts like a message",
  );
});

Deno.test("A broken message is joined from 64 lines at most", () => {
  const broken = (feeds: number) => `{"a":1}\n{"b":"${"x\n".repeat(feeds)}"}\n`;
  assertEquals(read(broken(63)).length, 2);
  assertThrows(() => read(broken(66)), BrokenStream);
});

Deno.test("The rest of a broken message is known to be missing", () => {
  const reader = new JsonLineReader(LIMIT);
  assertEquals([...reader.push(bytes('{"a":1}\n{"b":"on\n'))].length, 1);
  assert(reader.insideBrokenMessage);
  assertEquals([...reader.push(bytes('e"}\n'))], [{ b: "on\ne" }]);
  assert(!reader.insideBrokenMessage);
});

Deno.test("A line that is not UTF-8 is never altered silently", () => {
  const wire = [...bytes('{"a":1}\n{"b":"'), 0xff, ...bytes('"}\n')];
  assertThrows(() => read(new Uint8Array(wire)), BrokenStream, "UTF-8");
});

Deno.test("A line cut by the end of the stream is dropped", () => {
  assertEquals(read('{"a":1}\n{"b":"cut'), [{ a: 1 }]);
});

Deno.test("A line over its limit ends the stream before it is complete", () => {
  const reader = new JsonLineReader(10);
  assertEquals([...reader.push(bytes('{"a":123}\n'))], [{ a: 123 }]);
  assertEquals([...reader.push(bytes('{"a":1234}'))], []);
  assertThrows(() => [...reader.push(bytes("}"))], BrokenStream, "limit");
});

/** A line of about `megabytes`, many items of a history or one string. */
function longLine(megabytes: number, kind: "items" | "string"): Uint8Array {
  const size = megabytes * 1024 * 1024;
  if (kind === "string") return bytes(`{"text":"${"x".repeat(size)}"}\n`);
  const item = JSON.stringify({
    type: "agentMessage",
    id: "item-12345",
    text: "words of a message, as a history has them ".repeat(4),
    phase: null,
  });
  const items = Array(Math.floor(size / (item.length + 1))).fill(item);
  return bytes(`{"result":{"turns":[${items.join(",")}]}}\n`);
}

/** Milliseconds this thread was at work: other load of the machine does not count. */
function worked(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Reads a line as a pipe gives it; the work of all pushes and of the longest one. */
function readingCost(line: Uint8Array): { whole: number; longest: number } {
  const reader = new JsonLineReader(32 * 1024 * 1024);
  const cost = { whole: 0, longest: 0 };
  let messages = 0;
  for (let offset = 0; offset < line.length; offset += 16 * 1024) {
    const start = worked();
    for (const _ of reader.push(line.subarray(offset, offset + 16 * 1024))) {
      messages += 1;
    }
    const spent = worked() - start;
    cost.whole += spent;
    cost.longest = Math.max(cost.longest, spent);
  }
  assertEquals(messages, 1);
  return cost;
}

Deno.test("A line of 24 MB costs in proportion to its length", () => {
  readingCost(longLine(3, "string"));
  const small = readingCost(longLine(3, "string")).whole;
  // Eight times the length; a quadratic reader needs sixty-four times as long.
  assertLess(readingCost(longLine(24, "string")).whole, small * 24 + 250);
});

for (const kind of ["items", "string"] as const) {
  Deno.test(`A line of 24 MB, one of ${kind}, keeps a heartbeat waiting for less than 250 ms`, () => {
    assertLess(readingCost(longLine(24, kind)).longest, 250);
  });
}

Deno.test("Text lines come as they are, the last one too", () => {
  const reader = new TextLineReader(20);
  const cut = bytes("é\r\n\ntail");
  assertEquals([...reader.push(cut.slice(0, 1))], []);
  assertEquals([...reader.push(cut.slice(1))], ["é", ""]);
  assertEquals(reader.end(), "tail");
  assertThrows(() => [...reader.push(bytes("x".repeat(21)))], BrokenStream);
});
