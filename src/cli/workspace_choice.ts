/** Which directory may be the workspace: an existing one that holds nothing of the system or ours. */
import { dirname } from "@std/path";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";

/** Directories that are never a workspace, by equality after links were followed. */
const PROTECTED: Readonly<
  Record<Outside["operatingSystem"], readonly string[]>
> = {
  linux: [
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/tmp",
    "/usr",
    "/var",
    "/var/tmp",
  ],
  darwin: [
    "/Applications",
    "/Library",
    "/System",
    "/Users",
    "/Volumes",
    "/bin",
    "/etc",
    "/private",
    "/private/etc",
    "/private/tmp",
    "/private/var",
    "/tmp",
    "/usr",
    "/var",
  ],
  windows: [],
};

/** What a workspace must not touch. */
export interface WorkspaceSurroundings {
  /** Configuration, state and token directories; absolute. */
  readonly own: readonly string[];
}

/**
 * Follows the links of `path` once and checks the directory.
 *
 * @throws {Mistake} when it cannot be the workspace.
 */
export async function checkWorkspace(
  path: string,
  surroundings: WorkspaceSurroundings,
  outside: Outside,
): Promise<string> {
  let real: string;
  try {
    real = await Deno.realPath(path);
    if (!(await Deno.stat(real)).isDirectory) {
      throw refused(path, "is not a directory", "name a directory");
    }
  } catch (error) {
    if (error instanceof Mistake) throw error;
    throw refused(path, "does not exist", `create it: mkdir -p '${path}'`);
  }
  if (isRoot(real)) {
    throw refused(path, "is the root of a file system", "name a directory");
  }
  const home = await realOrSame(outside.home);
  if (
    real === home || PROTECTED[outside.operatingSystem].includes(real) ||
    isWindowsSystem(real, outside)
  ) {
    throw refused(
      path,
      real === home ? "is the home directory" : "belongs to the system",
      "use a directory of its own",
    );
  }
  for (const own of surroundings.own) {
    const directory = await realOrSame(own);
    if (
      directory !== undefined &&
      (contains(real, directory) || contains(directory, real))
    ) {
      throw refused(
        path,
        "contains, or lies in, the daemon's own directories",
        "use a directory of its own",
      );
    }
  }
  return real;
}

/** The directory that a file lies in, for {@linkcode WorkspaceSurroundings}. */
export function directoryOf(file: string): string {
  return dirname(file);
}

function isRoot(path: string): boolean {
  return path === "/" || /^[A-Za-z]:\\?$/.test(path) ||
    /^\\\\[^\\]+\\[^\\]+\\?$/.test(path);
}

function isWindowsSystem(path: string, outside: Outside): boolean {
  const root = outside.environment.SystemRoot;
  return root !== undefined && path.toLowerCase() === root.toLowerCase();
}

async function realOrSame(
  path: string | undefined,
): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    return await Deno.realPath(path);
  } catch {
    return path; // not there yet
  }
}

function contains(outer: string, inner: string): boolean {
  const separator = outer.includes("\\") ? "\\" : "/";
  return inner === outer || inner.startsWith(`${outer}${separator}`);
}

function refused(path: string, rule: string, fix: string): Mistake {
  return new Mistake({
    place: `workspace ${path}`,
    rule,
    fix,
    exit: "configuration",
  });
}
