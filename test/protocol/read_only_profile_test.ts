// The read-only profile: what it must say, and that it says nothing else.
import { assertEquals } from "@std/assert";
import type { Decoded } from "../../src/protocol/decoded.ts";
import { readOnlyProfileRefusal } from "../../src/protocol/read_only_profile.ts";
import { acceptEach, inbound, refuseEach } from "./wire_rows.ts";

const PROFILE = {
  agent_kind: "contract",
  run_id: "",
  workspace_read_only: true,
  agent_state_key: "k",
  local_environment: { id: "e", workspace_directory: "/workspace" },
};

function decode(configuration: unknown): Decoded<true> {
  const payload = { session_id: "s", configuration };
  const reason = readOnlyProfileRefusal(inbound("execution_prepare", payload));
  return reason === undefined
    ? { ok: true, value: true }
    : { ok: false, reason };
}

Deno.test("read-only profile", async (t) => {
  const plus = (members: object) => ({ ...PROFILE, ...members });
  await acceptEach(t, {
    "the profile": PROFILE,
    "without run_id": plus({ run_id: undefined }),
    "null options": plus({
      mcp_http_servers: null,
      execution_controls: null,
      max_concurrent_subagents: null,
    }),
    "empty options": plus({
      input: [],
      agent_options: {},
      function_tools: [],
      tool_search: false,
      agent_session_id: "",
    }),
    "empty retired members": plus({
      conversation_id: "",
      work_dir: "",
      strict_resume: false,
    }),
  }, decode);
  await refuseEach(t, {
    "no local_environment": plus({ local_environment: undefined }),
    "empty agent_state_key": plus({ agent_state_key: "" }),
    "no agent_state_key": plus({ agent_state_key: undefined }),
    "not read-only": plus({ workspace_read_only: false }),
    "disable_execution_environment": plus({
      disable_execution_environment: true,
    }),
    "agent_options": plus({ agent_options: { model: "m" } }),
    "execution_controls": plus({ execution_controls: {} }),
    "mcp_http_servers, empty": plus({ mcp_http_servers: [] }),
    "function_tools": plus({ function_tools: [{ name: "f" }] }),
    "tool_search": plus({ tool_search: true }),
    "observe_messages": plus({ observe_messages: true }),
    "observe_subagent_identities": plus({ observe_subagent_identities: true }),
    "disable_subagents": plus({ disable_subagents: true }),
    "max_concurrent_subagents, zero": plus({ max_concurrent_subagents: 0 }),
    "agent_session_id": plus({ agent_session_id: "n" }),
    "require_existing_native_session": plus({
      require_existing_native_session: true,
    }),
    "run_id": plus({ run_id: "run" }),
    "input": plus({
      input: [{ content: [{ type: "input_text", text: "x" }] }],
    }),
    "conversation_id": plus({ conversation_id: "c" }),
    "work_dir": plus({ work_dir: "/tmp" }),
    "strict_resume": plus({ strict_resume: true }),
    "unknown member": plus({ future_option: 1 }),
    "no configuration": undefined,
    "configuration of the wrong type": [],
  }, decode);
});

Deno.test("a refused profile repeats nothing", () => {
  const decoded = decode({ ...PROFILE, canary: "canary" });
  assertEquals(JSON.stringify(decoded).includes("canary"), false);
});
