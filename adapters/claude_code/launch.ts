/**
 * Owns how the program is started: arguments, environment and the `initialize` request. No secret
 * is an argument; the provider's key has no other way than the environment, MCP bearers and the
 * system prompt travel over the pipe.
 */
import type { PreparedConfiguration } from "../../src/harness/contract.ts";
import {
  harnessArguments,
  readHarnessConfiguration,
} from "./harness_configuration.ts";
import { FUNCTION_SERVER } from "./kind.ts";
import { mcpDeclarations } from "./mcp_tools.ts";
import type { NativeHome } from "./native_home.ts";
import type { NativeSession } from "./native_session.ts";
import type { ToolInventory } from "./tool_inventory.ts";

/** Settings that no user or project file may override: no hooks, no attribution text. */
const SETTINGS = JSON.stringify({
  disableAllHooks: true,
  attribution: { commit: "", pr: "" },
});

const COMMON_ARGUMENTS = [
  "-p",
  ...["--input-format", "stream-json", "--output-format", "stream-json"],
  "--verbose",
  "--include-partial-messages",
  "--replay-user-messages",
  ...["--permission-prompt-tool", "stdio", "--permission-mode", "default"],
  ...["--setting-sources", ""],
  "--strict-mcp-config",
  "--await-initialize",
  "--disable-slash-commands",
  ...["--system-prompt-snapshot", "off"],
  ...["--settings", SETTINGS],
] as const;

/** The arguments of a process that only tells who it is. It leaves no Session behind. */
export const PROBE_ARGUMENTS: readonly string[] = [
  ...COMMON_ARGUMENTS,
  ...["--tools", "", "--no-session-persistence", "--restricted"],
];

/** Everything a launch depends on. */
export interface Launch {
  readonly configuration: PreparedConfiguration;
  readonly session: NativeSession;
  readonly inventory: ToolInventory;
  readonly home: NativeHome;
}

/** The arguments of the program. */
export function launchArguments(launch: Launch): readonly string[] {
  const { configuration, inventory } = launch;
  const harness = readHarnessConfiguration(configuration.harnessConfig) ?? {};
  const allowed = [
    ...(inventory.functions.size > 0 ? [FUNCTION_SERVER] : []),
    ...(configuration.mcpServers ?? []).map(({ label }) => label),
  ].map((server) => `mcp__${server}`);
  const closed = (configuration.mcpServers ?? [])
    .filter(({ allowedTools }) => allowedTools?.length === 0)
    .map(({ label }) => `mcp__${label}`);
  return [
    ...COMMON_ARGUMENTS,
    ...["--model", configuration.model ?? ""],
    ...["--tools", inventory.builtIn.join(",")],
    ...harnessArguments(harness),
    ...(allowed.length > 0 ? ["--allowedTools", allowed.join(",")] : []),
    ...(closed.length > 0 ? ["--disallowedTools", closed.join(",")] : []),
    ...sessionArguments(launch.session),
    // Without local tools nothing needs the socket by which other processes could send input.
    ...(configuration.environment.kind === "none" ? ["--restricted"] : []),
  ];
}

function sessionArguments(session: NativeSession): readonly string[] {
  switch (session.mode) {
    case "resume":
      return ["--resume", session.id];
    case "new":
      return ["--session-id", session.id];
    case "unnamed":
      return [];
  }
}

/** A failed request is repeated this often by the program before the turn fails. */
const PROVIDER_RETRIES = "2";

/** Variables of every launch: session states on, everything that works by itself off. */
export const FIXED_ENVIRONMENT: Readonly<Record<string, string>> = {
  CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: "1",
  CLAUDE_CODE_STARTUP_FAILURE_RESULTS: "1",
  CLAUDE_CODE_MAX_RETRIES: PROVIDER_RETRIES,
  CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK: "1",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1",
  CLAUDE_CODE_DISABLE_CRON: "1",
  CLAUDE_CODE_DISABLE_WORKFLOWS: "1",
  CLAUDE_CODE_DISABLE_BUNDLED_SKILLS: "1",
  CLAUDE_CODE_DISABLE_CLAUDE_MDS: "1",
  CLAUDE_CODE_DISABLE_AUTO_MEMORY: "1",
  CLAUDE_CODE_DISABLE_FILE_MENTIONS: "1",
  DISABLE_AUTOUPDATER: "1",
  DISABLE_TELEMETRY: "1",
  DISABLE_ERROR_REPORTING: "1",
};

