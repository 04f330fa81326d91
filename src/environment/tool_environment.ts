/**
 * The variables of the initialised tool environment: made once from the operator's file and Core's
 * values, kept private, and from then on the only variables that tools, setup commands and installed
 * MCP servers get beyond a short list of the daemon's own.
 */
import { join } from "@std/path";
import * as z from "zod";

/** Variables by name. */
export type Variables = Readonly<Record<string, string>>;

/** Bytes of the encoded environment, and of the operator's file. */
const ENVIRONMENT_BYTES = 1024 * 1024;
const FILE = "tool-env.json";
const shape = z.record(z.string(), z.string());

/** What of the daemon's own environment a tool may see, whatever was configured. */
const PASSED_THROUGH = [
  "PATH",
  "HOME",
  "USERPROFILE",
  "HOMEDRIVE",
  "HOMEPATH",
  "SYSTEMROOT",
  "WINDIR",
  "TEMP",
  "TMP",
  "PATHEXT",
  "LANG",
] as const;

/** Where the tool environment and its packages stand, and what it starts from. */
export interface ToolEnvironmentPlaces {
  /** Private directory of `tool-env.json`; made 0700 when missing. */
  readonly initializationDirectory: string;
  /** Where `npm` and `python` packages are installed. */
  readonly packageDirectory: string;
  /** A JSON object of strings from the operator, or none. */
  readonly operatorFile?: string;
  readonly system: "linux" | "darwin" | "windows";
  /** The daemon's own environment. */
  readonly daemonEnvironment: Variables;
}

/** It was configured already, or its content is not usable. */
export class ToolEnvironmentError extends Error {
  override readonly name = "ToolEnvironmentError";
}

/**
 * Freezes the variables.
 *
 * @throws {ToolEnvironmentError} when they are frozen already or too large.
 */
export async function configureToolEnvironment(
  places: ToolEnvironmentPlaces,
  values: Variables,
): Promise<void> {
  const base = places.operatorFile ? await readJson(places.operatorFile) : {};
  const variables = withPackagePaths(
    places,
    overlay(places.system, base, values),
  );
  const text = JSON.stringify(variables);
  if (new TextEncoder().encode(text).length > ENVIRONMENT_BYTES) {
    throw new ToolEnvironmentError("the tool environment is too large");
  }
  await Deno.mkdir(places.initializationDirectory, {
    recursive: true,
    mode: 0o700,
  });
  const path = join(places.initializationDirectory, FILE);
  const temporary = `${path}.tmp`;
  {
    using file = await Deno.open(temporary, {
      create: true,
      truncate: true,
      write: true,
      mode: 0o600,
    });
    await file.write(new TextEncoder().encode(text));
    await file.sync();
  }
  try {
    await Deno.link(temporary, path); // fails when it exists: configured once only
  } catch (error) {
    throw new ToolEnvironmentError("the tool environment is configured", {
      cause: error,
    });
  } finally {
    await Deno.remove(temporary);
  }
}

/** The frozen variables, or `undefined` when none were frozen. */
export async function loadToolEnvironment(
  places: ToolEnvironmentPlaces,
): Promise<Variables | undefined> {
  const path = join(places.initializationDirectory, FILE);
  try {
    return await readJson(path);
  } catch (error) {
    const { cause } = error as Error;
    if (cause instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** The complete environment of a setup command or an installed MCP server. */
export function childVariables(
  places: ToolEnvironmentPlaces,
  frozen: Variables,
): Variables {
  const variables: Record<string, string> = { LANG: "C.UTF-8" };
  for (const name of PASSED_THROUGH) {
    const value = places.daemonEnvironment[name];
    if (value !== undefined) variables[name] = value;
  }
  return { ...variables, ...frozen };
}

async function readJson(path: string): Promise<Variables> {
  let text: string;
  try {
    const { size, isFile } = await Deno.stat(path);
    if (!isFile || size > ENVIRONMENT_BYTES) {
      throw new ToolEnvironmentError("the variable file is unusable");
    }
    text = await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof ToolEnvironmentError) throw error;
    throw new ToolEnvironmentError("the variable file cannot be read", {
      cause: error,
    });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (_malformed) {
    throw new ToolEnvironmentError("the variable file is not JSON");
  }
  const parsed = shape.safeParse(value);
  if (!parsed.success) {
    throw new ToolEnvironmentError("the variable file is no object of strings");
  }
  return parsed.data;
}

/** Windows names do not differ by case, so there they are kept in capitals. */
function overlay(
  system: ToolEnvironmentPlaces["system"],
  base: Variables,
  values: Variables,
): Record<string, string> {
  const merged: Record<string, string> = {};
  for (
    const [name, value] of [...Object.entries(base), ...Object.entries(values)]
  ) {
    merged[system === "windows" ? name.toUpperCase() : name] = value;
  }
  return merged;
}

function withPackagePaths(
  places: ToolEnvironmentPlaces,
  variables: Record<string, string>,
): Variables {
  const windows = places.system === "windows";
  const separator = windows ? ";" : ":";
  const npm = join(places.packageDirectory, "npm", ...(windows ? [] : ["bin"]));
  const python = join(places.packageDirectory, "python");
  const scripts = join(python, windows ? "Scripts" : "bin");
  const path = variables["PATH"] ?? places.daemonEnvironment["PATH"];
  const modules = variables["PYTHONPATH"];
  return {
    ...variables,
    PATH: [npm, scripts, ...(path ? [path] : [])].join(separator),
    PYTHONPATH: [python, ...(modules ? [modules] : [])].join(separator),
  };
}
