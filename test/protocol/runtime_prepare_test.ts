// The tables of `runtime_prepare`: each step with what it may and may not carry.
import {
  MAX_CHUNK_BYTES,
  MAX_TRANSFER_BYTES,
} from "../../src/protocol/limits.ts";
import { decodeRuntimePrepare } from "../../src/protocol/runtime_prepare.ts";
import { DIGEST, UUID_A, UUID_B } from "./fixtures.ts";
import { acceptEach, inbound, refuseEach } from "./wire_rows.ts";

const MIB = 1_048_576;
const METADATA = { type: "inline", name: "example", description: "Example" };
const HEADER = { step: "begin", environment_id: UUID_A, session_id: UUID_B };
const SKILL = {
  ...HEADER,
  action: "skill",
  skill: METADATA,
  size_bytes: 10,
  sha256: DIGEST,
};
const FINALIZE = { ...HEADER, action: "finalize", sources: {} };

const decode = (payload: unknown) =>
  decodeRuntimePrepare(inbound("runtime_prepare", payload));
const plugin = (members: object) => ({
  ...SKILL,
  action: "plugin",
  skill: undefined,
  plugin: METADATA,
  ...members,
});
const file = (path: string, size_bytes = 0) => ({
  ...HEADER,
  action: "file",
  file: { path },
  size_bytes,
  sha256: DIGEST,
});
const finalize = (...directories: string[]) => ({
  ...FINALIZE,
  sources: { directories },
});
const chunk = (offset: number, bytes: number, members: object = {}) => ({
  step: "chunk",
  offset,
  data: new Uint8Array(bytes).toBase64(),
  ...members,
});
const names = (count: number, prefix = "/d") =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

Deno.test("begins of data actions", async (t) => {
  await acceptEach(t, {
    "skill": SKILL,
    "skill, slot written as 0": { ...SKILL, slot: 0 },
    "skill of 50 MiB": { ...SKILL, size_bytes: MAX_TRANSFER_BYTES },
    "plugin in slot 49": plugin({ slot: 49 }),
    "plugin in slot 0": plugin({}),
    "empty file": file("/workspace/empty"),
    "file in a folder": file("/workspace/a/b.txt", 5),
    "budget 1": { ...SKILL, budget_ms: 1 },
    "budget 30 min": { ...SKILL, budget_ms: 1_800_000 },
    "unknown member": { ...SKILL, future: 1 },
  }, decode);
  await refuseEach(t, {
    "upper-case environment_id": {
      ...SKILL,
      environment_id: "AAAAAAAA-AAAA-4AAA-8AAA-AAAAAAAAAAAA",
    },
    "all-zero session_id": {
      ...SKILL,
      session_id: "00000000-0000-0000-0000-000000000000",
    },
    "no environment_id": { ...SKILL, environment_id: undefined },
    "data in begin": { ...SKILL, data: "AA==" },
    "offset 1": { ...SKILL, offset: 1 },
    "skill and plugin": { ...SKILL, plugin: METADATA },
    "skill and empty sources": { ...SKILL, sources: {} },
    "no metadata": { ...SKILL, skill: undefined },
    "metadata of another action": { ...SKILL, action: "plugin" },
    "unknown action": { ...SKILL, action: "exec" },
    "no action": { ...SKILL, action: undefined },
    "metadata type reference": {
      ...SKILL,
      skill: { ...METADATA, type: "reference" },
    },
    "empty name": { ...SKILL, skill: { ...METADATA, name: "" } },
    "name that is no UTF-8": {
      ...SKILL,
      skill: { ...METADATA, name: "\ud800" },
    },
    "empty description": { ...SKILL, skill: { ...METADATA, description: "" } },
    "description of 1 MiB": {
      ...SKILL,
      skill: { ...METADATA, description: "x".repeat(MIB) },
    },
    "skill with slot 1": { ...SKILL, slot: 1 },
    "plugin slot 50": plugin({ slot: 50 }),
    "plugin slot -1": plugin({ slot: -1 }),
    "no sha256": { ...SKILL, sha256: undefined },
    "upper-case sha256": { ...SKILL, sha256: "A".repeat(64) },
    "short sha256": { ...SKILL, sha256: "aa" },
    "skill of no bytes": { ...SKILL, size_bytes: 0 },
    "plugin of no bytes": plugin({ size_bytes: 0 }),
    "50 MiB + 1": { ...SKILL, size_bytes: MAX_TRANSFER_BYTES + 1 },
    "negative size": { ...file("/workspace/a"), size_bytes: -1 },
    "budget 0": { ...SKILL, budget_ms: 0 },
    "budget over 30 min": { ...SKILL, budget_ms: 1_800_001 },
    "unknown step": { ...SKILL, step: "start" },
    "no step": { ...SKILL, step: undefined },
    "no payload": undefined,
  }, decode);
});

