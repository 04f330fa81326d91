import { assert, assertEquals } from "@std/assert";
import type {
  McpBinding,
  PreparedConfiguration,
} from "../../../src/harness/contract.ts";
import type { FunctionTool } from "../../../src/protocol/configuration.ts";
import { checkClaudeConfiguration } from "../../../adapters/claude_code/configuration.ts";

const CANARY = "canary-value-17";

function configuration(
  members: Partial<PreparedConfiguration> = {},
): PreparedConfiguration {
  return {
    sessionId: "s",
    agentStateKey: "agents-api-s",
    requireExistingNativeSession: false,
    model: "claude-sonnet-4-5",
    harnessConfig: {},
    observeMessages: true,
    observeSubagentIdentities: false,
    disableSubagents: true,
    functionTools: [],
    toolSearch: false,
    environment: { kind: "none" },
    ...members,
  };
}

function tool(name: string, parameters: unknown = { type: "object" }) {
  return { name, description: "", parameters };
}

const deferred: FunctionTool = { ...tool("rare"), defer_loading: true };

function server(label: string, members: object = {}): McpBinding {
  return {
    label,
    origin: "service",
    allowedTools: null,
    required: false,
    transport: "http",
    url: "https://mcp.example",
    ...members,
  } as McpBinding;
}

function provider(protocol: "anthropic" | "responses" | "chat_completions") {
  return { protocol, base_url: "https://model.example", api_key: CANARY };
}

const REFUSED: readonly (readonly [string, Partial<PreparedConfiguration>])[] =
  [
    ["a blank model", { model: " " }],
    ["a model that is an option", { model: "--dangerously-skip-permissions" }],
    ["another provider protocol", { modelProvider: provider("responses") }],
    ["a third protocol", { modelProvider: provider("chat_completions") }],
    ["an unknown parameter", { harnessConfig: { [CANARY]: CANARY } }],
    ["a wrong effort", { harnessConfig: { effort: CANARY } }],
    ["the retired budget", { harnessConfig: { maxThinkingTokens: 5 } }],
    ["a negative budget", {
      harnessConfig: { thinking: { type: "enabled", budgetTokens: -1 } },
    }],
    ["a broken budget", {
      harnessConfig: { thinking: { type: "enabled", budgetTokens: 1.5 } },
    }],
    ["a display of disabled thinking", {
      harnessConfig: { thinking: { type: "disabled", display: "summarized" } },
    }],
    ["an unknown display", {
      harnessConfig: { thinking: { type: "adaptive", display: CANARY } },
    }],
    ["observed subagents", { observeSubagentIdentities: true }],
    ["a nameless function", { functionTools: [tool(" ")] }],
    ["two functions of one name", { functionTools: [tool("a"), tool("a")] }],
    ["two functions of one native name", {
      functionTools: [tool("a.b"), tool("a_b")],
    }],
    ["array parameters", { functionTools: [tool("a", [])] }],
    ["scalar parameters", { functionTools: [tool("a", "x")] }],
    ["parameters of another type", {
      functionTools: [tool("a", { type: "string" })],
    }],
    ["tool search without a deferred function", {
      toolSearch: true,
      functionTools: [tool("a")],
    }],
    ["a deferred function without tool search", { functionTools: [deferred] }],
    ["tool search beside MCP", {
      toolSearch: true,
      functionTools: [deferred],
      mcpServers: [server("a")],
    }],
    ["a label with a space", { mcpServers: [server("a b")] }],
    ["an empty label", { mcpServers: [server("")] }],
    ["the reserved label", { mcpServers: [server("functions")] }],
    ["two equal labels", { mcpServers: [server("a"), server("a")] }],
    ["labels that share tool names", {
      mcpServers: [server("a"), server("a__b")],
    }],
    ["a tool name with a space", {
      mcpServers: [server("a", { allowedTools: ["x y"] })],
    }],
    ["tools of one native name", {
      mcpServers: [server("a", { allowedTools: ["x.y", "x_y"] })],
    }],
    ["literal headers", {
      mcpServers: [server("a", { headers: { "X-Key": CANARY } })],
    }],
  ];

for (const [name, members] of REFUSED) {
  Deno.test(`a configuration with ${name} is refused without its values`, () => {
    const refusal = checkClaudeConfiguration(configuration(members));
    assert(refusal);
    assert(!refusal.reason.includes(CANARY));
  });
}

Deno.test("a configuration without a model is refused", () => {
  const { model: _, ...rest } = configuration();
  assert(checkClaudeConfiguration(rest));
});

const ACCEPTED: readonly (readonly [string, Partial<PreparedConfiguration>])[] =
  [
    ["nothing special", {}],
    ["an anthropic provider", { modelProvider: provider("anthropic") }],
    ["every effort", { harnessConfig: { effort: "xhigh" } }],
    ["adaptive thinking", {
      harnessConfig: { thinking: { type: "adaptive", display: "omitted" } },
    }],
    ["a thinking budget", {
      harnessConfig: { thinking: { type: "enabled", budgetTokens: 2048 } },
    }],
    ["disabled thinking", {
      harnessConfig: { thinking: { type: "disabled" } },
    }],
    ["untyped parameters", { functionTools: [tool("a", {})] }],
    ["parameters of a union with object", {
      functionTools: [tool("a", { type: ["object", "null"] })],
    }],
    ["tool search with a deferred function", {
      toolSearch: true,
      functionTools: [tool("a"), deferred],
    }],
    ["MCP servers of both kinds of restriction", {
      mcpServers: [server("a"), server("b", { allowedTools: [] })],
    }],
    ["an empty MCP list", { mcpServers: [] }],
    ["neutral controls", {
      executionControls: { web_search: "disabled", text_verbosity: "medium" },
    }],
  ];

for (const [name, members] of ACCEPTED) {
  Deno.test(`a configuration with ${name} is accepted`, () => {
    assertEquals(checkClaudeConfiguration(configuration(members)), undefined);
  });
}
