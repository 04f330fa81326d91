/**
 * Owns how the program is started: its arguments and the `initialize` request. No secret is an
 * argument: MCP bearers and the system prompt travel over the pipe.
 */
import type { PreparedConfiguration } from "../../src/harness/contract.ts";
import {
  harnessArguments,
  readHarnessConfiguration,
} from "./harness_configuration.ts";
import { FUNCTION_SERVER } from "./kind.ts";
import { mcpDeclarations } from "./mcp_tools.ts";
import type { NativeHome } from "./native_home.ts";
import { NATIVE_SETTINGS } from "./native_settings.ts";
import type { NativeSession } from "./native_session.ts";
import type { ToolInventory } from "./tool_inventory.ts";

/**
 * A second guard: text is composed by the client and so no command anyway. The program counts
 * skills among the commands and has none with this.
 */
const NO_COMMANDS = "--disable-slash-commands";

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
  ...["--system-prompt-snapshot", "off"],
  ...["--settings", JSON.stringify(NATIVE_SETTINGS)],
] as const;

/** The arguments of a process that only tells who it is. It leaves no Session behind. */
export const PROBE_ARGUMENTS: readonly string[] = [
  ...COMMON_ARGUMENTS,
  NO_COMMANDS,
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
    ...(skillDirectories(configuration).length > 0 ? [] : [NO_COMMANDS]),
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

/** Functions may take as long as Core needs; a day is the program's largest useful bound. */
const FUNCTION_TIMEOUT_MILLISECONDS = 86_400_000;

/** The members of the `initialize` request. Holds secrets. */
export function initializeRequest(
  launch: Launch,
): Readonly<Record<string, unknown>> {
  const { configuration, inventory } = launch;
  const format = configuration.executionControls?.output_format;
  const servers = configuration.mcpServers ?? [];
  const skills = skillDirectories(configuration);
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

function skillDirectories(
  configuration: PreparedConfiguration,
): readonly string[] {
  return configuration.environment.kind === "local"
    ? configuration.environment.skillDirectories
    : [];
}
