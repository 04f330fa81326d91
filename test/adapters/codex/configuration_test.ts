/** Which configurations are refused before anything native, and what the others mean natively. */
import { assert, assertEquals } from "@std/assert";
import {
  catalogueChanges,
  changeCatalogue,
  entryFor,
} from "../../../adapters/codex/catalogue.ts";
import { stateKeyParts } from "../../../adapters/codex/home.ts";
import { CODEX_LIMITS } from "../../../adapters/codex/limits.ts";
import { checkConfiguration } from "../../../adapters/codex/checks.ts";
import {
  processArguments,
  threadParameters,
} from "../../../adapters/codex/options.ts";
import type { PreparedConfiguration } from "../../../src/harness/contract.ts";
import { fakeConfiguration } from "../../support/responses_fake_codex.ts";

type Changes = Partial<PreparedConfiguration>;
const configuration = (changes: Changes = {}) =>
  fakeConfiguration("/work", changes);

const provider = {
  protocol: "responses" as const,
  base_url: "https://model.example/v1",
  api_key: "sk-canary",
};
const tool = { name: "f", description: "d", parameters: { type: "object" } };
const controls = { web_search: "disabled", text_verbosity: "medium" };
const server = {
  label: "lab",
  origin: "service" as const,
  transport: "http" as const,
  url: "https://mcp.example/",
  allowedTools: null,
  required: true,
};

const ACCEPTED: readonly [string, Changes][] = [
  ["the plain one", {}],
  ["a provider with a model", { modelProvider: provider }],
  ["each effort", { harnessConfig: { model_reasoning_effort: "xhigh" } }],
  ["neutral controls", { executionControls: controls }],
  ["64 functions", {
    functionTools: Array.from(
      { length: 64 },
      (_, index) => ({ ...tool, name: `f${index}` }),
    ),
  }],
  ["a server", { mcpServers: [server] }],
  ["observed subagents", {
    observeSubagentIdentities: true,
    disableSubagents: false,
    maxConcurrentSubagents: 1,
  }],
];

for (const [name, changes] of ACCEPTED) {
  Deno.test(`a configuration with ${name} is accepted`, () => {
    assertEquals(checkConfiguration(configuration(changes)), undefined);
  });
}

const { model: _model, ...withoutModel } = configuration();

const REFUSED: readonly [string, PreparedConfiguration][] = [
  ["a provider without a model", { ...withoutModel, modelProvider: provider }],
  ...([
    ["a blank model", { model: " " }],
    ["another protocol", {
      modelProvider: { ...provider, protocol: "anthropic" },
    }],
    ["an unknown native member", { harnessConfig: { canary: 1 } }],
    ["an unknown effort", { harnessConfig: { model_reasoning_effort: "max" } }],
    ["an effort of another type", {
      harnessConfig: { model_reasoning_effort: 1 },
    }],
    ["web search from a cache", {
      executionControls: { ...controls, web_search: "cached" },
    }],
    ["an unknown web search", {
      executionControls: { ...controls, web_search: "canary" },
    }],
    ["an unknown verbosity", {
      executionControls: { ...controls, text_verbosity: "canary" },
    }],
    ["an unknown output format", {
      executionControls: {
        ...controls,
        output_format: { type: "xml", schema: {} },
      },
    }],
    ["a schema that is no schema", {
      executionControls: {
        ...controls,
        output_format: { type: "json_schema", schema: { type: "canary" } },
      },
    }],
    ["tool search", { toolSearch: true }],
    ["a deferred function", {
      functionTools: [{ ...tool, defer_loading: true }],
    }],
    ["65 functions", {
      functionTools: Array.from(
        { length: 65 },
        (_, index) => ({ ...tool, name: `f${index}` }),
      ),
    }],
    ["two functions of a name", { functionTools: [tool, tool] }],
    ["a blank function name", { functionTools: [{ ...tool, name: " " }] }],
    ["a function name with a dot", {
      functionTools: [{ ...tool, name: "a.b" }],
    }],
    ["a function with a native name", {
      functionTools: [{ ...tool, name: "apply_patch" }],
    }],
    ["a schema that is a list", {
      functionTools: [{ ...tool, parameters: [] }],
    }],
    ["a reserved server label", {
      mcpServers: [{ ...server, label: "codex_apps" }],
    }],
    ["a malformed server label", {
      mcpServers: [{ ...server, label: "a b" }],
    }],
    ["no subagent at a time", { maxConcurrentSubagents: 0 }],
    ["observed and disabled subagents", { observeSubagentIdentities: true }],
    ["observed subagents and functions", {
      observeSubagentIdentities: true,
      disableSubagents: false,
      functionTools: [tool],
    }],
    ["a state key that leaves the directory", { agentStateKey: "a/../b" }],
    ["a blank state key", { agentStateKey: " " }],
  ] as const satisfies readonly [string, Changes][]).map((
    [name, changes],
  ): [string, PreparedConfiguration] => [name, configuration(changes)]),
];

