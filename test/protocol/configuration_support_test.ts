// Whether a configuration is supported by a declaration: one rule, one row.
import { assertEquals } from "@std/assert";
import type { CapabilityName } from "../../src/protocol/capabilities.ts";
import { checkConfigurationSupport } from "../../src/protocol/configuration_support.ts";
import { decodeExecutionPrepare } from "../../src/protocol/execution.ts";
import {
  CONTROLS,
  EVERYTHING,
  judge,
  judgeText,
  LOCAL,
  mcp,
  type Members,
  NONE,
  SERVER,
  TOOL,
} from "./configurations.ts";
import { supporting } from "./declarations.ts";
import { acceptEach, inboundText, refuseEach, valueOf } from "./wire_rows.ts";

Deno.test("exactly one Environment choice", async (t) => {
  await acceptEach(t, { none: NONE, local: LOCAL }, judge);
  await refuseEach(t, {
    neither: {},
    both: { ...NONE, ...LOCAL },
    "disable false": { disable_execution_environment: false },
    "local null": { local_environment: null },
  }, judge);
});

Deno.test("an asked option needs its own capability", async (t) => {
  const rows: readonly (readonly [CapabilityName, Members])[] = [
    ["environment_none", NONE],
    ["local_environment", LOCAL],
    ["workspace_read_preparation", { ...LOCAL, workspace_read_only: true }],
    ["native_session_recovery", {
      ...NONE,
      require_existing_native_session: true,
    }],
    ["message_items", { ...NONE, observe_messages: true }],
    ["subagent_observations", { ...NONE, observe_subagent_identities: true }],
    ["subagent_control", { ...NONE, disable_subagents: true }],
    ["execution_controls", { ...NONE, execution_controls: CONTROLS }],
    ["web_search_control", {
      ...NONE,
      execution_controls: { ...CONTROLS, web_search: "live" },
    }],
    ["text_verbosity", {
      ...NONE,
      execution_controls: { ...CONTROLS, text_verbosity: "low" },
    }],
    ["structured_output", {
      ...NONE,
      execution_controls: {
        ...CONTROLS,
        output_format: { type: "json_schema", schema: { type: "object" } },
      },
    }],
    ["programmatic_tool_calling_disable", {
      ...NONE,
      execution_controls: {
        ...CONTROLS,
        disable_programmatic_tool_calling: true,
      },
    }],
    ["function_tools", { ...NONE, function_tools: [TOOL] }],
    ["tool_search", {
      ...NONE,
      tool_search: true,
      function_tools: [{ ...TOOL, defer_loading: true }],
    }],
    ["mcp_http_tools", { ...NONE, mcp_http_servers: [SERVER] }],
    ["mcp_http_tools", { ...NONE, mcp_http_servers: [] }],
    ["mcp_http_required", {
      ...NONE,
      mcp_http_servers: [{ ...SERVER, required: true }],
    }],
    ["mcp_http_bearer_auth", {
      ...NONE,
      mcp_http_servers: [{ ...SERVER, bearer_token: "t" }],
    }],
  ];
  for (const [name, members] of rows) {
    await t.step(`${name} for ${JSON.stringify(members).slice(0, 60)}`, () => {
      assertEquals(judge(members).ok, true);
      const without = { ...EVERYTHING, [name]: "unsupported" } as const;
      assertEquals(judge(members, without).ok, false);
    });
  }
});

Deno.test("neutral values ask for nothing", async (t) => {
  const bare = supporting("environment_none", "execution_controls");
  await acceptEach(t, {
    "defaults of the controls": { ...NONE, execution_controls: CONTROLS },
    "programmatic calling left alone": {
      ...NONE,
      execution_controls: {
        ...CONTROLS,
        disable_programmatic_tool_calling: false,
      },
    },
    "empty lists and false flags": {
      ...NONE,
      function_tools: [],
      tool_search: false,
      observe_messages: false,
      agent_options: {},
    },
    "a native Session id": { ...NONE, agent_session_id: "native" },
    "retired members": {
      ...NONE,
      conversation_id: "c",
      work_dir: "/tmp",
      strict_resume: true,
      release_on_completion: true,
      observe_tools: true,
      observe_tool_observations: true,
      workspace_authoring: true,
    },
  }, (members: Members) => judge(members, bare));
});

Deno.test("controls are complete when they are there", async (t) => {
  await refuseEach(t, {
    "no web search": { ...NONE, execution_controls: { text_verbosity: "low" } },
    "no verbosity": { ...NONE, execution_controls: { web_search: "disabled" } },
    "unknown output format": {
      ...NONE,
      execution_controls: {
        ...CONTROLS,
        output_format: { type: "text", schema: {} },
      },
    },
  }, judge);
});

