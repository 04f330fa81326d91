import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import { ErrorTail } from "../../src/harness/child_errors.ts";

const SECRET = "canary-4711-secret";

function tailOf(
  chunks: readonly (string | Uint8Array)[],
  secrets: readonly string[] = [],
): string {
  const tail = new ErrorTail(secrets);
  for (const chunk of chunks) {
    tail.push(
      typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk,
    );
  }
  return tail.text();
}

Deno.test("The last 8 KiB of stderr are kept, however much comes", () => {
  const tail = tailOf([
    ..."x".repeat(20).split("").map((x) => x.repeat(4096)),
    "the end",
  ]);
  assertEquals(new TextEncoder().encode(tail).length, 8 * 1024);
  assert(tail.endsWith("the end"));
  const wide = tailOf(["€".repeat(10_000)]);
  assertLessOrEqual(new TextEncoder().encode(wide).length, 8 * 1024);
  assert(!wide.includes("\ufffd"));
});

Deno.test("A secret is hidden wherever a pipe cuts it", () => {
  const text = `before ${SECRET} after`;
  for (let cut = 0; cut <= text.length; cut++) {
    const tail = tailOf([text.slice(0, cut), text.slice(cut)], [SECRET]);
    assertEquals(tail, "before [hidden] after");
  }
});

Deno.test("No part of a secret shows where the kept text begins or ends", () => {
  for (let shift = 0; shift < SECRET.length + 4; shift++) {
    const tail = tailOf(
      [`${SECRET}${"y".repeat(8 * 1024 - shift)}`],
      [SECRET],
    );
    assert(!tail.includes("secret"), `shift ${shift}`);
  }
  for (let length = 6; length < SECRET.length; length++) {
    assertEquals(
      tailOf([`x ${SECRET.slice(0, length)}`], [SECRET]),
      "x [hidden]",
    );
  }
});

Deno.test("Of two secrets the longer is hidden as a whole", () => {
  assertEquals(
    tailOf(["a canary-long b"], ["canary", "canary-long", ""]),
    "a [hidden] b",
  );
});

Deno.test("Control characters are escaped, line ends and tabs kept", () => {
  assertEquals(
    tailOf(["a\x1b[31m\r\n\tb\u202e\u2028\x00"]),
    "a\\u001b[31m\\u000d\n\tb\\u202e\\u2028\\u0000",
  );
});

Deno.test("Characters cut between two reads stay whole", () => {
  const text = "aé€😀b";
  const wire = new TextEncoder().encode(text);
  for (let cut = 0; cut <= wire.length; cut++) {
    assertEquals(tailOf([wire.slice(0, cut), wire.slice(cut)]), text);
  }
});
