/** Each row is a lie that a frame can tell about a Run or a handle; each one ends the session. */
import { assertEquals } from "@std/assert";
import type { Configuration } from "../../src/protocol/configuration.ts";
import type { CapabilityName } from "../../src/protocol/capabilities.ts";
import { soon } from "../contract/controlled_harness.ts";
import type { ScriptedRuntime } from "../contract/scripted_runtime.ts";
import { Lab, type Prepared, type Started } from "./lab.ts";

const tool = { name: "f", description: "", parameters: {} };

function send(
  runtime: ScriptedRuntime,
  type: string,
  payload?: unknown,
  id = "run",
): void {
  runtime.send({ type, id, ...(payload === undefined ? {} : { payload }) });
}

interface RunRow {
  readonly lie: string;
  readonly members?: Partial<Configuration>;
  readonly unsupported?: readonly CapabilityName[];
  tell(started: Started): void;
}

const text = [{ content: [{ type: "input_text" as const, text: "x" }] }];
const call = { call_id: "c", name: "f", arguments: {} };
const ask = { request_id: "a", tool: "t", title: "T" };

const runRows: readonly RunRow[] = [
  {
    lie: "output after done",
    tell({ runtime }) {
      send(runtime, "done", { content: "" });
      send(runtime, "delta", { delta: "x", sequence: 1 });
    },
  },
  {
    lie: "a second done",
    tell({ runtime }) {
      send(runtime, "done", { content: "" });
      send(runtime, "done", { content: "" });
    },
  },
  {
    lie: "output after an applied cancellation",
    tell({ runtime, session }) {
      void session.cancel("run");
      send(runtime, "interaction_decision_ack", {
        delivery_id: "cancel:run",
        applied: true,
        outcome: { content: "" },
      });
      send(runtime, "done", { content: "" });
    },
  },
  {
    lie: "a second error",
    tell({ runtime }) {
      send(runtime, "error", { error: "x" });
      send(runtime, "error", { error: "x" });
    },
  },
  {
    lie: "output of a Run that was never started",
    tell: ({ runtime }) =>
      send(runtime, "delta", { delta: "x", sequence: 1 }, "other"),
  },
  {
    lie: "a delta whose sequence does not rise",
    tell({ runtime }) {
      send(runtime, "delta", { delta: "x", sequence: 2 });
      send(runtime, "delta", { delta: "x", sequence: 2 });
    },
  },
  {
    lie: "a thinking sequence that falls",
    tell({ runtime }) {
      send(runtime, "thinking", { text: "x", sequence: 2 });
      send(runtime, "thinking", { text: "x", sequence: 1 });
    },
  },
  {
    lie: "message items that were not asked for",
    tell: ({ runtime }) =>
      send(runtime, "delta", { delta: "x", sequence: 1, item_id: "m" }),
  },
  {
    lie: "a message frame that was not asked for",
    tell: ({ runtime }) =>
      send(runtime, "output_message", { id: "m", status: "in_progress" }),
  },
  {
    lie: "text for a completed message",
    members: { observe_messages: true },
    tell({ runtime }) {
      send(runtime, "output_message", {
        id: "m",
        status: "completed",
        text: "",
      });
      send(runtime, "delta", { delta: "x", sequence: 1, item_id: "m" });
    },
  },
  {
    lie: "a message that completes twice",
    members: { observe_messages: true },
    tell({ runtime }) {
      const done = { id: "m", status: "completed", text: "" };
      send(runtime, "output_message", done);
      send(runtime, "output_message", done);
    },
  },
  {
    lie: "a tool call that goes on after its end",
    tell({ runtime }) {
      send(runtime, "tool_call", { id: "t", name: "n", stage: "after" });
      send(runtime, "tool_call", { id: "t", name: "n", stage: "before" });
    },
  },
  {
    lie: "a call of an undeclared function",
    tell: ({ runtime }) => send(runtime, "function_call", call),
  },
  {
    lie: "a call id that is used twice",
    members: { function_tools: [tool] },
    tell({ runtime }) {
      send(runtime, "function_call", call);
      send(runtime, "function_call", call);
    },
  },
  {
    lie: "a permission request without the capability",
    unsupported: ["permissions"],
    tell: ({ runtime }) => send(runtime, "permission_request", ask),
  },
  {
    lie: "a user choice without the capability",
    unsupported: ["permissions"],
    tell: ({ runtime }) =>
      send(runtime, "prompt_for_user_choice", { ask_id: "a", questions: [] }),
  },
  {
    lie: "an interaction that is pending already",
    tell({ runtime }) {
      send(runtime, "permission_request", ask);
      send(runtime, "permission_request", ask);
    },
  },
  {
    lie: "a subagent that was not asked for",
    tell: ({ runtime }) =>
      send(runtime, "subagent_lifecycle", {
        native_id: "n",
        effect_id: "e",
        status: "closed",
        occurred_at_ms: 1,
      }),
  },
  {
    lie: "an input accepted before it was written",
    tell({ runtime, session }) {
      session.steer("run", "1", text);
      send(runtime, "prompt_steer_ack", { input_id: "1", accepted: true });
    },
  },
  {
    lie: "an input accepted and then refused",
    tell({ runtime, session }) {
      session.steer("run", "1", text);
      send(runtime, "prompt_steer_ack", {
        input_id: "1",
        accepted: false,
        written: true,
      });
      send(runtime, "prompt_steer_ack", { input_id: "1", accepted: true });
      send(runtime, "prompt_steer_ack", {
        input_id: "1",
        accepted: false,
        error_code: "rejected",
      });
    },
  },
  {
    lie: "an input receipt that states two facts",
    tell({ runtime, session }) {
      session.steer("run", "1", text);
      send(runtime, "prompt_steer_ack", {
        input_id: "1",
        accepted: true,
        written: true,
      });
    },
  },
  {
    lie: "done before a written input's last receipt",
    tell({ runtime, session }) {
      session.steer("run", "1", text);
      send(runtime, "prompt_steer_ack", {
        input_id: "1",
        accepted: false,
        written: true,
      });
      send(runtime, "done", { content: "" });
    },
  },
  {
    lie: "an applied cancellation without an outcome",
    tell({ runtime, session }) {
      void session.cancel("run");
      send(runtime, "interaction_decision_ack", {
        delivery_id: "cancel:run",
        applied: true,
      });
    },
  },
  {
    lie: "a decision receipt with an outcome",
    members: { function_tools: [tool] },
    tell({ runtime, session }) {
      send(runtime, "function_call", call);
      void session.functionResult("run", {
        call_id: "c",
        success: true,
        content: [],
      });
      send(runtime, "interaction_decision_ack", {
        delivery_id: "function:c",
        applied: true,
        outcome: { content: "" },
      });
    },
  },
  {
    lie: "a receipt that is applied and refused",
    tell({ runtime, session }) {
      void session.cancel("run");
      send(runtime, "interaction_decision_ack", {
        delivery_id: "cancel:run",
        applied: true,
        error_code: "cancel_failed",
      });
    },
  },
];

