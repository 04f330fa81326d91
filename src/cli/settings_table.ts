/**
 * The settings of the daemon, each once: its flag, variable, file member, rule and default. Help,
 * parsing, the file's schema, completions, manual pages and the reference are made from this table.
 */
import { z } from "zod";
import { InvalidCoreUrl, parseCoreUrl } from "../transport/core_url.ts";
import {
  canonicalUuid,
  choice,
  cleanAbsolutePath,
  defaulted,
  durationText,
  isCleanAbsolutePath,
  optional,
  proxyUrl,
  type Setting,
  wholeNumber,
} from "./setting.ts";

const uuid = {
  schema: canonicalUuid,
  rule: "must be a canonical lower-case UUID",
  fix: "copy it from Core's console",
} as const;

const PATH_RULE =
  "must be a clean absolute path, without . or .. and without a trailing slash";

const plainPath = {
  schema: cleanAbsolutePath,
  path: true,
  rule: PATH_RULE,
  fix: "write the full path",
} as const;

/** The setting of a Harness's program: a path that is tried alone, or `off`. */
function harnessProgram(name: string): Setting<string | undefined> {
  return optional<string>({
    flag: `${name}-bin`,
    variable: `AGENT_DAEMON_${name.toUpperCase()}_BIN`,
    member: `harness.${name}.bin`,
    placeholder: "PATH|off",
    description:
      `The ${name} program, tried alone; off leaves the kind out of the heartbeat.`,
    schema: z.string().refine((value) =>
      value === "off" || isCleanAbsolutePath(value)
    ),
    path: true,
    rule: "must be off or a clean absolute path",
    fix: "see what `agent-daemon harness list` finds",
    initialText: "found on the search path",
  });
}

