// The tables of `workspace_read` and its results.
import { assertEquals } from "@std/assert";
import {
  checkWorkspaceReadResult,
  decodeWorkspaceRead,
  decodeWorkspaceReadResult,
  type WorkspaceRead,
} from "../../src/protocol/workspace_read.ts";
import type { Decoded } from "../../src/protocol/decoded.ts";
import { acceptEach, inbound, inboundText, refuseEach } from "./wire_rows.ts";

const BYTES = { handle: "h", environment_id: "e", path: "a", max_bytes: 4 };
const LIST = {
  handle: "h",
  environment_id: "e",
  path: "",
  max_bytes: 0,
  operation: "directory",
  max_entries: 2,
} as const;

const decode = (payload: unknown) =>
  decodeWorkspaceRead(inbound("workspace_read", payload));

Deno.test("read requests", async (t) => {
  await acceptEach(t, {
    "handle, 1 byte": { ...BYTES, max_bytes: 1 },
    "run, 1 MiB": {
      run_id: "r",
      environment_id: "e",
      path: "a",
      max_bytes: 1_048_576,
    },
    "directory, 1,024 entries": { ...LIST, max_entries: 1024 },
    "directory, bytes absent": { ...LIST, max_bytes: undefined },
    "operation written as empty": { ...BYTES, operation: "", max_entries: 0 },
  }, decode);
  await refuseEach(t, {
    "handle and run": { ...BYTES, run_id: "r" },
    "neither handle nor run": { ...BYTES, handle: undefined },
    "empty handle, no run": { ...BYTES, handle: "" },
    "empty environment_id": { ...BYTES, environment_id: "" },
    "no bytes": { ...BYTES, max_bytes: 0 },
    "negative bytes": { ...BYTES, max_bytes: -1 },
    "1 MiB + 1": { ...BYTES, max_bytes: 1_048_577 },
    "directory with bytes": { ...LIST, max_bytes: 1 },
    "directory without entries": { ...LIST, max_entries: 0 },
    "1,025 entries": { ...LIST, max_entries: 1025 },
    "bytes with entries": { ...BYTES, max_entries: 1 },
    "operation list": { ...LIST, operation: "list" },
    "path of the wrong type": { ...BYTES, path: 1 },
    "no payload": undefined,
  }, decode);
});

Deno.test("operation ids and payload size of a read", async (t) => {
  for (
    const [id, ok] of [
      ["o".repeat(128), true],
      ["o".repeat(129), false],
      ["", false],
      [" ", false],
    ] as const
  ) {
    await t.step(`id of ${id.length}`, () => {
      assertEquals(
        decodeWorkspaceRead(inbound("workspace_read", BYTES, id)).ok,
        ok,
      );
    });
  }
  const sized = (bytes: number) => {
    const payload = JSON.stringify(BYTES);
    const padding = " ".repeat(bytes - payload.length);
    return decodeWorkspaceRead(inboundText(
      `{"type":"workspace_read","id":"o","payload":{${padding}${
        payload.slice(1)
      }}`,
    )).ok;
  };
  await t.step("8,192 bytes", () => assertEquals(sized(8192), true));
  await t.step("8,193 bytes", () => assertEquals(sized(8193), false));
});

type Row = readonly [WorkspaceRead, unknown];

function judge([request, payload]: Row): Decoded<unknown> {
  const result = decodeWorkspaceReadResult(
    inbound("workspace_read_result", payload),
  );
  return result.ok ? checkWorkspaceReadResult(result.value, request) : result;
}

