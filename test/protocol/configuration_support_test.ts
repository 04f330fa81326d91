// Whether a configuration is supported by a declaration: one rule, one row.
import { assertEquals } from "@std/assert";
import type {
  CapabilityDeclaration,
  CapabilityName,
} from "../../src/protocol/capabilities.ts";
import { checkConfigurationSupport } from "../../src/protocol/configuration_support.ts";
import type { Decoded } from "../../src/protocol/decoded.ts";
import { decodeExecutionPrepare } from "../../src/protocol/execution.ts";
import { supporting } from "./fixtures.ts";
import { acceptEach, inboundText, refuseEach, valueOf } from "./wire_rows.ts";

type Members = Readonly<Record<string, unknown>>;

const NONE: Members = { disable_execution_environment: true };
const LOCAL: Members = {
  local_environment: {
    id: "e",
    workspace_directory: "/workspace",
    capability_sources: {},
  },
};
const SERVER: Members = {
  connection_origin: "service",
  server_label: "docs",
  server_url: "https://mcp.example/v1",
  allowed_tools: null,
};
const CONTROLS: Members = { web_search: "disabled", text_verbosity: "medium" };
const TOOL: Members = { name: "f", description: "d", parameters: {} };

const EVERYTHING = supporting(
  "environment_none",
  "local_environment",
  "workspace_read_preparation",
  "native_session_recovery",
  "message_items",
  "subagent_observations",
  "subagent_control",
  "execution_controls",
  "web_search_control",
  "text_verbosity",
  "structured_output",
  "programmatic_tool_calling_disable",
  "function_tools",
  "tool_search",
  "mcp_http_tools",
  "mcp_http_required",
  "mcp_http_bearer_auth",
);

/** Judges the JSON text of a configuration. */
function judgeText(
  text: string,
  declaration: CapabilityDeclaration = EVERYTHING,
): Decoded<unknown> {
  const envelope = inboundText(
    `{"type":"execution_prepare","id":"p","payload":{"session_id":"s","configuration":${text}}}`,
  );
  const { configuration } = valueOf(decodeExecutionPrepare(envelope));
  const { source } = envelope;
  return checkConfigurationSupport({ configuration, source, declaration });
}

/** Judges a configuration of the members. */
function judge(
  members: Members,
  declaration: CapabilityDeclaration = EVERYTHING,
): Decoded<unknown> {
  return judgeText(
    JSON.stringify({ agent_kind: "contract", run_id: "", ...members }),
    declaration,
  );
}

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

/** A configuration with one MCP server on the given Environment. */
function mcp(environment: Members, server: Members): Members {
  return { ...environment, mcp_http_servers: [{ ...SERVER, ...server }] };
}

Deno.test("MCP connection origins", async (t) => {
  await acceptEach(t, {
    "service without Environment": mcp(NONE, {}),
    "environment with local Environment": mcp(LOCAL, {
      connection_origin: "environment",
    }),
    "all tools": mcp(NONE, { allowed_tools: null }),
    "tools not mentioned": mcp(NONE, { allowed_tools: undefined }),
    "no tool": mcp(NONE, { allowed_tools: [] }),
    "one tool": mcp(NONE, { allowed_tools: ["a"] }),
    "explicitly no server": { ...NONE, mcp_http_servers: [] },
  }, judge);
  await refuseEach(t, {
    "service with local Environment": mcp(LOCAL, {}),
    "service with neither": mcp({}, {}),
    "environment without Environment": mcp(NONE, {
      connection_origin: "environment",
    }),
    "empty origin": mcp(NONE, { connection_origin: "" }),
    "unknown origin": mcp(NONE, { connection_origin: "core" }),
    "absent origin": mcp(NONE, { connection_origin: undefined }),
    "null origin": mcp(NONE, { connection_origin: null }),
  }, judge);
});

