/**
 * Owns the format of a wire scenario: frames of both sides in order, with native settlement, loss
 * and reconnection between them. A scenario is data; both sides replay the same file.
 */
import * as z from "zod";
import { CAPABILITY_NAMES } from "../../src/protocol/capabilities.ts";

const frame = z.strictObject({
  type: z.string().min(1),
  id: z.string().min(1).optional(),
  payload: z.unknown().optional(),
});

const side = z.enum(["core", "runtime"]);

const step = z.discriminatedUnion("step", [
  /** The peer receives exactly this frame next. */
  z.strictObject({ step: z.literal("send"), from: side, frame }),
  /** That side sends nothing for the window. */
  z.strictObject({ step: z.literal("silence"), from: side }),
  /** The native Turn of this Run settles; the Runtime sent nothing in the window before. */
  z.strictObject({ step: z.literal("settle"), run: z.string() }),
  /** The Runtime loses the socket; Core observes no outcome, the Runtime cleans up. */
  z.strictObject({ step: z.literal("disconnect") }),
  /** The same device dials again. */
  z.strictObject({ step: z.literal("reconnect") }),
  /** Time passes on both sides. */
  z.strictObject({
    step: z.literal("elapse"),
    milliseconds: z.number().int().positive(),
  }),
  /** The controlled Harness does one thing; another Runtime arranges the like with its own. */
  z.strictObject({
    step: z.literal("native"),
    do: z.enum([
      "emit",
      "end",
      "write_input",
      "accept_input",
      "reject_input",
      "lose_input",
      "apply",
      "prepared",
      "closed",
    ]),
    run: z.string().optional(),
    event: z.unknown().optional(),
  }),
  /** The Runtime closes the connection itself, with code 1000. */
  z.strictObject({ step: z.literal("closed_by_runtime") }),
]);

/** What the controlled Harness does by itself; everything else waits for a `native` step. */
const harness = z.strictObject({
  /** Capabilities it declares otherwise than supported. */
  unsupported: z.array(z.enum(CAPABILITY_NAMES)).default([]),
  prepare: z.enum(["ready", "held", "fails", "fails_retaining_once"]).default(
    "ready",
  ),
  start: z.enum(["starts", "refuses"]).default("starts"),
  /** How many closes fail before one is confirmed. */
  failing_closes: z.number().int().min(0).default(0),
  /** How many native cancellations fail before one is taken. */
  failing_cancels: z.number().int().min(0).default(0),
  /** What a Turn has to say when it is cancelled. */
  outcome: z.unknown().optional(),
  reusable: z.boolean().default(true),
});

/** Text files by workspace-relative path. */
const files = z.record(z.string(), z.string());

const scenarioSchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9_]+$/),
  proves: z.string().min(1),
  /** The name of a common beginning in `scenarios/beginnings.json`. */
  begin: z.enum(["prepared", "started"]).optional(),
  /** A dial that Core refuses; then there are no steps. */
  dial: z.strictObject({
    versions: z.array(z.string()).min(1),
    status: z.number().int(),
    error: z.string(),
  }).optional(),
  harness: harness.prefault({}),
  /** The daemon is bound to a workspace with these files; the ids are in `bound_folder.ts`. */
  workspace: files.optional(),
  steps: z.array(step),
  expect: z.strictObject({
    /** What Core knows at the end, one word for each observation. */
    core: z.strictObject({
      preparations: z.record(z.string(), z.string()).default({}),
      runs: z.record(z.string(), z.string()).default({}),
      /** By delivery id. */
      receipts: z.record(z.string(), z.string()).default({}),
      /** By Run id and input id, with a slash between. */
      inputs: z.record(z.string(), z.string()).default({}),
      /** The last word about each transfer and workspace operation, by its id. */
      operations: z.record(z.string(), z.string()).default({}),
    }).prefault({}),
    /** Every file of the workspace at the end; absent when that is not looked at. */
    workspace: files.optional(),
    /** Native effects at the end: started Turns equal native starts, nothing is done twice. */
    runtime: z.strictObject({
      starts: z.number().int().optional(),
      cancels: z.number().int().optional(),
      inputs: z.number().int().optional(),
      submissions: z.number().int().optional(),
      confirmed_closes: z.number().int().optional(),
      close_attempts: z.number().int().optional(),
    }).default({}),
  }).prefault({}),
});

/** One scenario. */
export type Scenario = Readonly<z.output<typeof scenarioSchema>>;
/** One step of a scenario. */
export type Step = Scenario["steps"][number];
/** One frame as a scenario writes it. */
export interface ScenarioFrame {
  readonly type: string;
  readonly id?: string | undefined;
  readonly payload?: unknown;
}
/** How the controlled Harness behaves. */
export type HarnessPlan = Scenario["harness"];

/** @throws {Error} naming the place of the first mistake; an unknown step is one. */
export function parseScenario(text: string): Scenario {
  const result = scenarioSchema.safeParse(JSON.parse(text));
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw new Error(`${issue?.path.join(".")}: ${issue?.message}`);
}

const folder = new URL("../../scenarios/", import.meta.url);

/** Every scenario of the project, in the order of its file name, its beginning included. */
export async function loadScenarios(): Promise<readonly Scenario[]> {
  const beginnings: Record<string, Step[]> = z.record(
    z.string(),
    z.array(step),
  ).parse(
    JSON.parse(await Deno.readTextFile(new URL("beginnings.json", folder))),
  );
  const names: string[] = [];
  for await (const entry of Deno.readDir(folder)) {
    if (entry.name.endsWith(".json") && entry.name !== "beginnings.json") {
      names.push(entry.name);
    }
  }
  const scenarios: Scenario[] = [];
  for (const name of names.sort()) {
    const text = await Deno.readTextFile(new URL(name, folder));
    const scenario = parseScenario(text);
    if (`${scenario.name}.json` !== name) {
      throw new Error(`${name} holds the scenario ${scenario.name}`);
    }
    const begin = scenario.begin ? beginnings[scenario.begin] : [];
    if (!begin) throw new Error(`${name}: no such beginning`);
    scenarios.push({ ...scenario, steps: [...begin, ...scenario.steps] });
  }
  return scenarios;
}
