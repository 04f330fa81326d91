import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { jsonLine, textLine } from "../../src/platform/log_line.ts";
import {
  createRedactor,
  escapeControls,
} from "../../src/platform/redaction.ts";

const token = fc.string({
  minLength: 16,
  maxLength: 64,
  unit: fc.constantFrom(
    ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_%&."\\',
  ),
});
const around = fc.string({ maxLength: 12 });

Deno.test("no form of a secret survives redaction, wherever it stands", () => {
  fc.assert(fc.property(token, around, around, (secret, before, after) => {
    const redactor = createRedactor();
    redactor.add(secret);
    const whole = before + secret + after;
    for (
      const text of [
        whole,
        `https://core.example/?a=${encodeURIComponent(secret)}&b`,
        JSON.stringify({ value: whole }),
      ]
    ) {
      assert(!redactor.redact(text).includes(secret));
      assert(!redactor.redact(text).includes(encodeURIComponent(secret)));
    }
    const encoded = new TextEncoder().encode(secret).toBase64();
    assert(!redactor.redact(`Basic ${encoded}`).includes(encoded));
  }));
});

Deno.test("a secret inside a longer base64 text leaves none of its whole groups", () => {
  const secret = "canary-Tok3n-9f8e7d6c5b4a";
  const redactor = createRedactor();
  redactor.add(secret);
  for (const user of ["u:", "us:", "use:"]) {
    const encoded = new TextEncoder().encode(user + secret).toBase64();
    const redacted = redactor.redact(encoded);
    assert(redacted.includes("[secret]"), redacted);
    assert(redacted.length < encoded.length / 2 + 8, redacted);
  }
});

Deno.test("a secret that contains another one leaves no rest", () => {
  const redactor = createRedactor();
  redactor.add("canary-abcdefgh");
  redactor.add("canary-abcdefgh-and-the-rest");
  assertEquals(
    redactor.redact("x canary-abcdefgh-and-the-rest y canary-abcdefgh z"),
    "x [secret] y [secret] z",
  );
});

Deno.test("a value too short to be a secret does not empty the log", () => {
  const redactor = createRedactor();
  redactor.add("run");
  redactor.add("");
  assertEquals(redactor.redact("the run goes on"), "the run goes on");
});

Deno.test("control characters, separators and direction marks become visible", () => {
  assertEquals(
    escapeControls("a\nb\tc\x1b[31m\u2028\u202e\x7f"),
    "a\\nb\\tc\\u001b[31m\\u2028\\u202e\\u007f",
  );
});

Deno.test("an error keeps its name, message and causes in both formats", () => {
  const error = new TypeError("outer failed", {
    cause: new RangeError("inner\nfailed"),
  });
  const entry = {
    at: 0,
    level: "error" as const,
    event: "thrown",
    fields: { error, count: 3, missing: undefined },
  };
  const line = JSON.parse(jsonLine(entry, createRedactor()));
  assertEquals(line.time, "1970-01-01T00:00:00.000Z");
  assertEquals(line.error.name, "TypeError");
  assertEquals(line.error.message, "outer failed");
  assertEquals(line.error.cause.name, "RangeError");
  assertEquals(line.error.cause.message, "inner\\nfailed");
  assertEquals("missing" in line, false);
  const text = textLine(entry, createRedactor());
  for (const part of ["TypeError", "outer failed", "RangeError", "count=3"]) {
    assert(text.includes(part), text);
  }
  assert(!text.includes("\n"));
});

Deno.test("a secret is replaced before a long field is cut", () => {
  const redactor = createRedactor();
  const secret = "canary-Tok3n-9f8e7d6c5b4a";
  redactor.add(secret);
  const line = jsonLine({
    at: 0,
    level: "info",
    event: "long",
    fields: { text: "x".repeat(2_040) + secret },
  }, redactor);
  assert(!line.includes("canary"), line.slice(-80));
});

Deno.test("an event that is too long keeps its name and says that it was cut", () => {
  const fields = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [`f${index}`, "x".repeat(2_000)]),
  );
  const line = JSON.parse(jsonLine(
    { at: 0, level: "info", event: "long", fields },
    createRedactor(),
  ));
  assertEquals(line.event, "long");
  assert(line.cut > 16_384);
});

Deno.test("a cycle of causes ends", () => {
  const error: Error & { cause?: unknown } = new Error("round");
  error.cause = error;
  const line = jsonLine(
    { at: 0, level: "error", event: "e", fields: { error } },
    createRedactor(),
  );
  assert(line.length < 16_384);
});
