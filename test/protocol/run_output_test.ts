// Output frames: the classification of failures, usage, done, tool calls.
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  decodeDone,
  decodeRunError,
  decodeUsage,
  ENGINE_FAILURE_CODES,
  normaliseFailure,
} from "../../src/protocol/run_output.ts";
import { runtimeFrame } from "../../src/protocol/frames.ts";
import { decodeToolCall } from "../../src/protocol/tool_call.ts";
import { acceptEach, inbound, refuseEach, valueOf } from "./wire_rows.ts";

Deno.test("failures keep their code and lose what is malformed", async (t) => {
  const kept = (http_status: unknown) => ({
    code: "connection_failed",
    http_status,
  });
  const code = { code: "connection_failed" };
  const rows: Readonly<Record<string, readonly [object, object]>> = {
    "status 100": [kept(100), kept(100)],
    "status 429": [kept(429), kept(429)],
    "status 503": [kept(503), kept(503)],
    "status 599": [kept(599), kept(599)],
    "status 99": [kept(99), code],
    "status 600": [kept(600), code],
    "status 0": [kept(0), code],
    "status 503.5": [kept(503.5), code],
    "status as text": [kept("503"), code],
    "status true": [kept(true), code],
    "status object": [kept({}), code],
    "status null": [kept(null), code],
    "no status": [code, code],
    "server_error with status": [
      { code: "server_error", http_status: 503 },
      { code: "server_error" },
    ],
    "unknown code": [{ code: "future_code", http_status: 503 }, {}],
    "number as code": [{ code: 7, http_status: 503 }, {}],
    "null code": [{ code: null, http_status: 503 }, {}],
    "status alone": [{ http_status: 503 }, {}],
    "unknown member": [{ detail: "x" }, {}],
  };
  for (const [name, [metadata, expected]] of Object.entries(rows)) {
    await t.step(`received: ${name}`, () => {
      const payload = { error: "e", ...metadata };
      assertEquals<unknown>(
        valueOf(decodeRunError(inbound("error", payload))),
        {
          error: "e",
          ...expected,
        },
      );
    });
    await t.step(`sent: ${name}`, () => {
      const payload = { error: "e", ...metadata };
      assertEquals(runtimeFrame("error", "run", payload).payload, {
        error: "e",
        ...expected,
      });
    });
  }
});

Deno.test("every failure code is kept", async (t) => {
  assertEquals(ENGINE_FAILURE_CODES.length, 11);
  for (const code of ENGINE_FAILURE_CODES) {
    await t.step(code, () => {
      assertEquals(normaliseFailure({ code }), { code });
    });
  }
});

Deno.test("only an error text of the wrong type is undecodable", async (t) => {
  const decode = (payload: unknown) =>
    decodeRunError(inbound("error", payload));
  await acceptEach(t, { "text": { error: "" } }, decode);
  await refuseEach(t, {
    "number": { error: 1 },
    "list": { error: [] },
    "payload is a list": [],
  }, decode);
});

Deno.test("normalising twice changes nothing, and any metadata is safe", () => {
  fc.assert(fc.property(
    fc.oneof(fc.constantFrom(...ENGINE_FAILURE_CODES), fc.jsonValue()),
    fc.oneof(fc.integer({ min: 90, max: 610 }), fc.jsonValue()),
    (code, http_status) => {
      const once = normaliseFailure({ code, http_status });
      assertEquals(normaliseFailure(once), once);
    },
  ));
});

const TOKENS = {
  input_tokens: 0,
  cached_input_tokens: 0,
  output_tokens: 0,
  reasoning_output_tokens: 0,
  total_tokens: 0,
};

