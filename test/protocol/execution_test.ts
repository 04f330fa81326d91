// The admission family: what start, release and prepare need, and which statuses hang together.
import { assertEquals } from "@std/assert";
import {
  decodeExecutionPrepare,
  decodeExecutionRelease,
  decodeExecutionStart,
  decodePreparationStatus,
} from "../../src/protocol/execution.ts";
import { acceptEach, inbound, refuseEach, valueOf } from "./wire_rows.ts";

const START = {
  executor_id: "e",
  handle: "h",
  run_id: "run",
  input: [{ content: [{ type: "input_text", text: "hello" }] }],
};

Deno.test("execution_prepare is refused only for its shape and its id", async (t) => {
  const decode = (payload: unknown) =>
    decodeExecutionPrepare(inbound("execution_prepare", payload));
  const prepare = (configuration: unknown) => ({
    session_id: "s",
    configuration,
  });
  await acceptEach(t, {
    "minimal": prepare({ agent_kind: "contract", run_id: "" }),
    "blank session, judged later": { configuration: {} },
    "Run id, judged later": prepare({ run_id: "r" }),
    "unknown agent option, judged later": prepare({ agent_options: { x: 1 } }),
  }, decode);
  await refuseEach(t, {
    "no payload": undefined,
    "no configuration": { session_id: "s" },
    "configuration is a list": prepare([]),
    "kind is a number": prepare({ agent_kind: 1 }),
    "options are a list": prepare({ agent_options: [1] }),
    "flag is a text": prepare({ tool_search: "true" }),
    "subagent limit is a fraction": prepare({ max_concurrent_subagents: 1.5 }),
    "function without parameters": prepare({
      function_tools: [{ name: "f", description: "" }],
    }),
    "tools are a text": prepare({
      mcp_http_servers: [{ allowed_tools: "all" }],
    }),
  }, decode);
  for (const id of ["", " ", "\u0085"]) {
    await t.step(`refuses: request id ${JSON.stringify(id)}`, () => {
      const envelope = inbound("execution_prepare", prepare({}), id);
      assertEquals(decodeExecutionPrepare(envelope).ok, false);
    });
  }
});

Deno.test("the retired members of a configuration leave no trace", () => {
  const decoded = valueOf(decodeExecutionPrepare(inbound("execution_prepare", {
    session_id: "s",
    configuration: {
      agent_kind: "contract",
      conversation_id: "",
      run_id: "",
      work_dir: 7,
      strict_resume: true,
      workspace_authoring: {},
    },
  })));
  assertEquals(decoded, {
    session_id: "s",
    configuration: { agent_kind: "contract", run_id: "" },
  });
});

Deno.test("execution_start", async (t) => {
  const decode = (payload: unknown) =>
    decodeExecutionStart(inbound("execution_start", payload));
  await acceptEach(t, { "complete": START }, decode);
  await refuseEach(t, {
    "no payload": undefined,
    "empty executor": { ...START, executor_id: "" },
    "no executor": { ...START, executor_id: undefined },
    "empty handle": { ...START, handle: "" },
    "blank run": { ...START, run_id: " \n" },
    "no run": { ...START, run_id: undefined },
    "no input": { ...START, input: undefined },
    "empty input": { ...START, input: [] },
    "input without content": { ...START, input: [{ content: [] }] },
    "input is a text": { ...START, input: "hello" },
    "handle is a number": { ...START, handle: 1 },
  }, decode);
});

Deno.test("execution_release", async (t) => {
  const decode = (payload: unknown) =>
    decodeExecutionRelease(inbound("execution_release", payload));
  await acceptEach(t, { "handle": { handle: "h" } }, decode);
  await refuseEach(t, {
    "no payload": undefined,
    "empty handle": { handle: "" },
    "null handle": { handle: null },
    "number": { handle: 1 },
  }, decode);
});

