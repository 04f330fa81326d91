/**
 * The engine's model catalogue, changed where a setting alone does not hold: a catalogue entry can
 * bring local tools, code mode or deferred tools that no feature flag turns off. Owns the file it
 * writes into the Session's home.
 */
import { join } from "@std/path";
import * as z from "zod";
import type { PreparedConfiguration } from "../../src/harness/contract.ts";
import { codeModeOff } from "./options.ts";

const catalogueShape = z.looseObject({
  models: z.array(z.looseObject({
    slug: z.string().min(1),
    support_verbosity: z.boolean().nullish(),
  })).min(1),
});
type Catalogue = z.infer<typeof catalogueShape>;
type Entry = Catalogue["models"][number];

/** What must be changed in every entry. */
export interface CatalogueChanges {
  readonly noLocalTools: boolean;
  readonly noCodeMode: boolean;
  /** Tools are offered directly, not behind a search. */
  readonly noToolSearch: boolean;
  /** The delegation tools whose facts this adapter can observe. */
  readonly observableAgents: boolean;
  /** The model must support the requested verbosity. */
  readonly verbosity: boolean;
}

/** The changes a configuration needs; `undefined` when the engine's own catalogue serves. */
export function catalogueChanges(
  configuration: PreparedConfiguration,
): CatalogueChanges | undefined {
  const none = configuration.environment.kind === "none";
  const observed = configuration.observeSubagentIdentities;
  const verbosity = configuration.executionControls?.text_verbosity;
  const changes: CatalogueChanges = {
    noLocalTools: none,
    noCodeMode: codeModeOff(configuration),
    noToolSearch: none || observed ||
      (configuration.mcpServers?.length ?? 0) > 0,
    observableAgents: observed,
    verbosity: verbosity === "low" || verbosity === "high",
  };
  return Object.values(changes).some((needed) => needed) ? changes : undefined;
}

/**
 * The changed catalogue as JSON text.
 *
 * @throws when the engine printed no catalogue, or the model does not support the verbosity.
 */
export function changeCatalogue(
  native: unknown,
  changes: CatalogueChanges,
  model: string | undefined,
): string {
  const parsed = catalogueShape.safeParse(native);
  if (!parsed.success) {
    throw new Error("codex: the model catalogue is unusable");
  }
  const entry = model === undefined
    ? undefined
    : entryFor(parsed.data.models, model);
  if (changes.verbosity && entry?.support_verbosity !== true) {
    throw new Error("codex: the model does not declare text verbosity");
  }
  return JSON.stringify({
    ...parsed.data,
    models: parsed.data.models.map((each) => changeEntry(each, changes)),
  });
}

/** Writes the catalogue into the home and returns its path. */
export async function writeCatalogue(
  directory: string,
  text: string,
  unique: string,
): Promise<string> {
  const path = join(directory, `model-catalogue-${unique}.json`);
  await Deno.writeTextFile(path, text, { mode: 0o600, createNew: true });
  return path;
}

/** Removes a written catalogue; a repeated close finds it gone. */
export async function removeCatalogue(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** The entry the engine uses: the longest slug the model begins with; one namespace is ignored. */
export function entryFor(
  models: readonly Entry[],
  model: string,
): Entry | undefined {
  const longest = (name: string) =>
    models.filter((entry) => name.startsWith(entry.slug)).toSorted((a, b) =>
      b.slug.length - a.slug.length
    )[0];
  const namespaced = /^[A-Za-z0-9_-]+\/([^/]+)$/.exec(model);
  return longest(model) ??
    (namespaced?.[1] === undefined ? undefined : longest(namespaced[1]));
}

function changeEntry(entry: Entry, changes: CatalogueChanges): Entry {
  const changed: Record<string, unknown> = { ...entry };
  if (changes.noLocalTools) {
    delete changed.apply_patch_tool_type;
    changed.experimental_supported_tools = [];
  }
  if (changes.noCodeMode) delete changed.tool_mode;
  if (changes.noToolSearch) changed.supports_search_tool = false;
  if (changes.observableAgents) {
    changed.multi_agent_version = "v1";
    changed.experimental_supported_tools = [];
  }
  return changed as Entry;
}
