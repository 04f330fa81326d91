/**
 * Owns the environment of the program. The provider's key has no other way in than this, so tools
 * that the program runs can read it; nothing else of the daemon's is in it.
 */
import type {
  DiscoveryContext,
  PreparedConfiguration,
} from "../../src/harness/contract.ts";
import { childEnvironment } from "../../src/harness/child_environment.ts";
import type { Launch } from "./launch.ts";
import type { NativeHome } from "./native_home.ts";

/** A failed request is repeated this often by the program before the turn fails. */
const PROVIDER_RETRIES = "2";

/** Variables of every launch: session states on, everything that works by itself off. */
const FIXED: Readonly<Record<string, string>> = {
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

/** The part of a discovery context that an environment is built from. */
type Outside = Pick<DiscoveryContext, "environment" | "operatingSystem">;

/** An environment inside `home`; `additions` win over what is inherited, never over the home. */
export function baseEnvironment(
  outside: Outside,
  home: NativeHome,
  additions: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return childEnvironment({
    source: outside.environment,
    operatingSystem: outside.operatingSystem,
    home: home.home,
    temporaryDirectory: home.temporary,
    additions: {
      ...additions,
      ...FIXED,
      HOME: home.home,
      TMPDIR: home.temporary,
      CLAUDE_CONFIG_DIR: home.configuration,
    },
  });
}

/** The complete environment of an execution. */
export function launchEnvironment(
  launch: Launch,
  outside: Outside,
): Readonly<Record<string, string>> {
  const { configuration } = launch;
  const tools = configuration.environment.kind === "local"
    ? configuration.environment.toolEnvironment
    : {};
  return baseEnvironment(outside, launch.home, {
    ...tools,
    ...providerVariables(configuration, outside.environment),
    ENABLE_TOOL_SEARCH: configuration.toolSearch ? "true" : "false",
  });
}

function providerVariables(
  configuration: PreparedConfiguration,
  own: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const provider = configuration.modelProvider;
  if (provider) {
    const { context_window: window, max_output_tokens: limit } = provider;
    return {
      ANTHROPIC_BASE_URL: provider.base_url,
      ANTHROPIC_AUTH_TOKEN: provider.api_key,
      ...(limit ? { CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(limit) } : {}),
      ...(window ? windowVariables(window) : {}),
    };
  }
  return Object.fromEntries(
    PROVIDER_VARIABLES.flatMap((name) => {
      const value = own[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** The first holds for a model that the program does not know, the second for one that it does. */
function windowVariables(
  tokens: number,
): Readonly<Record<string, string>> {
  return {
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(tokens),
    CLAUDE_CODE_AUTO_COMPACT_WINDOW: String(tokens),
  };
}

/** What must not appear in a log or report of this launch. */
export function launchSecrets(
  configuration: PreparedConfiguration,
  environment: Readonly<Record<string, string>>,
): readonly string[] {
  const keys = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
  ].map((name) => environment[name]);
  const bearers = (configuration.mcpServers ?? []).map((server) =>
    server.transport === "http" ? server.bearerToken : undefined
  );
  return [...keys, ...bearers].flatMap((value) => value ? [value] : []);
}