/** The operator's own provider, used when the Session names none. */
const PROVIDER_VARIABLES = [
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_AUTH_TOKEN",
  "ANTHROPIC_BASE_URL",
  "ANTHROPIC_DEFAULT_HAIKU_MODEL",
  "ANTHROPIC_DEFAULT_OPUS_MODEL",
  "ANTHROPIC_DEFAULT_SONNET_MODEL",
  "CLAUDE_CODE_OAUTH_TOKEN",
] as const;

/** The complete environment. `base` is what any child may inherit, `own` the daemon's own. */
export function launchEnvironment(
  launch: Launch,
  base: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const { configuration, home } = launch;
  const tools = configuration.environment.kind === "local"
    ? configuration.environment.toolEnvironment
    : {};
  return {
    ...base,
    ...tools,
    ...FIXED_ENVIRONMENT,
    ...(configuration.toolSearch
      ? { ENABLE_TOOL_SEARCH: "true" }
      : { ENABLE_TOOL_SEARCH: "false" }),
    ...providerVariables(configuration, own),
    ...homeVariables(home),
  };
}

/** The variables that keep a process inside its native home. */
export function homeVariables(
  home: NativeHome,
): Readonly<Record<string, string>> {
  return {
    HOME: home.home,
    TMPDIR: home.temporary,
    CLAUDE_CONFIG_DIR: home.configuration,
  };
}

function providerVariables(
  configuration: PreparedConfiguration,
  own: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const provider = configuration.modelProvider;
  if (provider) {
    const limit = provider.max_output_tokens;
    return {
      ANTHROPIC_BASE_URL: provider.base_url,
      ANTHROPIC_AUTH_TOKEN: provider.api_key,
      ...(limit ? { CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(limit) } : {}),
    };
  }
  return Object.fromEntries(
    PROVIDER_VARIABLES.flatMap((name) => {
      const value = own[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** What must not appear in a log or report of this launch. */
export function launchSecrets(
  configuration: PreparedConfiguration,
  environment: Readonly<Record<string, string>>,
): readonly string[] {
  const names = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"];
  const keys = [...names, "CLAUDE_CODE_OAUTH_TOKEN"].map((name) =>
    environment[name]
  );
  const bearers = (configuration.mcpServers ?? []).map((server) =>
    server.transport === "http" ? server.bearerToken : undefined
  );
  return [...keys, ...bearers].flatMap((value) => value ? [value] : []);
}

/** Functions may take as long as Core needs; a day is the program's largest useful bound. */
const FUNCTION_TIMEOUT_MILLISECONDS = 86_400_000;

/** The members of the `initialize` request. Holds secrets. */
export function initializeRequest(
  launch: Launch,
): Readonly<Record<string, unknown>> {
  const { configuration, inventory } = launch;
  const format = configuration.executionControls?.output_format;
  const servers = configuration.mcpServers ?? [];
  const skills = configuration.environment.kind === "local"
    ? configuration.environment.skillDirectories
    : [];
  return {
    systemPrompt: configuration.systemPrompt
      ? [configuration.systemPrompt]
      : [],
    systemPromptSnapshot: false,
    ...(inventory.functions.size > 0
      ? {
        sdkMcpServers: [FUNCTION_SERVER],
        sdkMcpServerConfigs: {
          [FUNCTION_SERVER]: { timeout: FUNCTION_TIMEOUT_MILLISECONDS },
        },
      }
      : {}),
    ...(format ? { jsonSchema: format.schema } : {}),
    ...(servers.length > 0 ? { mcpServers: mcpDeclarations(servers) } : {}),
    ...(skills.length > 0
      ? {
        plugins: skills.map((path) => ({
          type: "local",
          path,
          skipMcpDiscovery: true,
        })),
      }
      : {}),
  };
}
