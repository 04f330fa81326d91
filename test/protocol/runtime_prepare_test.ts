// The tables of `runtime_prepare`: each step with what it may and may not carry.
import { assertEquals } from "@std/assert";
import {
  MAX_CHUNK_BYTES,
  MAX_TRANSFER_BYTES,
} from "../../src/protocol/limits.ts";
import { decodeRuntimePrepare } from "../../src/protocol/runtime_prepare.ts";
import { DIGEST, UUID_A, UUID_B } from "./fixtures.ts";
import {
  acceptEach,
  inbound,
  inboundText,
  refuseEach,
  valueOf,
} from "./wire_rows.ts";

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
const initialize = (initialization: object, members: object = {}) => ({
  ...HEADER,
  action: "initialize",
  initialization,
  ...members,
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

Deno.test("initialize", async (t) => {
  const setup = { action: "setup", command: "echo done" };
  const variables = (count: number) =>
    Object.fromEntries(names(count, "V").map((name) => [name, ""]));
  await acceptEach(t, {
    "configure": initialize({ action: "configure", env: { EXAMPLE: "value" } }),
    "configure nothing": initialize({ action: "configure" }),
    "configure 1,000": initialize({
      action: "configure",
      env: variables(1000),
    }),
    "configure with a line break": initialize({
      action: "configure",
      env: { A: "x\ny" },
    }),
    "npm": initialize({ action: "npm", packages: ["typescript"] }),
    "python": initialize({ action: "python", packages: ["requests"] }),
    "1,000 packages": initialize({ action: "npm", packages: names(1000, "p") }),
    "setup": initialize(setup),
    "setup of two lines": initialize({ action: "setup", command: "a\r\nb" }),
    "setup in a folder": initialize({ ...setup, cwd: "/workspace/project" }),
    "setup in the root": initialize({ ...setup, cwd: "/workspace" }),
    "network enabled": initialize({ ...setup, network: "enabled" }),
  }, decode);
  await refuseEach(t, {
    "plus file": initialize(setup, { file: { path: "/workspace/a" } }),
    "plus size 1": initialize(setup, { size_bytes: 1 }),
    "plus sha256": initialize(setup, { sha256: DIGEST }),
    "plus data": initialize(setup, { data: "AA==" }),
    "action exec": initialize({ action: "exec", command: "x" }),
    "action system": initialize({ action: "system", packages: ["git"] }),
    "no action": initialize({ command: "x" }),
    "configure with packages": initialize({
      action: "configure",
      packages: ["a"],
    }),
    "configure with command": initialize({ action: "configure", command: "a" }),
    "env name with =": initialize({ action: "configure", env: { "A=B": "" } }),
    "empty env name": initialize({ action: "configure", env: { "": "" } }),
    "env name with LF": initialize({ action: "configure", env: { "A\n": "" } }),
    "env value with NUL": initialize({ action: "configure", env: { A: "\0" } }),
    "env value that is no text": initialize({
      action: "configure",
      env: { A: 1 },
    }),
    "1,001 variables": initialize({
      action: "configure",
      env: variables(1001),
    }),
    "python option": initialize({ action: "python", packages: ["--help"] }),
    "no package": initialize({ action: "npm", packages: [] }),
    "packages absent": initialize({ action: "npm" }),
    "empty package": initialize({ action: "npm", packages: [""] }),
    "package with LF": initialize({ action: "npm", packages: ["a\n"] }),
    "1,001 packages": initialize({ action: "npm", packages: names(1001, "p") }),
    "npm with env": initialize({ action: "npm", packages: ["a"], env: {} }),
    "cwd outside": initialize({ ...setup, cwd: "/environment" }),
    "cwd with parent": initialize({ ...setup, cwd: "/workspace/../private" }),
    "setup without command": initialize({ action: "setup" }),
    "command with NUL": initialize({ action: "setup", command: "a\0" }),
    "setup with empty env": initialize({ ...setup, env: {} }),
    "setup with empty packages": initialize({ ...setup, packages: [] }),
    "network disabled": initialize({ ...setup, network: "disabled" }),
  }, decode);
});

Deno.test("a variable may have any name, also the prototype's", () => {
  const text = `{"type":"runtime_prepare","id":"t","payload":{"step":"begin",` +
    `"environment_id":"${UUID_A}","session_id":"${UUID_B}","action":` +
    `"initialize","initialization":{"action":"configure","env":{"__proto__":"x"}}}}`;
  const decoded = valueOf(decodeRuntimePrepare(inboundText(text)));
  assertEquals(
    JSON.stringify(decoded).includes('"env":{"__proto__":"x"}'),
    true,
  );
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