Deno.test("MCP labels, endpoints, tools and credentials", async (t) => {
  const bearer = { bearer_token: "abc-._~+/==" };
  await acceptEach(t, {
    "http endpoint": mcp(NONE, { server_url: "http://mcp.example:8080/x" }),
    "query from the Environment": mcp(LOCAL, {
      connection_origin: "environment",
      server_url: "https://mcp.example/?q=1",
    }),
    "bearer over https": mcp(NONE, bearer),
    "two labels": {
      ...NONE,
      mcp_http_servers: [SERVER, { ...SERVER, server_label: "other" }],
    },
  }, judge);
  await refuseEach(t, {
    "bearer over http": mcp(NONE, { ...bearer, server_url: "http://m.test/" }),
    "bearer over http to loopback": mcp(NONE, {
      ...bearer,
      server_url: "http://127.0.0.1:1/",
    }),
    "empty bearer": mcp(NONE, { bearer_token: "" }),
    "bearer with a space": mcp(NONE, { bearer_token: "a b" }),
    "bearer with a line break": mcp(NONE, { bearer_token: "a\n" }),
    "query from the service": mcp(NONE, { server_url: "https://m.test/?q" }),
    "fragment": mcp(NONE, { server_url: "https://m.test/#f" }),
    "userinfo": mcp(NONE, { server_url: "https://u@m.test/" }),
    "opaque": mcp(NONE, { server_url: "https:m.test" }),
    "other scheme": mcp(NONE, { server_url: "ws://m.test/" }),
    "no host": mcp(NONE, { server_url: "https:///x" }),
    "line break": mcp(NONE, { server_url: "https://m.te\nst/" }),
    "blank label": mcp(NONE, { server_label: " " }),
    "untrimmed label": mcp(NONE, { server_label: "docs " }),
    "label twice": { ...NONE, mcp_http_servers: [SERVER, SERVER] },
    "blank tool": mcp(NONE, { allowed_tools: ["a", ""] }),
    "untrimmed tool": mcp(NONE, { allowed_tools: [" a"] }),
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

/** A configuration text with the given harness_config text. */
function harness(text: string): string {
  return `{"disable_execution_environment":true,"agent_options":{"harness_config":${text}}}`;
}

/** A harness_config of exactly so many bytes. */
function sized(bytes: number): string {
  return `{"a":"${"x".repeat(bytes - '{"a":""}'.length)}"}`;
}

Deno.test("harness_config is one small object without repetition", async (t) => {
  await acceptEach(t, {
    "absent": '{"disable_execution_environment":true}',
    "no member": harness("{}"),
    "one member": harness('{"reasoning_effort":"low"}'),
    "same name in two objects": harness('{"a":{"x":1},"b":[{"x":1},{"x":2}]}'),
    "name that is also a value": harness('{"a":"b","b":"a"}'),
    "16,384 bytes": harness(sized(16_384)),
  }, judgeText);
  await refuseEach(t, {
    "null": harness("null"),
    "array": harness("[]"),
    "text": harness('"x"'),
    "number": harness("1"),
    "repeated member": harness('{"a":1,"a":2}'),
    "repeated member, equal": harness('{"a":1,"a":1}'),
    "repeated member, escaped": harness('{"a":1,"\\u0061":2}'),
    "repeated member, deep": harness('{"x":[{"y":{"a":1,"b":2,"a":3}}]}'),
    "16,385 bytes": harness(sized(16_385)),
    "16,385 bytes of two-byte characters": harness(
      `{"a":"${"é".repeat(8189)}"}`.replace('":"', '":"x'),
    ),
  }, judgeText);
});

Deno.test("only four agent options exist", async (t) => {
  const options = (agent_options: Members) => ({ ...NONE, agent_options });
  await acceptEach(t, {
    "model and prompt": options({ model: "m", system_prompt: "" }),
    "none": options({}),
  }, judge);
  await refuseEach(t, {
    "another": options({ permission_mode: "x" }),
    "another, null": options({ cwd: null }),
    "another case": options({ Model: "m" }),
    "prototype": JSON.parse(
      '{"disable_execution_environment":true,' +
        '"agent_options":{"__proto__":{}}}',
    ),
    "model of the wrong type": options({ model: 1 }),
    "null model": options({ model: null }),
    "prompt of the wrong type": options({ system_prompt: ["x"] }),
    "null provider": options({ model_provider: null }),
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
