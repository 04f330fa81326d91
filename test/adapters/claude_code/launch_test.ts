import { assert, assertEquals } from "@std/assert";
import type {
  McpBinding,
  PreparedConfiguration,
} from "../../../src/harness/contract.ts";
import {
  initializeRequest,
  type Launch,
  launchArguments,
} from "../../../adapters/claude_code/launch.ts";
import {
  launchEnvironment,
  launchSecrets,
} from "../../../adapters/claude_code/launch_environment.ts";
import { nativeHome } from "../../../adapters/claude_code/native_home.ts";
import { toolInventory } from "../../../adapters/claude_code/tool_inventory.ts";

const SECRETS = ["canary-key", "canary-bearer", "canary-prompt"] as const;

const SERVER: McpBinding = {
  label: "web",
  origin: "service",
  allowedTools: null,
  required: true,
  transport: "http",
  url: "https://mcp.example/x",
  bearerToken: "canary-bearer",
};

function launch(members: Partial<PreparedConfiguration> = {}): Launch {
  const configuration: PreparedConfiguration = {
    sessionId: "s",
    agentStateKey: "agents-api-s",
    requireExistingNativeSession: false,
    model: "claude-x",
    systemPrompt: "canary-prompt",
    modelProvider: {
      protocol: "anthropic",
      base_url: "https://model.example",
      api_key: "canary-key",
    },
    harnessConfig: { effort: "low" },
    observeMessages: true,
    observeSubagentIdentities: false,
    disableSubagents: true,
    functionTools: [{ name: "f", description: "", parameters: {} }],
    toolSearch: false,
    mcpServers: [SERVER],
    environment: { kind: "none" },
    ...members,
  };
  return {
    configuration,
    session: { mode: "new", id: "u" },
    inventory: toolInventory(configuration, false),
    home: nativeHome("/state", configuration.agentStateKey),
  };
}

const OUTSIDE = {
  environment: {
    PATH: "/bin",
    HOME: "/home/user",
    CLAUDECODE: "1",
    CLAUDE_CODE_OAUTH_TOKEN: "own-token",
    CLAUDE_CODE_PROJECT_DIR_NAME: "x",
    ANTHROPIC_API_KEY: "own-key",
    ANTHROPIC_MODEL: "own-model",
    AGENT_DAEMON_TOKEN: "daemon-secret",
    NODE_OPTIONS: "--inspect",
  },
  operatingSystem: "linux",
} as const;

Deno.test("no secret and no prompt is an argument", () => {
  const text = launchArguments(launch()).join("\n");
  for (const secret of SECRETS) assert(!text.includes(secret), secret);
});

Deno.test("prompt and bearer travel in the first request", () => {
  const request = JSON.stringify(initializeRequest(launch()));
  assert(request.includes("canary-prompt"));
  assert(request.includes("Bearer canary-bearer"));
  assert(!request.includes("canary-key"));
  const anonymous = initializeRequest(launch({
    mcpServers: [{
      label: "web",
      origin: "service",
      allowedTools: null,
      required: false,
      transport: "http",
      url: "https://mcp.example/x",
    }],
  }));
  assert(JSON.stringify(anonymous).includes('"Authorization":""'));
});

Deno.test("an absent system prompt is an empty one, not the program's own", () => {
  const { systemPrompt: _, ...rest } = launch().configuration;
  assertEquals(
    initializeRequest({ ...launch(), configuration: rest })["systemPrompt"],
    [],
  );
});

Deno.test("the environment holds the Session's provider and nothing of the daemon's", () => {
  const environment = launchEnvironment(launch(), OUTSIDE);
  assertEquals(environment["ANTHROPIC_AUTH_TOKEN"], "canary-key");
  assertEquals(environment["ANTHROPIC_BASE_URL"], "https://model.example");
  const values = JSON.stringify(environment);
  for (const foreign of ["own-", "daemon-secret", "--inspect", "/home/user"]) {
    assert(!values.includes(foreign), foreign);
  }
  assertEquals(environment["CLAUDECODE"], undefined);
  assertEquals(environment["CLAUDE_CODE_PROJECT_DIR_NAME"], undefined);
});

Deno.test("without a provider of the Session the operator's own is used", () => {
  const { modelProvider: _, ...rest } = launch().configuration;
  const environment = launchEnvironment(
    { ...launch(), configuration: rest },
    OUTSIDE,
  );
  assertEquals(environment["ANTHROPIC_API_KEY"], "own-key");
  assertEquals(environment["CLAUDE_CODE_OAUTH_TOKEN"], "own-token");
  assertEquals(environment["ANTHROPIC_MODEL"], undefined);
  assertEquals(launchSecrets(rest, environment).toSorted(), [
    "canary-bearer",
    "own-key",
    "own-token",
  ]);
});

Deno.test("variables of the tools cannot move the home or the provider", () => {
  const environment = launchEnvironment(
    launch({
      environment: {
        kind: "local",
        workspaceRoot: "/workspace",
        toolEnvironment: {
          HOME: "/elsewhere",
          TMPDIR: "/elsewhere",
          CLAUDE_CONFIG_DIR: "/elsewhere",
          ANTHROPIC_BASE_URL: "https://elsewhere",
          CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "0",
          MINE: "kept",
        },
        skillDirectories: [],
      },
    }),
    OUTSIDE,
  );
  assertEquals(environment["MINE"], "kept");
  assert(!JSON.stringify(environment).includes("elsewhere"));
  assertEquals(environment["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"], "1");
});

Deno.test("the tool list is exact for both Environments and both policies", () => {
  const tools = (l: Launch) => {
    const list = launchArguments(l);
    return list[list.indexOf("--tools") + 1];
  };
  const local = launch({
    environment: {
      kind: "local",
      workspaceRoot: "/workspace",
      toolEnvironment: {},
      skillDirectories: [],
    },
  });
  assertEquals(tools(launch()), "");
  assertEquals(tools(local), "Bash,Read,Edit,Write,Glob,Grep");
  const asking = {
    ...local,
    inventory: toolInventory(local.configuration, true),
  };
  assertEquals(
    tools(asking),
    "Bash,Read,Edit,Write,Glob,Grep,AskUserQuestion",
  );
  for (const each of [launch(), local, asking]) {
    const text = launchArguments(each).join(" ");
    assert(!/bypass|dangerously|--continue|--fork/.test(text));
  }
});

Deno.test("state keys of peers become safe, distinct directories", () => {
  const names = ["a", "A", "../../etc", "a/b", "é", "x".repeat(5_000), ""].map(
    (key) => nativeHome("/state", key).root,
  );
  assertEquals(new Set(names).size, names.length);
  for (const name of names) {
    assert(/^\/state\/claude_code\/[0-9a-f]{32}$/.test(name), name);
  }
});
