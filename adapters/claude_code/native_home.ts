/**
 * Owns where one Session's native files lie: configuration and history, home, scratch and, without
 * a workspace, the private working directory. No two Sessions share one.
 */
import { join } from "@std/path";
import { createHash } from "node:crypto";

/** The directories of one Session. All absolute. */
export interface NativeHome {
  readonly root: string;
  /** Settings, transcripts; survives the process. */
  readonly configuration: string;
  readonly home: string;
  /** Scratch of one process; removed with it. */
  readonly temporary: string;
  /** An empty directory to work in when there is no workspace. */
  readonly work: string;
}

const PRIVATE = 0o700;

/**
 * The directories of `stateKey`. The key is a peer's text: a digest of it is a name that is safe,
 * short and distinct on every file system.
 */
export function nativeHome(
  stateDirectory: string,
  stateKey: string,
): NativeHome {
  const name = createHash("sha256").update(stateKey).digest("hex").slice(0, 32);
  const root = join(stateDirectory, "claude_code", name);
  return {
    root,
    configuration: join(root, "config"),
    home: join(root, "home"),
    temporary: join(root, "tmp"),
    work: join(root, "work"),
  };
}

/** Creates what is missing; only the daemon's user can enter. */
export async function createNativeHome(home: NativeHome): Promise<void> {
  const { root, configuration, temporary, work } = home;
  for (const path of [root, configuration, home.home, temporary, work]) {
    await Deno.mkdir(path, { recursive: true, mode: PRIVATE });
  }
}

/** Exclusive use of a home; the kernel ends it with this process. */
export interface HomeLock {
  release(): void;
}

/**
 * Takes a home for one process of the program, which itself would let two continue one Session.
 *
 * @throws when another Executor, of this daemon or another, has it.
 */
export async function lockHome(home: NativeHome): Promise<HomeLock> {
  const file = await Deno.open(join(home.root, "lock"), {
    create: true,
    write: true,
    mode: 0o600,
  });
  if (!await file.tryLock(true)) {
    file.close();
    throw new Error("The native home is in use by another Executor");
  }
  let held = true;
  return {
    release() {
      if (held) file.close();
      held = false;
    },
  };
}

/** Removes the scratch of a process that is proven gone. */
export async function removeTemporary(home: NativeHome): Promise<void> {
  try {
    await Deno.remove(home.temporary, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/**
 * How many non-empty transcripts of this native Session the home holds, over all working
 * directories. More than one is ambiguous.
 */
export async function countHistories(
  home: NativeHome,
  sessionId: string,
): Promise<number> {
  const projects = join(home.configuration, "projects");
  let count = 0;
  for (const project of await directories(projects)) {
    const size = await fileSize(join(projects, project, `${sessionId}.jsonl`));
    if (size > 0) count++;
  }
  return count;
}

async function directories(path: string): Promise<readonly string[]> {
  const names: string[] = [];
  try {
    for await (const entry of Deno.readDir(path)) {
      if (entry.isDirectory) names.push(entry.name);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return names;
}

async function fileSize(path: string): Promise<number> {
  try {
    const information = await Deno.lstat(path);
    return information.isFile ? information.size : 0;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}
