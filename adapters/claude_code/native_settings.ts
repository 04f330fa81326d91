/** Owns the settings that every process of the program runs with; no file can override them. */

/** Parts of the program that would add instructions and skills of their own. */
const BUILT_IN_PLUGINS = [
  "cc-plugin-agents-md@builtin",
  "cc-plugin-plugin-authoring@builtin",
  "cc-plugin-privacy@builtin",
] as const;

/** No hooks, no attribution text in commits, no built-in plugins. */
export const NATIVE_SETTINGS = {
  disableAllHooks: true,
  attribution: { commit: "", pr: "" },
  enabledPlugins: Object.fromEntries(
    BUILT_IN_PLUGINS.map((plugin) => [plugin, false]),
  ),
} as const;
