// The frames of both directions: identity through the wire, presence, strictness, fixed refusals.
import { assert, assertEquals } from "@std/assert";
import { encodeEnvelope } from "../../src/protocol/envelope.ts";
import {
  coreFrame,
  type CoreFrameType,
  isCoreFrameType,
  isRuntimeFrameType,
  runtimeFrame,
  type RuntimeFrameType,
} from "../../src/protocol/frames.ts";
import { CORE_DECODERS, type Decoder, RUNTIME_DECODERS } from "./decoders.ts";
import { CORE_PAYLOADS, RUNTIME_PAYLOADS } from "./fixtures.ts";
import { inbound, inboundText, valueOf } from "./wire_rows.ts";

const coreTypes = Object.keys(CORE_PAYLOADS) as CoreFrameType[];
const runtimeTypes = Object.keys(RUNTIME_PAYLOADS).filter((type) =>
  type !== "permission_cancel"
) as (keyof typeof RUNTIME_DECODERS)[];
const decoders: Readonly<Record<string, Decoder>> = {
  ...CORE_DECODERS,
  ...RUNTIME_DECODERS,
};

/** The text of a valid frame of any type. */
function exampleText(type: string): string {
  const frame = isCoreFrameType(type)
    ? coreFrame(type, "id", CORE_PAYLOADS[type])
    : runtimeFrame(
      type as RuntimeFrameType,
      "id",
      RUNTIME_PAYLOADS[type as RuntimeFrameType],
    );
  return encodeEnvelope(frame);
}

Deno.test("every frame type decodes to exactly what was encoded", async (t) => {
  for (const type of coreTypes) {
    await t.step(type, () => {
      const decoded = CORE_DECODERS[type](inboundText(exampleText(type)));
      assertEquals(valueOf(decoded), CORE_PAYLOADS[type]);
    });
  }
  for (const type of runtimeTypes) {
    await t.step(type, () => {
      const decoded = RUNTIME_DECODERS[type](inboundText(exampleText(type)));
      assertEquals(valueOf<unknown>(decoded), RUNTIME_PAYLOADS[type]);
    });
  }
});

Deno.test("decoding and encoding again gives the same bytes", async (t) => {
  for (const type of [...coreTypes, ...runtimeTypes]) {
    await t.step(type, () => {
      const text = exampleText(type);
      const value = valueOf(decoders[type]?.(inboundText(text)) ?? never());
      const frame = isCoreFrameType(type)
        ? coreFrame(type, "id", value as never)
        : runtimeFrame(type as RuntimeFrameType, "id", value as never);
      assertEquals(encodeEnvelope(frame), text);
    });
  }
});

function never(): never {
  throw new Error("no decoder");
}

Deno.test("members outside the declaration are never written", async (t) => {
  for (const type of [...coreTypes, ...runtimeTypes]) {
    await t.step(type, () => {
      const payload = isCoreFrameType(type)
        ? CORE_PAYLOADS[type]
        : RUNTIME_PAYLOADS[type as RuntimeFrameType];
      const extended = { ...payload, native_item: 1, hidden: undefined };
      const frame = isCoreFrameType(type)
        ? coreFrame(type, "id", extended as never)
        : runtimeFrame(type as RuntimeFrameType, "id", extended as never);
      assertEquals(encodeEnvelope(frame), exampleText(type));
    });
  }
});

const LENIENT = new Set<string>([
  ...coreTypes.filter((type) => type !== "prompt_for_user_choice_decision"),
  "heartbeat",
  "error",
]);

Deno.test("an unknown member is ignored in requests and refused in our own frames", async (t) => {
  for (const type of [...coreTypes, ...runtimeTypes]) {
    await t.step(type, () => {
      const text = exampleText(type).replace(
        '"payload":{',
        '"payload":{"future_member":{"deep":[0]},',
      );
      const decoded = decoders[type]?.(inboundText(text)) ?? never();
      assertEquals(decoded.ok, LENIENT.has(type));
      if (decoded.ok) {
        assertEquals(
          decoded.value,
          valueOf(decoders[type]?.(inboundText(exampleText(type))) ?? never()),
        );
      }
    });
  }
});

Deno.test("of a repeated member the last one counts", () => {
  const text = '{"type":"execution_release","id":"p","payload":' +
    '{"handle":"first","handle":"last"}}';
  const decoded = CORE_DECODERS.execution_release(inboundText(text));
  assertEquals(valueOf(decoded), { handle: "last" });
});