Deno.test("tool search and deferred functions", async (t) => {
  const deferred = { ...TOOL, defer_loading: true };
  const plain = supporting("environment_none", "function_tools");
  await acceptEach(t, {
    "neither, without the capability": { ...NONE, function_tools: [TOOL] },
  }, (members: Members) => judge(members, plain));
  await acceptEach(t, {
    "neither": { ...NONE, function_tools: [TOOL] },
    "both": { ...NONE, tool_search: true, function_tools: [TOOL, deferred] },
  }, judge);
  await refuseEach(t, {
    "search without the capability": { ...NONE, tool_search: true },
    "deferred without the capability": { ...NONE, function_tools: [deferred] },
    "both without the capability": {
      ...NONE,
      tool_search: true,
      function_tools: [deferred],
    },
  }, (members: Members) => judge(members, plain));
  await refuseEach(t, {
    "search alone": { ...NONE, tool_search: true, function_tools: [TOOL] },
    "deferred alone": { ...NONE, function_tools: [deferred] },
  }, judge);
});

Deno.test("observed subagents stand alone", async (t) => {
  const observed = { ...NONE, observe_subagent_identities: true };
  await acceptEach(t, {
    "observed": observed,
    "with a limit": { ...observed, max_concurrent_subagents: 1 },
    "limit zero while not observed": { ...NONE, max_concurrent_subagents: 0 },
  }, judge);
  await refuseEach(t, {
    "with functions": { ...observed, function_tools: [TOOL] },
    "with MCP servers": { ...observed, mcp_http_servers: [SERVER] },
    "observed and disabled": { ...observed, disable_subagents: true },
    "limit zero": { ...observed, max_concurrent_subagents: 0 },
    "negative limit": { ...NONE, max_concurrent_subagents: -1 },
  }, judge);
});

Deno.test("only an absent or open network policy is taken", async (t) => {
  const policy = (members: Members) => ({
    local_environment: { ...LOCAL.local_environment as Members, ...members },
  });
  await acceptEach(t, {
    "absent": LOCAL,
    "empty": policy({ network_access: "", allowed_domains: [] }),
    "enabled": policy({ network_access: "enabled", allowed_domains: [] }),
  }, judge);
  await refuseEach(t, {
    "disabled": policy({ network_access: "disabled" }),
    "restricted": policy({
      network_access: "restricted",
      allowed_domains: ["a.test"],
    }),
    "domains alone": policy({ allowed_domains: ["a.test"] }),
    "enabled with domains": policy({
      network_access: "enabled",
      allowed_domains: ["a.test"],
    }),
  }, judge);
});

Deno.test("a schema whose numbers would change is refused", async (t) => {
  const withTool = (schema: string) =>
    `{"disable_execution_environment":true,"function_tools":[{"name":"f",` +
    `"description":"9007199254740993","parameters":${schema}}]}`;
  const withFormat = (schema: string) =>
    `{"disable_execution_environment":true,"execution_controls":{` +
    `"web_search":"disabled","text_verbosity":"medium","output_format":` +
    `{"type":"json_schema","schema":${schema}}}}`;
  await acceptEach(t, {
    "function": withTool('{"maximum":9007199254740992}'),
    "output format": withFormat('{"const":0.1}'),
    "number inside a text": withTool('{"const":"9007199254740993"}'),
  }, judgeText);
  await refuseEach(t, {
    "function": withTool('{"maximum":9007199254740993}'),
    "output format": withFormat('{"const":1e1000}'),
  }, judgeText);
});

Deno.test("what cannot be looked up in the received text is refused", () => {
  const rows = [
    { ...NONE, agent_options: { harness_config: {} } },
    { ...NONE, function_tools: [TOOL] },
  ];
  for (const row of rows) {
    const envelope = inboundText(JSON.stringify({
      type: "execution_prepare",
      id: "p",
      payload: { session_id: "s", configuration: row },
    }));
    const { configuration } = valueOf(decodeExecutionPrepare(envelope));
    const judged = (source: string) =>
      checkConfigurationSupport({
        configuration,
        source,
        declaration: EVERYTHING,
      }).ok;
    assertEquals(judged(envelope.source), true);
    assertEquals(judged("{}"), false);
  }
});

Deno.test("a refusal repeats no value of the configuration", () => {
  const canary = "sk-canary-77";
  const rows = [
    mcp(NONE, { server_url: canary, bearer_token: canary }),
    { ...NONE, agent_options: { [canary]: canary } },
    {
      ...NONE,
      agent_options: { model_provider: { api_key: canary, protocol: canary } },
    },
    { ...NONE, execution_controls: { web_search: canary, text_verbosity: "" } },
  ];
  for (const row of rows) {
    const judged = judge(row);
    assertEquals(judged.ok, false);
    assertEquals(JSON.stringify(judged).includes(canary), false);
  }
});
