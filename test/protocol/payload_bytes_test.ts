// How bytes are spelled, and how the size of a payload is measured.
import { assertEquals } from "@std/assert";
import { decodeRuntimePrepare } from "../../src/protocol/runtime_prepare.ts";
import { DIGEST, UUID_A, UUID_B } from "./fixtures.ts";
import { acceptEach, inbound, inboundText, refuseEach } from "./wire_rows.ts";

const MIB = 1_048_576;
const SKILL = {
  step: "begin",
  environment_id: UUID_A,
  session_id: UUID_B,
  action: "skill",
  skill: { type: "inline", name: "example", description: "Example" },
  size_bytes: 10,
  sha256: DIGEST,
};

const decode = (payload: unknown) =>
  decodeRuntimePrepare(inbound("runtime_prepare", payload));

Deno.test("bytes are padded base64, line breaks tolerated", async (t) => {
  const bytes = (data: string) => ({ step: "chunk", data });
  await acceptEach(
    t,
    {
      "canonical": [bytes("aGVsbG8="), "hello"],
      "line breaks": [bytes("aGVs\r\nbG8=\n"), "hello"],
      "line break inside the padding": [bytes("aGVsbG8gIQ=\n="), "hello !"],
      "unused bits": [bytes("aGVsbG9="), "hello"],
    },
    ([payload]) => decode(payload),
    (value, [, expected]) => {
      assertEquals("data" in value, true);
      if ("data" in value) {
        assertEquals(new TextDecoder().decode(value.data), expected);
      }
    },
  );
  await refuseEach(t, {
    "no padding": bytes("aGVsbG8"),
    "short padding": bytes("aGVsbA="),
    "space": bytes("aGVs bG8="),
    "tab": bytes("aGVs\tbG8="),
    "four characters, one a space": bytes("aGV "),
    "base64url": bytes("-_-_"),
    "too much padding": bytes("aGVsbG8=="),
    "padding inside": bytes("aG==bG8="),
    "only padding": bytes("===="),
    "only line breaks": bytes("\n\n\n\n"),
    "not text": { step: "chunk", data: [1] },
  }, decode);
});

Deno.test("a begin is held to the limit as it is written, too", () => {
  const begin = (size: string, bytes: number) => {
    const text = JSON.stringify({ ...SKILL, size_bytes: 0 })
      .replace('"size_bytes":0', `"size_bytes":${size}`);
    const padded = text.replace(
      "Example",
      "x".repeat(bytes - text.length + "Example".length),
    );
    return decodeRuntimePrepare(
      inboundText(`{"type":"runtime_prepare","id":"t","payload":${padded}}`),
    ).ok;
  };
  assertEquals(begin("10000000", MIB), true);
  assertEquals(begin("1e7", MIB - 5), true);
  // Received it fits; written out, the size takes five bytes more.
  assertEquals(begin("1e7", MIB), false);
});

Deno.test("the payload limit is on its bytes as received", async (t) => {
  const commit = (payload: string, rest = "") =>
    decodeRuntimePrepare(
      inboundText(`{${rest}"type":"runtime_prepare","payload":${payload}}`),
    ).ok;
  const filled = (bytes: number) =>
    `{"step":"commit"${" ".repeat(bytes - '{"step":"commit"}'.length)}}`;
  await t.step("1 MiB is taken", () => {
    assertEquals(commit(filled(MIB)), true);
  });
  await t.step("1 MiB and a byte is not", () => {
    assertEquals(commit(filled(MIB + 1)), false);
  });
  await t.step("a large envelope around it does not count", () => {
    const rest = `"future":"${"é".repeat(MIB)}",`;
    assertEquals(commit('{"step":"commit"}', rest), true);
  });
  await t.step("characters count as bytes", () => {
    const text = `{"step":"commit","x":"${"é".repeat(MIB / 2)}"}`;
    assertEquals(commit(text), false);
  });
});
