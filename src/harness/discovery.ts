/**
 * Where the program of a Harness is. One answer for probe and execution; never a shell, never the
 * program of another Harness.
 */
import { dirname, isAbsolute } from "@std/path";
import { type ProgramFiles, systemProgramFiles } from "./program_files.ts";
import { readShim } from "./npm_shim.ts";

/** What to look for, and where. */
export interface ProgramSearch {
  /** The name without extension, such as `codex`. */
  readonly name: string;
  /** An absolute path given by the operator: then nothing else is tried. */
  readonly program?: string;
  /** The environment of the daemon. */
  readonly environment: Readonly<Record<string, string>>;
  readonly operatingSystem: "linux" | "darwin" | "windows";
  /** The PATH of the user's login shell, asked for only when the daemon's own has no such program. */
  readonly loginShellPath?: () => Promise<string | undefined>;
  /** Further directories, such as `~/.claude/local`, before the well-known ones. */
  readonly directories?: readonly string[];
  readonly files?: ProgramFiles;
}

/** Where a program was looked for. */
export type ProgramSource = "operator" | "path" | "login_shell" | "well_known";

/** A found program, or the searched places. */
export type ProgramLocation =
  | {
    readonly found: true;
    /** Absolute path of what is started. */
    readonly program: string;
    /** Goes before all other arguments: the script, where `program` is its interpreter. */
    readonly leadingArguments: readonly string[];
    /** The directory where it was found: interpreters of scripts are usually there too. */
    readonly directory: string;
    readonly source: ProgramSource;
  }
  | {
    readonly found: false;
    /** Directories in the order of the search; the operator's path alone, when it is a miss. */
    readonly searched: readonly string[];
    /** One sentence for log, `status` and `doctor`. */
    readonly reason: string;
  };

/** A shim is some hundred bytes. */
const SHIM_BYTES = 16 * 1024;

/**
 * Looks at the operator's path only, or else along PATH, the login shell's PATH and the well-known
 * directories, and takes the first that can be started.
 */
export async function locateProgram(
  search: ProgramSearch,
): Promise<ProgramLocation> {
  if (search.program !== undefined) return await operatorsProgram(search);
  const searched: string[] = [];
  const rejected: string[] = [];
  for (const [source, directories] of sourcesOf(search)) {
    for (const directory of await directories()) {
      // A relative entry would mean another program in each working directory.
      if (!isAbsoluteIn(search, directory)) continue;
      if (searched.includes(directory)) continue;
      searched.push(directory);
      const result = await inDirectory(search, directory, rejected);
      if (result) return { ...result, source };
    }
  }
  const shims = rejected.length === 0
    ? ""
    : `; not a program that can be started: ${rejected.join(", ")}`;
  const places = searched.join(", ") || "no directory";
  const reason = `No ${search.name} found in ${places}${shims}`;
  return { found: false, searched, reason };
}

/** What changes when the located program, or the script it runs, is replaced. */
export async function programStamp(
  location: Extract<ProgramLocation, { found: true }>,
  files: ProgramFiles = systemProgramFiles,
): Promise<string> {
  const stamps = [location.program, ...location.leadingArguments].map((path) =>
    files.stamp(path)
  );
  return (await Promise.all(stamps)).map((stamp) => stamp ?? "absent").join(
    " ",
  );
}

type FoundInDirectory = Omit<
  Extract<ProgramLocation, { found: true }>,
  "source"
>;

async function operatorsProgram(
  search: ProgramSearch,
): Promise<ProgramLocation> {
  const program = search.program ?? "";
  const files = search.files ?? systemProgramFiles;
  const miss = (what: string): ProgramLocation => ({
    found: false,
    searched: [program],
    reason: `The configured path of ${search.name} ${what}: ${program}`,
  });
  if (!isAbsoluteIn(search, program)) return miss("is not absolute");
  if (!await files.isProgram(program)) return miss("is no program");
  const result = await startable(search, program);
  return result
    ? { ...result, source: "operator" }
    : miss("is a script without a target that can be started");
}

