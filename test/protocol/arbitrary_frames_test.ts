// Whatever arrives, a decoder answers with a value or a refusal.
import { assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { decodeEnvelope, encodeEnvelope } from "../../src/protocol/envelope.ts";
import { runtimeFrame } from "../../src/protocol/frames.ts";
import { CORE_DECODERS, type Decoder, RUNTIME_DECODERS } from "./decoders.ts";
import { CORE_PAYLOADS } from "./fixtures.ts";
import { inboundText, valueOf } from "./wire_rows.ts";

/** Text that is never the zero of its kind. */
const someText = fc.string({ unit: "binary", minLength: 1 });
const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const someBytes = fc.uint8Array({ minLength: 1, maxLength: 200 });
const someObject = fc.dictionary(
  fc.string({ minLength: 1 }).filter((name) => name !== "__proto__"),
  fc.jsonValue({ maxDepth: 2 }),
  { minKeys: 1 },
);

/** Any payload in its written form: members that are omitted when zero are absent or not zero. */
const runtimePayloads = {
  delta: fc.record(
    { item_id: someText, delta: fc.string(), sequence: count },
    { requiredKeys: ["delta", "sequence"] },
  ),
  usage: fc.record({
    provider: someText,
    input_tokens: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    cost_usd: fc.double({ min: 0.001, max: 1e6, noNaN: true }),
    raw: someObject,
  }, { requiredKeys: [] }),
  done: fc.record({
    source_completed_at_ms: count,
    content: fc.string({ unit: "binary" }),
    transcript: someText,
    metadata: someObject,
  }, { requiredKeys: ["content"] }),
  tool_call: fc.record({
    observation: fc.record({
      kind: fc.constant("mcp" as const),
      status: fc.constant("in_progress" as const),
      server: someText,
      arguments: fc.jsonValue({ maxDepth: 2 }),
      output: fc.jsonValue({ maxDepth: 2 }),
      exit_code: fc.maxSafeInteger(),
    }, { requiredKeys: ["kind", "status", "server"] }),
    id: fc.string(),
    name: fc.string(),
    stage: fc.constantFrom("before", "after"),
    args: someObject,
  }, { requiredKeys: ["id", "name", "stage"] }),
  function_call: fc.record({
    call_id: someText,
    name: someText,
    arguments: fc.jsonValue(),
  }),
  workspace_read_result: fc.record({
    outcome: fc.constant("completed" as const),
    data: someBytes,
    truncated: fc.constant(true),
  }, { requiredKeys: ["outcome"] }),
};

Deno.test("any payload comes out of the wire as it went in", async (t) => {
  for (const [name, payloads] of Object.entries(runtimePayloads)) {
    const type = name as keyof typeof runtimePayloads;
    await t.step(type, () => {
      fc.assert(
        fc.property(payloads as fc.Arbitrary<object>, (payload) => {
          const frame = runtimeFrame(type, "id", payload as never);
          const text = encodeEnvelope(frame);
          const decoded = RUNTIME_DECODERS[type](inboundText(text));
          assertEquals(valueOf<unknown>(decoded), { ...payload });
        }),
        { numRuns: 300 },
      );
    });
  }
});

const decoders: Readonly<Record<string, Decoder>> = {
  ...CORE_DECODERS,
  ...RUNTIME_DECODERS,
};

Deno.test("no decoder throws, whatever JSON it gets", () => {
  const payloads = fc.oneof(
    fc.jsonValue({ maxDepth: 4 }),
    fc.constantFrom(...Object.values(CORE_PAYLOADS).filter(Boolean))
      .chain((example) =>
        fc.dictionary(
          fc.constantFrom(...Object.keys(example as object), "__proto__"),
          fc.jsonValue({ maxDepth: 2 }),
        ).map((changes) => ({ ...(example as object), ...changes }))
      ),
  );
  const types = fc.constantFrom(...Object.keys(decoders));
  fc.assert(
    fc.property(types, payloads, fc.string(), (type, payload, id) => {
      const envelope = inboundText(JSON.stringify({ type, id, payload }));
      const decoded = decoders[type]?.(envelope);
      assertEquals(typeof decoded?.ok, "boolean");
    }),
    { numRuns: 2000 },
  );
});

Deno.test("the envelope decoder throws on no text", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: "binary" }),
        fc.json(),
        fc.string().map((part) => `{"type":"x",${part}}`),
      ),
      (text) => {
        assertEquals(typeof decodeEnvelope(text).ok, "boolean");
      },
    ),
    { numRuns: 2000 },
  );
});

Deno.test("a deep or wide payload is refused without overflowing the stack", () => {
  const depth = 200_000;
  const deep = "[".repeat(depth) + "]".repeat(depth);
  const text = `{"type":"execution_prepare","id":"p","payload":${deep}}`;
  const envelope = decodeEnvelope(text);
  if (envelope.ok) {
    assertEquals(CORE_DECODERS.execution_prepare(envelope.value).ok, false);
  } else {
    assertStringIncludes(envelope.reason, "not JSON");
  }
});
