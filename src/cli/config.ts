/** `config show`, `config path` and `config validate`. */
import type { Invocation } from "./command.ts";
import { EXIT_CODES } from "./exit_codes.ts";
import type { Outside } from "./outside.ts";
import type { Setting } from "./setting.ts";
import { resolveSettings, type Settings } from "./settings.ts";
import { settingEntries, type SettingName } from "./settings_table.ts";

/** Prints every setting in effect; none of them is a secret except a proxy's password. */
export async function configShowCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  const settings = await resolveSettings(invocation, outside);
  const entries = settingEntries().map(([name, setting]) => ({
    name: setting.member ?? setting.flag.replaceAll("-", "_"),
    value: shownValue(name, setting, settings),
    origin: originText(name, setting, settings),
  }));
  if (invocation.options.has("json")) {
    const shown = entries.map(({ name, value, origin }) => [
      name,
      invocation.options.has("origin") ? { value, origin } : value,
    ]);
    outside.stdout.write(`${JSON.stringify(Object.fromEntries(shown))}\n`);
    return EXIT_CODES.ok.code;
  }
  const width = Math.max(...entries.map((entry) => entry.name.length));
  for (const { name, value, origin } of entries) {
    const text = value === null ? "-" : String(value);
    outside.stdout.write(
      invocation.options.has("origin")
        ? `${name.padEnd(width)}  ${text}  (${origin})\n`
        : `${name.padEnd(width)}  ${text}\n`,
    );
  }
  return EXIT_CODES.ok.code;
}

function shownValue(
  name: SettingName,
  setting: Setting<unknown>,
  settings: Settings,
): string | number | null {
  const value = settings.values[name];
  if (name === "config") return settings.configPath;
  if (name === "stateDirectory") return settings.stateDirectory;
  if (value === undefined) return null;
  if (!setting.confidential) return value;
  const url = new URL(String(value));
  if (url.username !== "" || url.password !== "") {
    url.username = "hidden";
    url.password = "";
  }
  return url.href;
}

function originText(
  name: SettingName,
  setting: Setting<unknown>,
  settings: Settings,
): string {
  switch (settings.origins[name]) {
    case "flag":
      return `--${setting.flag}`;
    case "variable":
      return setting.variable;
    case "file":
      return settings.configPath;
    case "default":
      return "default";
  }
}

/** Prints where the configuration file is, or would be. */
export async function configPathCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  const { configPath } = await resolveSettings(invocation, outside);
  outside.stdout.write(`${configPath}\n`);
  return EXIT_CODES.ok.code;
}

/** Checks file, variables and flags; the first mistake ends the command. */
export async function configValidateCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  const { configPath, configExists } = await resolveSettings(
    invocation,
    outside,
  );
  outside.stdout.write(
    configExists
      ? `${configPath} is valid\n`
      : `${configPath} does not exist; the other settings are valid\n`,
  );
  return EXIT_CODES.ok.code;
}
