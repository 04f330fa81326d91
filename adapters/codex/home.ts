/**
 * The private directories of one Session below the state directory: the engine's home, a HOME and a
 * TMPDIR. Never the system's temp folder, never shared between Sessions, never deleted here: the
 * history lives in them.
 */
import { createHash } from "node:crypto";
import { join } from "@std/path";
import type { FunctionTool } from "../../src/protocol/configuration.ts";

/** Absolute paths, each an existing 0700 directory. */
export interface SessionHome {
  /** `CODEX_HOME`. */
  readonly codex: string;
  /** `HOME`; also the working directory when there is no Environment. */
  readonly home: string;
  /** `TMPDIR`. */
  readonly temporary: string;
  /** One small file per thread that ran: which function tools it was started with. */
  readonly threads: string;
}

/** The directory names of a state key; `undefined` when it names none below the state directory. */
export function stateKeyParts(key: string): string[] | undefined {
  const parts = key.split("/").map((part) =>
    part === "" ? "run" : part.replaceAll(/[^A-Za-z0-9._-]/g, "_")
  );
  return key.trim() === "" || parts.some((part) => /^\.{1,2}$/.test(part))
    ? undefined
    : parts;
}

/**
 * Creates what is missing and removes the engine's own configuration file: settings come from the
 * daemon alone, also after a tool of an earlier Turn wrote there.
 */
export async function openSessionHome(
  stateDirectory: string,
  key: string,
): Promise<SessionHome> {
  const parts = stateKeyParts(key);
  if (!parts) throw new Error("codex: the state key names no directory");
  await Deno.mkdir(stateDirectory, { recursive: true, mode: 0o700 });
  // The engine reports resolved paths; a history is recognised by them.
  const root = join(await Deno.realPath(stateDirectory), "codex", ...parts);
  const home: SessionHome = {
    codex: join(root, "codex"),
    home: join(root, "home"),
    temporary: join(root, "tmp"),
    threads: join(root, "threads"),
  };
  for (const path of Object.values(home)) {
    await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  }
  await removeFile(join(home.codex, "config.toml"));
  return home;
}

/** @throws when the home holds MCP logins of its own: they would reach declared servers. */
export async function refuseStoredCredentials(
  home: SessionHome,
): Promise<void> {
  if (await isFile(join(home.codex, ".credentials.json"))) {
    throw new Error(
      "codex: MCP requires a native home without stored MCP credentials",
    );
  }
}

/**
 * Lets a Session without a model provider use the login of the user who runs the daemon: a link to
 * the one file that holds it, nothing copied.
 */
export async function linkLogin(
  home: SessionHome,
  environment: Readonly<Record<string, string>>,
): Promise<void> {
  const path = join(home.codex, "auth.json");
  await removeFile(path);
  const user = environment.HOME ?? environment.USERPROFILE;
  const source = environment.CODEX_HOME ??
    (user === undefined ? undefined : join(user, ".codex"));
  if (source === undefined) return;
  const login = join(source, "auth.json");
  if (await isFile(login)) await Deno.symlink(login, path);
}

/** Removes a login that an earlier preparation linked. */
export async function unlinkLogin(home: SessionHome): Promise<void> {
  await removeFile(join(home.codex, "auth.json"));
}

/** What tells one set of function tools from another. */
export function toolFingerprint(tools: readonly FunctionTool[]): string {
  const canonical = tools.map((tool) => [
    tool.name,
    tool.description,
    tool.parameters,
  ]);
  return createHash("sha256").update(JSON.stringify(canonical)).digest("hex");
}

/** Keeps the fingerprint of a thread that is about to run its first Turn. */
export async function recordTools(
  home: SessionHome,
  threadId: string,
  fingerprint: string,
): Promise<void> {
  await Deno.writeTextFile(threadFile(home, threadId), fingerprint, {
    mode: 0o600,
  });
}

/** The fingerprint a thread was started with; `undefined` when it is not known. */
export async function recordedTools(
  home: SessionHome,
  threadId: string,
): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(threadFile(home, threadId));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

function threadFile(home: SessionHome, threadId: string): string {
  const name = createHash("sha256").update(threadId).digest("hex");
  return join(home.threads, name);
}

async function removeFile(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