Deno.test("usage", async (t) => {
  const decode = (payload: unknown) => decodeUsage(inbound("usage", payload));
  await acceptEach(
    t,
    {
      "members at the top": {
        provider: "anthropic",
        model: "m",
        input_tokens: 100,
      },
      "zero counters": { tokens: TOKENS },
      "nothing measured": {},
      "raw evidence": { raw: { anything: [1] } },
    },
    decode,
    (value, row) => assertEquals<unknown>(value, row),
  );
  await refuseEach(t, {
    "incomplete counters": { tokens: { ...TOKENS, total_tokens: undefined } },
    "counter as text": { tokens: { ...TOKENS, total_tokens: "1" } },
    "input tokens over 32 bits": { input_tokens: 2 ** 31 },
    "raw that is no object": { raw: [1] },
    "undeclared member": { total: 1 },
  }, decode);
});

Deno.test("done", async (t) => {
  const decode = (payload: unknown) => decodeDone(inbound("done", payload));
  await acceptEach(t, {
    "empty": { content: "" },
    "time zero": { source_completed_at_ms: 0, content: "" },
    "metadata": {
      content: "",
      metadata: { agent_session_id: "n", other: { a: 1 } },
    },
    "zeros written": { content: "", transcript: "", usage: {}, metadata: {} },
  }, decode);
  await refuseEach(t, {
    "no content": {},
    "no payload": undefined,
    "content is a number": { content: 1 },
    "undeclared member": { content: "", status: "ok" },
    "undeclared member of usage": { content: "", usage: { total: 1 } },
  }, decode);
});

/** A tool call that ended, with the observation. */
function after(observation: object): object {
  return { observation, id: "t", name: "n", stage: "after" };
}

Deno.test("tool calls", async (t) => {
  const decode = (payload: unknown) =>
    decodeToolCall(inbound("tool_call", payload));
  const command = { kind: "command", status: "completed", command: "pwd" };
  await acceptEach(
    t,
    {
      "command before": {
        ...after({ ...command, status: "in_progress" }),
        stage: "before",
      },
      "command after": after({
        ...command,
        cwd: "/workspace",
        exit_code: 0,
        duration_ms: 12,
        output: "/workspace\n",
      }),
      "MCP with nulls": after({
        kind: "mcp",
        status: "failed",
        name: "echo",
        server: "fixture",
        arguments: { value: 7 },
        output: null,
        error: null,
      }),
      "function with content": after({
        kind: "function",
        status: "completed",
        name: "apply_patch",
        arguments: { changes: null },
        content: [{ type: "input_text", text: "" }],
      }),
      "web search": after({
        kind: "web_search",
        status: "completed",
        action: { type: "search", queries: ["q"], query: "" },
      }),
      "no observation": { id: "t", name: "n", stage: "before", args: { x: 1 } },
      "output of 2 MiB": after({ ...command, output: "x".repeat(2 ** 21) }),
    },
    decode,
    (value, row) => assertEquals<unknown>(value, row),
  );
  await refuseEach(t, {
    "undeclared member": {
      id: "tool",
      name: "n",
      stage: "after",
      native_item: { type: "commandExecution" },
    },
    "undeclared member of the observation": after({ ...command, pid: 1 }),
    "undeclared member of a part": after({
      kind: "function",
      status: "completed",
      content: [{ type: "input_text", text: "", cached: true }],
    }),
    "undeclared member of the action": after({
      kind: "web_search",
      status: "completed",
      action: { type: "search", engine: "x" },
    }),
    "malformed part": after({
      kind: "function",
      status: "completed",
      content: [{ type: "input_text" }],
    }),
    "unknown kind": after({ kind: "edit", status: "completed" }),
    "unknown status": after({ ...command, status: "declined" }),
    "unknown action": after({
      kind: "web_search",
      status: "completed",
      action: { type: "click" },
    }),
    "command without command": after({ kind: "command", status: "completed" }),
    "MCP without server": after({ kind: "mcp", status: "completed" }),
    "ended before it ran": { ...after(command), stage: "before" },
    "unknown stage": { ...after(command), stage: "during" },
    "no id": { name: "n", stage: "after" },
    "no name": { id: "t", stage: "after" },
    "args are a list": { id: "t", name: "n", stage: "after", args: [1] },
  }, decode);
});
