/**
 * The settings in effect: command line over environment over configuration file over default, each
 * value with its origin. Nothing here reads a credential.
 */
import { join, resolve } from "@std/path";
import { type Directories, directoriesOf } from "../platform/directories.ts";
import { proxyFromEnvironment } from "../transport/proxy.ts";
import type { Invocation } from "./command.ts";
import { readConfigFile } from "./config_file.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import { brokenRule, type Setting } from "./setting.ts";
import {
  settingEntries,
  type SettingName,
  type SettingValues,
} from "./settings_table.ts";
import { suggestion } from "./suggestion.ts";

/** Where a value comes from. */
export type Origin = "flag" | "variable" | "file" | "default";

/** The resolved settings. */
export interface Settings {
  readonly values: SettingValues;
  readonly origins: Readonly<Record<SettingName, Origin>>;
  readonly directories: Directories;
  /** The configuration file that was read, or would be read if it existed. */
  readonly configPath: string;
  readonly configExists: boolean;
  /** The state directory in effect. */
  readonly stateDirectory: string;
}

/** Variables of this prefix are ours; an unknown one is a mistake. */
const PREFIX = "AGENT_DAEMON_";

/**
 * Resolves every setting.
 *
 * @throws {Mistake} for the first value that breaks its rule, and for unknown variables.
 */
export async function resolveSettings(
  invocation: Invocation,
  outside: Outside,
): Promise<Settings> {
  checkVariables(outside.environment);
  const directories = accountDirectories(outside);
  const values = new Map<SettingName, unknown>();
  const origins = new Map<SettingName, Origin>();
  for (const [name, setting] of settingEntries()) {
    const given = textOf(setting, invocation, outside);
    if (given) {
      values.set(name, checkText(setting, given, outside));
      origins.set(name, given.origin);
    }
  }
  const configPath = values.get("config") as string | undefined ??
    join(directories.configuration, "config.json");
  const file = await readConfigFile(configPath);
  if (!file && values.has("config")) {
    throw new Mistake({
      place: configPath,
      rule: "does not exist",
      fix: "create it, or leave --config out",
      exit: "configuration",
    });
  }
  for (const [name, setting] of settingEntries()) {
    if (values.has(name)) continue;
    const fromFile = file?.has(name) === true;
    values.set(name, fromFile ? file.get(name) : setting.initial);
    origins.set(name, fromFile ? "file" : "default");
  }
  const resolved = Object.fromEntries(values) as unknown as SettingValues;
  return {
    values: resolved,
    origins: Object.fromEntries(origins) as Record<SettingName, Origin>,
    directories,
    configPath,
    configExists: file !== undefined,
    stateDirectory: resolved.stateDirectory ?? directories.state,
  };
}

/** The directories of the account that the process runs as: those of the machine for root. */
export function accountDirectories(outside: Outside): Directories {
  return directoriesOf({
    operatingSystem: outside.operatingSystem,
    account: outside.userId === 0 ? "system" : "user",
    environment: outside.environment,
    home: outside.home,
  });
}

interface Given {
  readonly text: string;
  readonly origin: "flag" | "variable";
}

function textOf(
  setting: Setting<unknown>,
  invocation: Invocation,
  outside: Outside,
): Given | undefined {
  const flag = invocation.options.get(setting.flag);
  const known = invocation.command.options.some((option) =>
    option.name === setting.flag && option.variable === setting.variable
  );
  if (flag !== undefined && known) return { text: flag, origin: "flag" };
  const variable = variableOf(setting.variable, outside.environment);
  return variable !== undefined && variable !== ""
    ? { text: variable, origin: "variable" }
    : undefined;
}

/** The proxy variables are those of other programs, and follow their rules. */
function variableOf(
  name: string,
  environment: Readonly<Record<string, string>>,
): string | undefined {
  switch (name) {
    case "HTTPS_PROXY":
      return proxyFromEnvironment(environment).proxy;
    case "NO_PROXY":
      return proxyFromEnvironment(environment).noProxy;
    default:
      return environment[name];
  }
}

function checkText(
  setting: Setting<unknown>,
  given: Given,
  outside: Outside,
): unknown {
  const text = setting.path && given.origin === "flag" &&
      given.text !== "-" && given.text !== "off"
    ? resolve(outside.workingDirectory, given.text)
    : given.text;
  const result = setting.schema.safeParse(text);
  if (result.success) return result.data;
  throw new Mistake({
    place: given.origin === "flag" ? `--${setting.flag}` : setting.variable,
    rule: brokenRule(setting, result.error),
    fix: setting.fix,
    exit: given.origin === "flag" ? "usage" : "configuration",
  });
}

function checkVariables(environment: Readonly<Record<string, string>>): void {
  const known = settingEntries().map(([, setting]) => setting.variable)
    .filter((variable) => variable.startsWith(PREFIX));
  const endings = known.map((variable) => variable.slice(PREFIX.length));
  for (const name of Object.keys(environment).toSorted()) {
    if (!name.startsWith(PREFIX) || known.includes(name)) continue;
    // The name is repeated only when it is plain: it cannot hold a token then.
    const place = /^[A-Z_]{1,40}$/.test(name) ? name : `${PREFIX}…`;
    throw new Mistake({
      place,
      rule: "is not a known variable",
      // Without the common start, which would make every name look near.
      fix: suggestion(
        name.slice(PREFIX.length),
        endings,
        "unset it; see agent-daemon help run",
      ).replace("mean ", `mean ${PREFIX}`),
      exit: "configuration",
    });
  }
}
