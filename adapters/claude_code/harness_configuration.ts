/** Owns the members of `harness_config` that Claude Code understands, and how they are launched. */
import * as z from "zod";

const display = z.enum(["summarized", "omitted"]).optional();

const harnessConfiguration = z.strictObject({
  effort: z.enum(["low", "medium", "high", "xhigh", "max"]).optional(),
  thinking: z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("adaptive"), display }),
    z.strictObject({
      type: z.literal("enabled"),
      budgetTokens: z.number().int().positive().optional(),
      display,
    }),
    z.strictObject({ type: z.literal("disabled") }),
  ]).optional(),
});

/** The accepted native parameters. */
export type HarnessConfiguration = z.output<typeof harnessConfiguration>;

/** Reads the parameters; `undefined` when any member is unknown or wrong. Names no member. */
export function readHarnessConfiguration(
  value: Readonly<Record<string, unknown>>,
): HarnessConfiguration | undefined {
  const read = harnessConfiguration.safeParse(value);
  return read.success ? read.data : undefined;
}

/** The launch arguments of the parameters. */
export function harnessArguments(
  configuration: HarnessConfiguration,
): readonly string[] {
  const { effort, thinking } = configuration;
  const list: string[] = effort === undefined ? [] : ["--effort", effort];
  switch (thinking?.type) {
    case undefined:
      return list;
    case "disabled":
      return [...list, "--thinking", "disabled"];
    case "adaptive":
      list.push("--thinking", "adaptive");
      break;
    case "enabled":
      if (thinking.budgetTokens === undefined) {
        list.push("--thinking", "adaptive");
      } else {
        list.push("--max-thinking-tokens", String(thinking.budgetTokens));
      }
      break;
  }
  if (thinking.display !== undefined) {
    list.push("--thinking-display", thinking.display);
  }
  return list;
}
