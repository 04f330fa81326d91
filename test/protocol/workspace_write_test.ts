// The request tables of `workspace_write` and `workspace_export`.
import { assertEquals } from "@std/assert";
import { decodeWorkspaceExport } from "../../src/protocol/workspace_export.ts";
import { decodeWorkspaceWrite } from "../../src/protocol/workspace_write.ts";
import { DIGEST, UUID_A, UUID_B } from "./fixtures.ts";
import { acceptEach, inbound, inboundText, refuseEach } from "./wire_rows.ts";

const BEGIN = {
  step: "begin",
  environment_id: UUID_A,
  session_id: UUID_B,
  path: "a/b.txt",
  sha256: DIGEST,
};
const at = (path: string) => ({ ...BEGIN, path });
const chunk = (bytes: number, members: object = {}) => ({
  step: "chunk",
  data: new Uint8Array(bytes).toBase64(),
  ...members,
});

Deno.test("write requests", async (t) => {
  const decode = (payload: unknown) =>
    decodeWorkspaceWrite(inbound("workspace_write", payload, UUID_A));
  await acceptEach(t, {
    "begin of no bytes": { ...BEGIN, size_bytes: 0 },
    "begin of 50 MiB": { ...BEGIN, size_bytes: 52_428_800 },
    "path of 4,096 bytes": at("a".repeat(4096)),
    "chunk of 64 KiB": chunk(65_536),
    "chunk at the end": chunk(1, { offset: 52_428_799 }),
    "commit": { step: "commit" },
  }, decode);
  await refuseEach(t, {
    "leading slash": at("/a"),
    "double slash": at("a//b"),
    "parent segment": at("a/../b"),
    "dot": at("."),
    "dot segment": at("a/./b"),
    "parent": at(".."),
    "trailing slash": at("a/"),
    "backslash": at("a\\b"),
    "4,097 bytes": at("a".repeat(4097)),
    "empty path": at(""),
    "NUL": at("a\0"),
    "CR": at("a\r"),
    "LF": at("a\n"),
    "no UTF-8": at("\ud800"),
    "upper-case digest": { ...BEGIN, sha256: "A".repeat(64) },
    "no digest": { ...BEGIN, sha256: undefined },
    "50 MiB + 1": { ...BEGIN, size_bytes: 52_428_801 },
    "negative size": { ...BEGIN, size_bytes: -1 },
    "begin with data": { ...BEGIN, data: "AA==" },
    "begin with offset": { ...BEGIN, offset: 1 },
    "environment_id that is no UUID": { ...BEGIN, environment_id: "e" },
    "session_id that is no UUID": { ...BEGIN, session_id: "s" },
    "chunk without data": chunk(0),
    "chunk of 65,537": chunk(65_537),
    "chunk with path": chunk(1, { path: "a" }),
    "chunk with size": chunk(1, { size_bytes: 1 }),
    "chunk with environment_id": chunk(1, { environment_id: UUID_A }),
    "chunk past 50 MiB": chunk(1, { offset: 52_428_800 }),
    "chunk at -1": chunk(1, { offset: -1 }),
    "commit with offset": { step: "commit", offset: 1 },
    "commit with data": { step: "commit", data: "AA==" },
    "commit with path": { step: "commit", path: "a" },
    "unknown step": { step: "abort" },
    "no payload": undefined,
  }, decode);
});

Deno.test("a write payload is at most 96 KiB", async (t) => {
  const sized = (bytes: number) => {
    const text = '{"step":"commit"}';
    const padding = " ".repeat(bytes - text.length);
    return decodeWorkspaceWrite(inboundText(
      `{"type":"workspace_write","payload":{${padding}${text.slice(1)}}`,
    )).ok;
  };
  await t.step("98,304 bytes", () => assertEquals(sized(98_304), true));
  await t.step("98,305 bytes", () => assertEquals(sized(98_305), false));
});

Deno.test("export requests", async (t) => {
  const begin = { step: "begin", handle: "h", environment_id: "e" };
  const decode = (payload: unknown) =>
    decodeWorkspaceExport(inbound("workspace_export", payload));
  await acceptEach(t, {
    "begin": begin,
    "longest identities": {
      ...begin,
      handle: "h".repeat(128),
      environment_id: "e".repeat(128),
    },
    "next at 0": { step: "next" },
    "next at 528 MiB": { step: "next", offset: 553_648_128 },
    "cancel": { step: "cancel" },
  }, decode);
  await refuseEach(t, {
    "begin with offset": { ...begin, offset: 1 },
    "begin without handle": { ...begin, handle: "" },
    "begin without environment_id": { ...begin, environment_id: undefined },
    "long handle": { ...begin, handle: "h".repeat(129) },
    "long environment_id": { ...begin, environment_id: "é".repeat(65) },
    "next with handle": { step: "next", handle: "h" },
    "next with environment_id": { step: "next", environment_id: "e" },
    "next at -1": { step: "next", offset: -1 },
    "next past 528 MiB": { step: "next", offset: 553_648_129 },
    "cancel with offset": { step: "cancel", offset: 1 },
    "cancel with handle": { step: "cancel", handle: "h" },
    "unknown step": { step: "commit" },
    "no payload": undefined,
    "payload over 8 KiB": { ...begin, future: "x".repeat(8192) },
  }, decode);
  await t.step("an id over 128 bytes", () => {
    const long = inbound("workspace_export", begin, "o".repeat(129));
    assertEquals(decodeWorkspaceExport(long).ok, false);
  });
});