for (const row of runRows) {
  Deno.test(`${row.lie} ends the session`, async () => {
    await using lab = await Lab.open({ unsupported: row.unsupported ?? [] });
    const started = await lab.started(row.members);
    row.tell(started);
    assertEquals(
      (await soon("the end of the session", started.session.ended)).reason,
      "violation",
    );
  });
}

interface StatusRow {
  readonly lie: string;
  tell(prepared: Prepared): void;
}

function status(
  runtime: ScriptedRuntime,
  members: Readonly<Record<string, unknown>>,
): void {
  send(runtime, "preparation_status", {
    executor_id: "executor",
    handle: "handle",
    expires_at: 18e11,
    ...members,
  }, "prepare");
}

const statusRows: readonly StatusRow[] = [
  {
    lie: "a start that was never sent",
    tell: ({ runtime }) =>
      status(runtime, { revision: 3, state: "starting", run_id: "run" }),
  },
  {
    lie: "a start under another Run id",
    tell({ runtime, session, preparation }) {
      session.start(preparation, { runId: "run", input: text });
      status(runtime, { revision: 3, state: "starting", run_id: "other" });
    },
  },
  {
    lie: "a release that was never sent",
    tell: ({ runtime }) => status(runtime, { revision: 3, state: "released" }),
  },
  {
    lie: "preparing after ready",
    tell: ({ runtime }) => status(runtime, { revision: 3, state: "preparing" }),
  },
  {
    lie: "another executor under the same handle",
    tell: ({ runtime }) =>
      status(runtime, { revision: 3, state: "expired", executor_id: "other" }),
  },
  {
    lie: "a deadline that moved",
    tell: ({ runtime }) =>
      status(runtime, { revision: 3, state: "expired", expires_at: 19e11 }),
  },
  {
    lie: "a handle without its deadline",
    tell: ({ runtime }) =>
      status(runtime, { revision: 3, state: "expired", expires_at: 0 }),
  },
  {
    lie: "an expired handle that has a Run",
    tell: ({ runtime }) =>
      status(runtime, { revision: 3, state: "expired", run_id: "run" }),
  },
  {
    lie: "a status without a handle",
    tell: ({ runtime }) =>
      status(runtime, { revision: 3, state: "expired", handle: "" }),
  },
  {
    lie: "revision 0 of a handle",
    tell: ({ runtime }) => status(runtime, { revision: 0, state: "expired" }),
  },
  {
    lie: "a failure without a known code",
    tell: ({ runtime }) =>
      status(runtime, { revision: 3, state: "failed", error_code: "oops" }),
  },
  {
    lie: "a rejection without an operation",
    tell: ({ runtime }) =>
      status(runtime, {
        revision: 0,
        state: "rejected",
        error_code: "invalid_start",
      }),
  },
  {
    lie: "a rejection with a code of another operation",
    tell: ({ runtime }) =>
      status(runtime, {
        revision: 0,
        state: "rejected",
        error_code: "invalid_start",
        operation: "execution_prepare",
      }),
  },
  {
    lie: "a rejection with a revision",
    tell: ({ runtime }) =>
      status(runtime, {
        revision: 3,
        state: "rejected",
        error_code: "invalid_start",
        operation: "execution_start",
      }),
  },
];

for (const row of statusRows) {
  Deno.test(`${row.lie} ends the session`, async () => {
    await using lab = await Lab.open();
    const prepared = await lab.prepared();
    row.tell(prepared);
    assertEquals(
      (await soon("the end of the session", prepared.session.ended)).reason,
      "violation",
    );
  });
}