/** All settings, in the order of help. */
export const SETTINGS = {
  deviceId: optional<string>({
    flag: "device-id",
    variable: "AGENT_DAEMON_DEVICE_ID",
    member: "device_id",
    placeholder: "UUID",
    description: "The device that Core knows this daemon by.",
    ...uuid,
    initialText: "from the enrolment or a JSON token file",
  }),
  tokenFile: optional<string>({
    flag: "token-file",
    variable: "AGENT_DAEMON_TOKEN_FILE",
    member: "token_file",
    placeholder: "PATH",
    description:
      "The file that holds the credential; - reads it from stdin. There is no flag or variable for the token itself.",
    ...plainPath,
    schema: z.union([z.literal("-"), cleanAbsolutePath]),
    initialText: "$CREDENTIALS_DIRECTORY/token, else token beside the file",
  }),
  bootstrapFile: optional<string>({
    flag: "bootstrap-file",
    variable: "AGENT_DAEMON_BOOTSTRAP_FILE",
    member: "bootstrap_file",
    placeholder: "PATH",
    description:
      "The file of a managed machine: Core's address, the device and the credential in one. It stands alone.",
    ...plainPath,
  }),
  coreUrl: optional<string>({
    flag: "core-url",
    variable: "AGENT_DAEMON_CORE_URL",
    member: "core_url",
    placeholder: "URL",
    description: "Core's origin, such as https://core.example.",
    schema: z.string().transform((text, context) => {
      try {
        return parseCoreUrl(text).base;
      } catch (error) {
        if (!(error instanceof InvalidCoreUrl)) throw error;
        const message = error.message.replace("The Core URL ", "");
        context.addIssue({ code: "custom", message });
        return z.NEVER;
      }
    }),
    rule: "must be Core's https origin",
    fix: "write it as https://core.example",
  }),
  config: optional<string>({
    flag: "config",
    variable: "AGENT_DAEMON_CONFIG",
    placeholder: "PATH",
    description: "The configuration file: JSON, comments allowed.",
    ...plainPath,
    initialText: "config.json in the configuration directory",
  }),
  stateDirectory: optional<string>({
    flag: "state-dir",
    variable: "AGENT_DAEMON_STATE_DIR",
    member: "state_dir",
    placeholder: "DIR",
    description:
      "Where the daemon keeps its state; one daemon per directory at a time.",
    ...plainPath,
    initialText: "the state directory of the system",
  }),
  workspace: optional<string>({
    flag: "workspace",
    variable: "AGENT_DAEMON_WORKSPACE",
    member: "workspace",
    placeholder: "DIR",
    description: "The one directory that Harnesses work in.",
    ...plainPath,
    initialText: "from the enrolment, else none",
  }),
  environmentId: optional<string>({
    flag: "environment-id",
    variable: "AGENT_DAEMON_ENVIRONMENT_ID",
    member: "environment_id",
    placeholder: "UUID",
    description: "The Environment that this daemon serves.",
    ...uuid,
    initialText: "from the enrolment, else none",
  }),
  sessionId: optional<string>({
    flag: "session-id",
    variable: "AGENT_DAEMON_SESSION_ID",
    member: "session_id",
    placeholder: "UUID",
    description: "The Session that this daemon serves.",
    ...uuid,
    initialText: "from the enrolment, else none",
  }),
  codexProgram: harnessProgram("codex"),
  claudeProgram: harnessProgram("claude"),
  permissions: defaulted<"unattended" | "ask">({
    flag: "permissions",
    variable: "AGENT_DAEMON_PERMISSIONS",
    member: "permissions",
    placeholder: "unattended|ask",
    description: "Whether a Harness may ask Core before it acts.",
    ...choice("unattended", "ask"),
    fix: "choose one of them",
    initial: "unattended",
  }),
  maximumExecutions: defaulted<number>({
    flag: "max-executions",
    variable: "AGENT_DAEMON_MAX_EXECUTIONS",
    member: "max_executions",
    placeholder: "N",
    description: "How many Executors may be reserved or run at once.",
    schema: wholeNumber(1, 4),
    rule: "must be a whole number from 1 to 4",
    fix: "choose a smaller or greater one",
    initial: 4,
  }),
  maximumIdle: defaulted<number>({
    flag: "max-idle",
    variable: "AGENT_DAEMON_MAX_IDLE",
    member: "max_idle",
    placeholder: "N",
    description: "How many idle Executors may be kept for their Sessions.",
    schema: wholeNumber(0, 16),
    rule: "must be a whole number from 0 to 16",
    fix: "choose a smaller one",
    initial: 16,
  }),
  logLevel: defaulted<"debug" | "info" | "warn" | "error">({
    flag: "log-level",
    variable: "AGENT_DAEMON_LOG_LEVEL",
    member: "log_level",
    placeholder: "LEVEL",
    description: "The least level that is logged: debug, info, warn or error.",
    ...choice("debug", "info", "warn", "error"),
    fix: "choose one of them",
    initial: "info",
  }),
  logFormat: optional<"text" | "json">({
    flag: "log-format",
    variable: "AGENT_DAEMON_LOG_FORMAT",
    member: "log_format",
    placeholder: "text|json",
    description: "Log lines for people or for programs.",
    ...choice("text", "json"),
    fix: "choose one of them",
    initialText: "text on a terminal, else json",
  }),
  logFile: optional<string>({
    flag: "log-file",
    variable: "AGENT_DAEMON_LOG_FILE",
    member: "log_file",
    placeholder: "PATH",
    description:
      "Logs to this file instead of stderr; rotated at 10 MiB, five files are kept.",
    ...plainPath,
    initialText: "stderr",
  }),
  authorityFile: optional<string>({
    flag: "ca-file",
    variable: "AGENT_DAEMON_CA_FILE",
    member: "ca_file",
    placeholder: "PATH",
    description:
      "PEM certificates that are trusted in addition to the system's. Verification cannot be turned off.",
    ...plainPath,
    initialText: "the system's certificates",
  }),
  proxy: optional<string>({
    flag: "proxy",
    variable: "HTTPS_PROXY",
    member: "proxy",
    placeholder: "URL",
    description: "The HTTP proxy to Core. Loopback is never proxied.",
    schema: proxyUrl,
    confidential: true,
    rule: "must be an http or https URL",
    fix: "write it as http://proxy.example:3128",
    initialText: "none",
  }),
  noProxy: optional<string>({
    flag: "no-proxy",
    variable: "NO_PROXY",
    member: "no_proxy",
    placeholder: "HOSTS",
    description: "Hosts that are reached without the proxy, comma-separated.",
    schema: z.string().max(4096),
    rule: "must be a list of at most 4096 characters",
    fix: "shorten it",
    initialText: "none",
  }),
  suspendControl: optional<string>({
    flag: "suspend-control",
    variable: "AGENT_DAEMON_SUSPEND_CONTROL",
    member: "suspend_control",
    placeholder: "PATH",
    description:
      "Lets Core suspend a bound daemon on Linux: the file, in a private directory, by which `resume` finds and wakes it.",
    ...plainPath,
    initialText: "none: each suspension is refused",
  }),
  onPermanentError: defaulted<"exit" | "park">({
    flag: "on-permanent-error",
    variable: "AGENT_DAEMON_ON_PERMANENT_ERROR",
    member: "on_permanent_error",
    placeholder: "exit|park",
    description:
      "After a refusal that a retry cannot mend: end with its exit code, or stay without requests until stopped.",
    ...choice("exit", "park"),
    fix: "choose one of them",
    initial: "exit",
  }),
  shutdownTimeout: defaulted<number>({
    flag: "shutdown-timeout",
    variable: "AGENT_DAEMON_SHUTDOWN_TIMEOUT",
    member: "shutdown_timeout",
    placeholder: "DURATION",
    description:
      "How long `stop` waits, and when a stopping daemon starts to report loudly. The daemon itself waits until everything is settled.",
    schema: durationText,
    rule: "must be a duration such as 90s, 2m or 500ms, at most 24h",
    fix: "write a number and a unit",
    initial: 90_000,
    initialText: "90s",
  }),
} as const;

/** The name of a setting. */
export type SettingName = keyof typeof SETTINGS;

/** The resolved values. */
export type SettingValues = {
  readonly [N in SettingName]: (typeof SETTINGS)[N]["initial"];
};

/** One setting with its name, untyped. */
export type SettingEntry = [SettingName, Setting<unknown>];

/** All settings, for whatever is made from the table. */
export function settingEntries(): SettingEntry[] {
  return Object.entries(SETTINGS) as unknown as SettingEntry[];
}