function sourcesOf(
  search: ProgramSearch,
): [ProgramSource, () => Promise<readonly string[]>][] {
  const separator = search.operatingSystem === "windows" ? ";" : ":";
  const split = (path: string | undefined) =>
    (path ?? "").split(separator).filter((entry) => entry !== "");
  return [
    ["path", () => Promise.resolve(split(variable(search, "PATH")))],
    ["login_shell", async () => split(await search.loginShellPath?.())],
    [
      "well_known",
      () =>
        Promise.resolve([
          ...search.directories ?? [],
          ...wellKnownDirectories(search),
        ]),
    ],
  ];
}

function wellKnownDirectories(search: ProgramSearch): string[] {
  const below = (name: string, ...paths: string[]) => {
    const root = variable(search, name);
    const separator = search.operatingSystem === "windows" ? "\\" : "/";
    return root ? paths.map((path) => `${root}${separator}${path}`) : [];
  };
  if (search.operatingSystem === "windows") {
    return [
      ...below("APPDATA", "npm"),
      ...below("USERPROFILE", ".local\\bin"),
      ...below("LOCALAPPDATA", "Programs", `Programs\\${search.name}`),
    ];
  }
  return [
    ...below("HOME", ".local/bin"),
    "/usr/local/bin",
    "/opt/homebrew/bin",
    ...below("NPM_CONFIG_PREFIX", "bin"),
    ...below("HOME", ".npm-global/bin"),
  ];
}

/** Environment names have no case on Windows. */
function variable(search: ProgramSearch, name: string): string | undefined {
  if (search.operatingSystem !== "windows") return search.environment[name];
  return Object.entries(search.environment).find(([key]) =>
    key.toUpperCase() === name
  )?.[1];
}

function isAbsoluteIn(search: ProgramSearch, path: string): boolean {
  return search.operatingSystem === "windows"
    ? /^(?:[A-Za-z]:[\\/]|\\\\)/.test(path)
    : isAbsolute(path);
}

async function inDirectory(
  search: ProgramSearch,
  directory: string,
  rejected: string[],
): Promise<FoundInDirectory | undefined> {
  const windows = search.operatingSystem === "windows";
  const files = search.files ?? systemProgramFiles;
  for (const extension of windows ? executableExtensions(search) : [""]) {
    const separator = windows ? "\\" : "/";
    const path = `${directory}${separator}${search.name}${extension}`;
    if (!await files.isProgram(path)) continue;
    const result = await startable(search, path);
    if (result) return result;
    rejected.push(path);
  }
  return undefined;
}

function executableExtensions(search: ProgramSearch): string[] {
  const extensions = variable(search, "PATHEXT") ?? ".COM;.EXE;.BAT;.CMD";
  return extensions.split(";").map((extension) => extension.toLowerCase())
    .filter((extension) =>
      [".com", ".exe", ".bat", ".cmd"].includes(extension)
    );
}

/** How `path` is started without a shell. */
async function startable(
  search: ProgramSearch,
  path: string,
): Promise<FoundInDirectory | undefined> {
  const windows = search.operatingSystem === "windows";
  if (!windows || !/\.(?:cmd|bat)$/i.test(path)) {
    return {
      found: true,
      program: path,
      leadingArguments: [],
      directory: windows ? windowsDirectory(path) : dirname(path),
    };
  }
  const files = search.files ?? systemProgramFiles;
  const directory = windowsDirectory(path);
  const shim = readShim(await files.readText(path, SHIM_BYTES) ?? "");
  if (!shim) return undefined;
  const target = `${directory}\\${shim.path}`;
  if (!await files.isProgram(target)) return undefined;
  if (!shim.script) {
    return { found: true, program: target, leadingArguments: [], directory };
  }
  const node = await findNode(search, directory);
  return node === undefined
    ? undefined
    : { found: true, program: node, leadingArguments: [target], directory };
}

async function findNode(
  search: ProgramSearch,
  beside: string,
): Promise<string | undefined> {
  const files = search.files ?? systemProgramFiles;
  const path = (variable(search, "PATH") ?? "").split(";");
  for (const directory of [beside, ...path]) {
    const node = `${directory}\\node.exe`;
    if (isAbsoluteIn(search, node) && await files.isProgram(node)) return node;
  }
  return undefined;
}

function windowsDirectory(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("\\"), path.lastIndexOf("/")));
}
