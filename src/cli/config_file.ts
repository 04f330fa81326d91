/**
 * The configuration file: JSON with comments, every member known, each mistake with its place.
 * The schema is made from the settings table.
 */
import { parse } from "@std/jsonc";
import { Mistake } from "./mistake.ts";
import { brokenRule, type Setting } from "./setting.ts";
import { settingEntries, type SettingName } from "./settings_table.ts";
import { suggestion } from "./suggestion.ts";

/** The longest configuration file in bytes; a longer one is no configuration. */
export const CONFIG_FILE_LIMIT = 65_536;

/** A tree of members; leaves are settings. */
interface Members {
  [member: string]: Members | SettingName;
}

/**
 * Reads the file at `path`. Resolves to checked values by setting, or `undefined` when there is
 * no file.
 *
 * @throws {Mistake} for an unreadable file, a syntax error, an unknown member or a broken rule.
 */
export async function readConfigFile(
  path: string,
): Promise<Map<SettingName, unknown> | undefined> {
  let text: string;
  try {
    const { size, isFile } = await Deno.stat(path);
    if (!isFile) throw mistake(path, "must be a file", "name a JSON file");
    if (size > CONFIG_FILE_LIMIT) {
      throw mistake(path, "must be at most 64 KiB", "shorten it");
    }
    text = await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    if (error instanceof Mistake) throw error;
    throw mistake(path, "cannot be read", `check it with: ls -l '${path}'`);
  }
  return parseConfig(text, path);
}

/** Checks the text of a configuration file; `place` names it in mistakes. */
export function parseConfig(
  text: string,
  place: string,
): Map<SettingName, unknown> {
  let document: unknown;
  try {
    document = parse(text);
  } catch (error) {
    throw mistake(
      place + linePlace(text, error),
      "is not JSON (comments and trailing commas are allowed)",
      "mend the syntax there",
    );
  }
  const values = new Map<SettingName, unknown>();
  collect(document, memberTree(), [], place, values);
  return values;
}

/**
 * `:LINE` where the parser stopped, the last line when it says nothing. Its text may quote the
 * file, so none of it is used.
 */
function linePlace(text: string, error: unknown): string {
  const found = /position (\d+)/.exec(
    error instanceof Error ? error.message : "",
  );
  const read = found ? text.slice(0, Number(found[1])) : text.trimEnd();
  return `:${read.split("\n").length}`;
}

function collect(
  node: unknown,
  known: Members,
  path: readonly string[],
  place: string,
  values: Map<SettingName, unknown>,
): void {
  if (typeof node !== "object" || node === null || Array.isArray(node)) {
    throw mistake(
      [place, ...(path.length > 0 ? [path.join(".")] : [])].join(": "),
      "must be a JSON object",
      "write it as { … }",
    );
  }
  for (const [member, value] of Object.entries(node)) {
    const entry = Object.hasOwn(known, member) ? known[member] : undefined;
    if (entry === undefined) {
      throw mistake(
        path.length > 0 ? `${place}: ${path.join(".")}` : place,
        "has a member that is not known",
        suggestion(
          member,
          Object.keys(known),
          `known are ${Object.keys(known).join(", ")}`,
        ),
      );
    }
    if (typeof entry === "string") {
      values.set(entry, checkMember(entry, value, place));
    } else {
      collect(value, entry, [...path, member], place, values);
    }
  }
}

function checkMember(
  name: SettingName,
  value: unknown,
  place: string,
): unknown {
  const setting = settingOf(name);
  const result = setting.schema.safeParse(value);
  if (result.success) return result.data;
  throw mistake(
    `${place}: ${setting.member}`,
    brokenRule(setting, result.error),
    setting.fix,
  );
}

function settingOf(name: SettingName): Setting<unknown> {
  const found = settingEntries().find(([each]) => each === name);
  if (!found) throw new Error("a setting without an entry");
  return found[1];
}

function memberTree(): Members {
  const root: Members = {};
  for (const [name, setting] of settingEntries()) {
    if (setting.member === undefined) continue;
    const words = setting.member.split(".");
    const last = words.pop() ?? "";
    let node = root;
    for (const word of words) {
      const next = node[word];
      node = typeof next === "object" ? next : node[word] = {};
    }
    node[last] = name;
  }
  return root;
}

function mistake(place: string, rule: string, fix: string): Mistake {
  return new Mistake({ place, rule, fix, exit: "configuration" });
}