Deno.test("file paths", async (t) => {
  await refuseEach(t, {
    "the root": file("/workspace"),
    "parent segment": file("/workspace/../secret"),
    "trailing slash": file("/workspace/a/"),
    "outside": file("/environment/file"),
    "drive": file("C:\\workspace\\file"),
    "backslash": file("/workspace/a\\b"),
    "double slash": file("/workspace//a"),
    "dot segment": file("/workspace/./a"),
    "prefix only": file("/workspacex/a"),
    "NUL": file("/workspace/a\0"),
    "LF": file("/workspace/a\n"),
    "CR": file("/workspace/a\r"),
    "no UTF-8": file("/workspace/\ud800"),
    "4,097 bytes": file(`/workspace/${"a".repeat(4086)}`),
  }, decode);
  await acceptEach(t, {
    "4,096 bytes": file(`/workspace/${"a".repeat(4085)}`),
    "leading dots": file("/workspace/..a/.b"),
  }, decode);
});

Deno.test("finalize", async (t) => {
  await acceptEach(t, {
    "empty selection": FINALIZE,
    "drive and share": finalize(
      "C:\\Users\\operator\\skills",
      "\\\\host\\share\\skills",
    ),
    "Unix root and spaces": finalize("/", "/projects/my project"),
    "drive root": finalize("C:/", "d:\\"),
    "share with slashes": finalize("//host/share"),
    "50 directories": finalize(...names(50)),
    "50 skills": { ...FINALIZE, sources: { skills: Array(50).fill(METADATA) } },
  }, decode);
  await refuseEach(t, {
    "no sources": { ...FINALIZE, sources: undefined },
    "null sources": { ...FINALIZE, sources: null },
    "sha256": { ...FINALIZE, sha256: DIGEST },
    "size 1": { ...FINALIZE, size_bytes: 1 },
    "slot 1": { ...FINALIZE, slot: 1 },
    "51 directories": finalize(...names(51)),
    "51 skills": { ...FINALIZE, sources: { skills: Array(51).fill(METADATA) } },
    "51 plugins": {
      ...FINALIZE,
      sources: { plugins: Array(51).fill(METADATA) },
    },
    "bad metadata": { ...FINALIZE, sources: { plugins: [{ type: "inline" }] } },
    "parent segment": finalize("/workspace/../secret"),
    "duplicate": finalize("/workspace/a", "/workspace/a"),
    "empty": finalize(""),
    "relative": finalize("projects"),
    "trailing slash": finalize("/projects/"),
    "double slash inside": finalize("/a//b"),
    "backslash on Unix": finalize("/projects\\other"),
    "tab": finalize("/a\tb"),
    "DEL": finalize("/a\x7fb"),
    "no UTF-8": finalize("/\ud800"),
    "4,097 bytes": finalize(`/${"a".repeat(4096)}`),
    "drive without slash": finalize("C:skills"),
    "drive with parent": finalize("C:\\a\\..\\b"),
    "drive with a star": finalize("C:\\a*"),
    "drive with trailing slash": finalize("C:\\a\\"),
    "share without a folder": finalize("\\\\host"),
    "share with empty segment": finalize("\\\\host\\\\share"),
    "share with a colon": finalize("\\\\host\\sh:are"),
    "share with parent": finalize("//host/.."),
  }, decode);
});

Deno.test("chunks and commits", async (t) => {
  const last = MAX_TRANSFER_BYTES - MAX_CHUNK_BYTES;
  await acceptEach(t, {
    "first byte": chunk(0, 1),
    "offset absent": chunk(0, 1, { offset: undefined }),
    "last full chunk": chunk(last, MAX_CHUNK_BYTES),
    "commit": { step: "commit" },
    "commit, zero offset": { step: "commit", offset: 0 },
  }, decode);
  await refuseEach(t, {
    "chunk with action": chunk(0, 1, { action: "skill" }),
    "chunk with environment_id": chunk(0, 1, { environment_id: UUID_A }),
    "chunk with session_id": chunk(0, 1, { session_id: UUID_A }),
    "chunk with skill": chunk(0, 1, { skill: METADATA }),
    "chunk with plugin": chunk(0, 1, { plugin: METADATA }),
    "chunk with initialization": chunk(0, 1, { initialization: {} }),
    "chunk with slot": chunk(0, 1, { slot: 1 }),
    "chunk with size": chunk(0, 1, { size_bytes: 1 }),
    "chunk with sha256": chunk(0, 1, { sha256: DIGEST }),
    "chunk with budget": chunk(0, 1, { budget_ms: 1 }),
    "offset -1": chunk(-1, 1),
    "offset 50 MiB and a byte": chunk(MAX_TRANSFER_BYTES, 1),
    "65,537 bytes": chunk(0, MAX_CHUNK_BYTES + 1),
    "no data": chunk(0, 0),
    "commit with offset 1": { step: "commit", offset: 1 },
    "commit with data": { step: "commit", data: "AA==" },
    "commit with sources": { step: "commit", sources: {} },
    "commit with file": { step: "commit", file: { path: "/workspace/a" } },
  }, decode);
});