Deno.test("null reads like absence in a request", async (t) => {
  const rows: Readonly<
    Record<string, readonly [CoreFrameType, unknown, unknown]>
  > = {
    "text of a cancellation": ["prompt_cancel", { delivery_id: null }, {}],
    "whole payload": ["prompt_cancel", null, {}],
    "zero text": ["device_shutdown", { reason: "" }, {}],
    "number": [
      "workspace_read",
      {
        handle: "h",
        run_id: null,
        environment_id: "e",
        path: null,
        max_bytes: 1,
        max_entries: null,
        operation: null,
      },
      { handle: "h", environment_id: "e", path: "", max_bytes: 1 },
    ],
    "flag and list": [
      "execution_prepare",
      {
        session_id: "s",
        configuration: {
          agent_kind: null,
          input: null,
          function_tools: null,
          tool_search: null,
          mcp_http_servers: null,
        },
      },
      { session_id: "s", configuration: { agent_kind: "", run_id: "" } },
    ],
  };
  for (const [name, [type, payload, expected]] of Object.entries(rows)) {
    await t.step(name, () => {
      const decoded = CORE_DECODERS[type](inbound(type, payload));
      assertEquals(valueOf(decoded), expected);
    });
  }
});

Deno.test("decoding leaves the received frame as it was", async (t) => {
  for (const [type, decode] of Object.entries(decoders)) {
    await t.step(type, () => {
      const text = exampleText(type).replace(
        '"payload":{',
        '"payload":{"input":null,"handle":null,"delivery_id":"","tokens":null,',
      );
      const envelope = inboundText(text);
      decode(envelope);
      assertEquals(envelope.payload, JSON.parse(text).payload);
    });
  }
});

Deno.test("a wrong kind of zero is not a zero", async (t) => {
  const rows: Readonly<Record<string, readonly [CoreFrameType, unknown]>> = {
    "0 for a text": ["prompt_cancel", { delivery_id: 0 }],
    "false for a text": ["device_shutdown", { reason: false }],
    "empty text for a flag": ["prompt_steer", {
      input_id: "i",
      input: [{ content: [{ type: "input_text", text: "x" }] }],
      durable_receipt: "",
    }],
    "empty list for an object": ["permission_decision", {
      delivery_id: "d",
      approved: true,
      updated_input: [],
    }],
  };
  for (const [name, [type, payload]] of Object.entries(rows)) {
    await t.step(name, () => {
      assertEquals(CORE_DECODERS[type](inbound(type, payload)).ok, false);
    });
  }
});

Deno.test("integers are whole and safe", async (t) => {
  const spellings = {
    "1": true,
    "0": true,
    "9007199254740991": true,
    "9007199254740992": false,
    "1.5": false,
    "1e400": false,
    '"1"': false,
    "true": false,
    "[1]": false,
  };
  for (const [spelling, ok] of Object.entries(spellings)) {
    await t.step(`${spelling} is ${ok ? "accepted" : "refused"}`, () => {
      const text =
        `{"type":"delta","id":"r","payload":{"delta":"","sequence":${spelling}}}`;
      assertEquals(RUNTIME_DECODERS.delta(inboundText(text)).ok, ok);
    });
  }
});

Deno.test("the two lists of frame types do not overlap and know nothing else", () => {
  for (const type of coreTypes) assert(!isRuntimeFrameType(type));
  for (const type of runtimeTypes) assert(!isCoreFrameType(type));
  for (const type of ["", "prompt_request", "toString", "Heartbeat"]) {
    assert(!isCoreFrameType(type) && !isRuntimeFrameType(type));
  }
  assertEquals(coreTypes.length, 15);
  assertEquals(runtimeTypes.length, 25);
});

Deno.test("a refusal is fixed text: it never repeats what the peer sent", async (t) => {
  for (const [type, decode] of Object.entries(decoders)) {
    await t.step(type, () => {
      const canary = "canary-5d1f";
      for (
        const payload of [canary, [canary], { [canary]: canary }, {
          step: canary,
          outcome: canary,
          delivery_id: 1,
          handle: { [canary]: canary },
          configuration: { agent_options: canary },
          error: 1,
          content: 1,
          ts: canary,
          reason: 1,
          input: canary,
        }]
      ) {
        const decoded = decode(inbound(type, payload, canary));
        if (!decoded.ok) assert(!decoded.reason.includes(canary));
      }
    });
  }
});