for (const [name, refused] of REFUSED) {
  Deno.test(`a configuration with ${name} is refused without an echo`, () => {
    const refusal = checkConfiguration(refused);
    assert(refusal !== undefined);
    assert(!refusal.reason.includes("canary"));
  });
}

Deno.test("state keys become directories below the state directory only", () => {
  assertEquals(stateKeyParts("agents-api-1"), ["agents-api-1"]);
  assertEquals(stateKeyParts("a//b c"), ["a", "run", "b_c"]);
  for (const key of [".", "..", "a/..", "./a", ""]) {
    assertEquals(stateKeyParts(key), undefined, key);
  }
});

const situation = { permissions: "unattended" as const, limits: CODEX_LIMITS };

Deno.test("secrets are in the thread's settings and in no argument", () => {
  const secret = configuration({
    modelProvider: provider,
    mcpServers: [{ ...server, bearerToken: "mcp-canary" }],
  });
  const parameters = JSON.stringify(
    threadParameters(secret, "/work", situation),
  );
  assert(parameters.includes("sk-canary"));
  assert(parameters.includes("Bearer mcp-canary"));
  const words = processArguments("/work", "/home/catalogue.json").join(" ");
  assert(!words.includes("canary"));
});

Deno.test("the feature table of the thread holds every feature of the process", () => {
  const { config } = threadParameters(configuration(), "/work", situation);
  const { features } = config as { features: Record<string, unknown> };
  const words = processArguments("/work", undefined);
  const set = words.flatMap((word) =>
    /^features\.(\w+)=false$/.exec(word)?.[1] ?? []
  );
  assert(set.includes("plugins") && set.includes("instant_interrupt"));
  for (const name of set) assertEquals(features[name], false, name);
});

Deno.test("nothing asks unattended; under ask everything may", () => {
  const settings = (permissions: "unattended" | "ask") =>
    threadParameters(configuration(), "/work", { ...situation, permissions });
  assertEquals(settings("unattended").approvalPolicy, "never");
  assertEquals(settings("ask").approvalPolicy, "untrusted");
});

const NATIVE = {
  models: [
    { slug: "gpt-5", support_verbosity: false },
    {
      slug: "gpt-5.5",
      support_verbosity: true,
      tool_mode: "code_mode_only",
      apply_patch_tool_type: "freeform",
      supports_search_tool: true,
    },
  ],
};

Deno.test("the entry of a model is the longest prefix, one namespace aside", () => {
  const slug = (model: string) => entryFor(NATIVE.models, model)?.slug;
  assertEquals(slug("gpt-5.5-mini"), "gpt-5.5");
  assertEquals(slug("gpt-5x"), "gpt-5");
  assertEquals(slug("corp/gpt-5.5"), "gpt-5.5");
  assertEquals(slug("corp/team/gpt-5.5"), undefined);
  assertEquals(slug("other"), undefined);
});

Deno.test("the catalogue is changed only where a setting does not hold", () => {
  assertEquals(catalogueChanges(configuration()), undefined);
  const none = catalogueChanges(
    configuration({ environment: { kind: "none" } }),
  );
  assert(none);
  const changed = JSON.parse(changeCatalogue(NATIVE, none, "gpt-5.5"));
  assertEquals(changed.models[1].tool_mode, undefined);
  assertEquals(changed.models[1].apply_patch_tool_type, undefined);
  assertEquals(changed.models[1].supports_search_tool, false);
});

Deno.test("a verbosity is refused for a model that does not declare it", () => {
  const changes = catalogueChanges(configuration({
    executionControls: { ...controls, text_verbosity: "low" },
  }));
  assert(changes);
  changeCatalogue(NATIVE, changes, "gpt-5.5");
  for (const model of ["gpt-5", "unknown"]) {
    let refused = false;
    try {
      changeCatalogue(NATIVE, changes, model);
    } catch (error) {
      refused = error instanceof Error;
    }
    assert(refused, model);
  }
});
