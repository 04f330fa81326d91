/** Options that commands share: those that give settings, and a few switches. */
import type { OptionSpecification } from "./command.ts";
import { type SettingName, SETTINGS } from "./settings_table.ts";
import type { Setting } from "./setting.ts";

/** `--json`. */
export const jsonOption: OptionSpecification = {
  name: "json",
  description: "Prints one JSON document with stable members.",
};

/** Options that give settings, for the commands that read them. */
export function settingOptions(
  names: readonly SettingName[],
): OptionSpecification[] {
  return names.map((name) => {
    const setting: Setting<unknown> = SETTINGS[name];
    return {
      name: setting.flag,
      placeholder: setting.placeholder,
      description: setting.description,
      variable: setting.variable,
      ...(setting.choices ? { choices: setting.choices } : {}),
      ...(setting.path ? { path: setting.path } : {}),
      ...initialTextOf(setting),
    };
  });
}

function initialTextOf(setting: Setting<unknown>): { initialText?: string } {
  if (setting.initialText !== undefined) {
    return { initialText: setting.initialText };
  }
  return setting.initial === undefined
    ? {}
    : { initialText: String(setting.initial) };
}

/** The options of all settings. */
export const allSettings: readonly OptionSpecification[] = settingOptions(
  Object.keys(SETTINGS) as SettingName[],
);

/** Where a command finds the daemon of this account. */
export const location: readonly OptionSpecification[] = settingOptions([
  "config",
  "stateDirectory",
]);

/** `--allow-root`. */
export const allowRoot: OptionSpecification = {
  name: "allow-root",
  description: "Runs although the user is root or SYSTEM.",
};
