// The envelope table: what is a frame, what is ignored, what is dropped.
import { assertEquals } from "@std/assert";
import { decodeEnvelope, encodeEnvelope } from "../../src/protocol/envelope.ts";
import {
  isCompatibleVersion,
  PROTOCOL_VERSION,
} from "../../src/protocol/version.ts";
import { acceptEach, refuseEach, valueOf } from "./wire_rows.ts";

Deno.test("what counts as an envelope", async (t) => {
  await acceptEach(t, {
    "cancel without payload": '{"type":"prompt_cancel","id":"run-456"}',
    "unknown type": '{"type":"from_the_future"}',
    "unknown members": '{"type":"x","assignment":{"epoch":1},"z":null}',
    "null id, payload and trace":
      '{"type":"x","id":null,"payload":null,"trace":null}',
    "trace that is not text": '{"type":"x","trace":7}',
    "trace that is no traceparent": '{"type":"x","trace":"nonsense"}',
    "white space around": ' \n{ "type" : "x" }\t',
  }, decodeEnvelope);
  await refuseEach(t, {
    "no JSON": "hello",
    "empty text": "",
    "two values": "{}{}",
    "null": "null",
    "array": '[{"type":"x"}]',
    "scalar": '"x"',
    "no type": '{"id":"x"}',
    "null type": '{"type":null}',
    "empty type": '{"type":""}',
    "number as type": '{"type":1}',
    "number as id": '{"type":"x","id":1}',
    "trailing comma": '{"type":"x",}',
  }, decodeEnvelope);
});

Deno.test("null, empty and absent envelope members read alike", () => {
  const bare = valueOf(decodeEnvelope('{"type":"x"}'));
  for (
    const text of [
      '{"type":"x","id":"","trace":""}',
      '{"type":"x","id":null,"payload":null,"trace":null}',
      '{"type":"x","trace":{}}',
    ]
  ) {
    assertEquals(valueOf(decodeEnvelope(text)), { ...bare, source: text });
  }
  assertEquals(Object.keys(bare).toSorted(), ["source", "type"]);
});

Deno.test("of a repeated envelope member the last one counts", () => {
  const text = '{"type":"a","id":"1","type":"b","id":"2"}';
  assertEquals(valueOf(decodeEnvelope(text)), {
    type: "b",
    id: "2",
    source: text,
  });
});

Deno.test("an envelope keeps its payload and trace through the wire", () => {
  const text = '{"type":"delta","id":"run-123","payload":{"delta":"hello",' +
    '"sequence":42},"trace":"00-0-0-01"}';
  const envelope = valueOf(decodeEnvelope(text));
  assertEquals(envelope.source, text);
  assertEquals(encodeEnvelope(envelope), text);
});

Deno.test("the writer leaves out what is empty and what is not the envelope's", () => {
  const envelope = { type: "x", id: "", payload: null, trace: "", extra: 1 };
  assertEquals(encodeEnvelope(envelope), '{"type":"x"}');
});

Deno.test("only the exact version is compatible", async (t) => {
  const v = PROTOCOL_VERSION;
  const rows: Readonly<Record<string, boolean>> = {
    [v]: true,
    "": false,
    "0.6.99": false,
    "0.7.0": false,
    "0.8.99": false,
    "1.0.0": false,
    "0.8": false,
    "0.8.": false,
    "0.8.invalid": false,
    "garbage": false,
    [`${v}-dev`]: false,
    [`${v}+build`]: false,
    [` ${v}`]: false,
    [`${v} `]: false,
    [`v${v}`]: false,
  };
  for (const [version, compatible] of Object.entries(rows)) {
    await t.step(`"${version}"`, () => {
      assertEquals(isCompatibleVersion(version), compatible);
    });
  }
});