Deno.test("statuses", async (t) => {
  const decode = (payload: unknown) =>
    decodePreparationStatus(inbound("preparation_status", payload));
  const status = (state: string, members: object = {}) => ({
    executor_id: "e",
    handle: "h",
    revision: 2,
    state,
    expires_at: 1_800_000_000_000,
    ...members,
  });
  const rejected = {
    revision: 0,
    state: "rejected",
    error_code: "unsupported_configuration",
    operation: "execution_prepare",
  };
  await acceptEach(t, {
    "preparing": status("preparing", { revision: 1 }),
    "ready": status("ready"),
    "ready, reused": status("ready", { revision: 1, reused: true }),
    "ready, read-only": status("ready", { executor_id: undefined }),
    "starting": status("starting", { run_id: "run" }),
    "started": status("started", { run_id: "run" }),
    "released": status("released"),
    "expired": status("expired"),
    "failed": status("failed", { error_code: "preparation_failed" }),
    "rejected prepare": rejected,
    "rejected start with identities": {
      ...rejected,
      handle: "h",
      executor_id: "e",
      error_code: "executor_unavailable",
      operation: "execution_start",
    },
    "rejected release": {
      ...rejected,
      error_code: "invalid_release",
      operation: "execution_release",
    },
    "zeros written": status("ready", { reused: false, error_code: "" }),
  }, decode);
  await refuseEach(t, {
    "no revision": status("ready", { revision: undefined }),
    "revision 0 of a handle": status("ready", { revision: 0 }),
    "negative revision": status("ready", { revision: -1 }),
    "no handle": status("ready", { handle: undefined }),
    "unknown state": status("done"),
    "started without run": status("started"),
    "ready with run": status("ready", { run_id: "run" }),
    "ready with code": status("ready", { error_code: "run_conflict" }),
    "ready with operation": status("ready", { operation: "execution_start" }),
    "failed without code": status("failed"),
    "released with code": status("released", {
      error_code: "cleanup_unconfirmed",
    }),
    "rejected with revision": { ...rejected, revision: 1 },
    "rejected without code": { ...rejected, error_code: undefined },
    "rejected without operation": { ...rejected, operation: undefined },
    "code in own words": { ...rejected, error_code: "detail" },
    "unknown operation": { ...rejected, operation: "prompt_request" },
    "undeclared member": status("ready", { detail: 1 }),
  }, decode);
});

/** Every code by what it answers; `failed` is the state of a handle. */
const CODES = {
  execution_prepare: [
    "invalid_request",
    "invalid_configuration",
    "unsupported_configuration",
    "unsupported_preparation",
    "unsupported_read_preparation",
    "resource_unavailable",
    "request_conflict",
    "preparation_capacity",
    "executor_capacity",
    "session_binding_conflict",
    "configuration_conflict",
    "native_session_conflict",
    "history_unavailable",
    "executor_cleanup_unconfirmed",
  ],
  execution_start: [
    "invalid_start",
    "resource_unavailable",
    "unknown_preparation",
    "read_only_preparation",
    "unknown_executor",
    "start_conflict",
    "preparation_not_ready",
    "run_conflict",
    "executor_unavailable",
    "executor_cleanup_unconfirmed",
    "start_cancelled",
  ],
  execution_release: ["invalid_release", "unknown_preparation"],
  failed: [
    "preparation_failed",
    "executor_cleanup_unconfirmed",
    "executor_unavailable",
    "start_cancelled",
    "cleanup_unconfirmed",
    "status_delivery_failed",
    "connection_closed",
  ],
};

Deno.test("a code answers only what it belongs to", async (t) => {
  const every = new Set(Object.values(CODES).flat());
  for (const [subject, codes] of Object.entries(CODES)) {
    for (const error_code of every) {
      const belongs = codes.includes(error_code);
      await t.step(
        `${error_code} ${belongs ? "of" : "not of"} ${subject}`,
        () => {
          const status = subject === "failed"
            ? { handle: "h", revision: 2, state: "failed", error_code }
            : {
              revision: 0,
              state: "rejected",
              error_code,
              operation: subject,
            };
          const envelope = inbound("preparation_status", status);
          assertEquals(decodePreparationStatus(envelope).ok, belongs);
        },
      );
    }
  }
});