Deno.test("results of a byte read", async (t) => {
  const completed = { outcome: "completed", close_acknowledged: true };
  const data = (bytes: number) => new Uint8Array(bytes).toBase64();
  const rejected = (error_code?: string) => ({
    outcome: "rejected",
    error_code,
  });
  await acceptEach<Row, unknown>(t, {
    "empty file": [BYTES, completed],
    "shorter": [BYTES, { ...completed, data: data(3) }],
    "at the limit": [BYTES, { ...completed, data: data(4) }],
    "cut at the limit": [
      BYTES,
      { ...completed, data: data(4), truncated: true },
    ],
    "invalid_request": [BYTES, rejected("invalid_request")],
    "resource_unavailable": [BYTES, rejected("resource_unavailable")],
    "read_capacity": [BYTES, rejected("read_capacity")],
    "read_unsupported": [BYTES, rejected("read_unsupported")],
    "not_found": [BYTES, rejected("not_found")],
    "permission_denied": [BYTES, rejected("permission_denied")],
    "unknown": [
      BYTES,
      { outcome: "unknown", error_code: "read_unconfirmed" },
    ],
  }, judge);
  await refuseEach<Row>(t, {
    "close not acknowledged": [BYTES, { outcome: "completed", data: data(1) }],
    "over the limit": [BYTES, { ...completed, data: data(5) }],
    "cut before the limit": [
      BYTES,
      { ...completed, data: data(3), truncated: true },
    ],
    "completed with a code": [
      BYTES,
      { ...completed, error_code: "not_found" },
    ],
    "completed with a directory": [
      BYTES,
      { ...completed, directory: { entries: [], truncated: false } },
    ],
    "not_directory": [BYTES, rejected("not_directory")],
    "rejected without code": [BYTES, rejected()],
    "rejected as unconfirmed": [BYTES, rejected("read_unconfirmed")],
    "rejected in own words": [BYTES, rejected("private detail")],
    "rejected with data": [
      BYTES,
      { ...rejected("not_found"), data: data(1) },
    ],
    "rejected and closed": [
      BYTES,
      { ...rejected("not_found"), close_acknowledged: true },
    ],
    "rejected and cut": [
      BYTES,
      { ...rejected("not_found"), truncated: true },
    ],
    "unknown as rejected": [
      BYTES,
      { outcome: "unknown", error_code: "not_found" },
    ],
    "unknown with data": [
      BYTES,
      { outcome: "unknown", error_code: "read_unconfirmed", data: data(1) },
    ],
  }, judge);
});

/** A result that lists the entries. */
function listing(entries: unknown, members: object = {}): Row {
  return [LIST, {
    outcome: "completed",
    close_acknowledged: true,
    directory: { entries, truncated: false, ...members },
  }];
}

/** A regular file of no bytes. */
function entry(name: string): object {
  return { name, kind: "file", size_bytes: 0 };
}

Deno.test("results of a directory read", async (t) => {
  const completed = { outcome: "completed", close_acknowledged: true };
  const directory = { entries: [], truncated: false };
  await acceptEach<Row, unknown>(t, {
    "empty": listing([]),
    "file and folder": listing([
      entry("a"),
      { name: "b", kind: "directory", size_bytes: null },
    ]),
    "link and other": listing([
      { name: "a", kind: "symlink", size_bytes: null },
      { name: "b", kind: "other", size_bytes: null },
    ]),
    "cut": listing([entry("a")], { truncated: true }),
    "name of 255 bytes": listing([entry("n".repeat(255))]),
    "not_directory": [
      LIST,
      { outcome: "rejected", error_code: "not_directory" },
    ],
  }, judge);
  await refuseEach<Row>(t, {
    "no directory": [LIST, completed],
    "data": [LIST, { ...completed, directory, data: "AA==" }],
    "cut at the top": [LIST, { ...completed, directory, truncated: true }],
    "not closed": [LIST, { outcome: "completed", directory }],
    "null entries": listing(null),
    "truncation absent": listing([], { truncated: undefined }),
    "3 entries for 2": listing([entry("a"), entry("b"), entry("c")]),
    "same name twice": listing([entry("a"), entry("a")]),
    "empty name": listing([entry("")]),
    "dot": listing([entry(".")]),
    "dot dot": listing([entry("..")]),
    "slash": listing([entry("a/b")]),
    "backslash": listing([entry("a\\b")]),
    "NUL": listing([entry("a\0")]),
    "CR": listing([entry("a\r")]),
    "LF": listing([entry("a\n")]),
    "no UTF-8": listing([entry("\ud800")]),
    "256 bytes": listing([entry("é".repeat(128))]),
    "file without size": listing([
      { name: "a", kind: "file", size_bytes: null },
    ]),
    "negative size": listing([{ name: "a", kind: "file", size_bytes: -1 }]),
    "folder with size": listing([
      { name: "a", kind: "directory", size_bytes: 0 },
    ]),
    "size absent": listing([{ name: "a", kind: "directory" }]),
    "unknown kind": listing([{ name: "a", kind: "fifo", size_bytes: null }]),
    "undeclared member": listing([{ ...entry("a"), mode: 1 }]),
  }, judge);
});
