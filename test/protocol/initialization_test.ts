// The tables of initializations: variables, packages, commands.
import { assertEquals } from "@std/assert";
import { decodeRuntimePrepare } from "../../src/protocol/runtime_prepare.ts";
import { DIGEST, UUID_A, UUID_B } from "./fixtures.ts";
import {
  acceptEach,
  inbound,
  inboundText,
  refuseEach,
  valueOf,
} from "./wire_rows.ts";

const HEADER = { step: "begin", environment_id: UUID_A, session_id: UUID_B };

const decode = (payload: unknown) =>
  decodeRuntimePrepare(inbound("runtime_prepare", payload));
const initialize = (initialization: object, members: object = {}) => ({
  ...HEADER,
  action: "initialize",
  initialization,
  ...members,
});
const names = (count: number, prefix = "/d") =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

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
