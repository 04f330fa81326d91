/**
 * The environment of native processes: built from an allow-list, so that whatever is not named
 * here stays with the daemon: its own variables and credentials, those of a service manager, those
 * of an agent it was started inside, provider keys.
 */

/** Names a program needs to run at all, in each system. */
const ALLOWED = new Set([
  "PATH",
  "LANG",
  "LANGUAGE",
  "TZ",
  "TERM",
  "USER",
  "LOGNAME",
  "SHELL",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "NODE_EXTRA_CA_CERTS",
]);

/** What Windows programs fail without. Names there have no case. */
const ALLOWED_ON_WINDOWS = new Set([
  "PATHEXT",
  "SYSTEMROOT",
  "SYSTEMDRIVE",
  "WINDIR",
  "COMSPEC",
  "NUMBER_OF_PROCESSORS",
  "PROCESSOR_ARCHITECTURE",
  "PROGRAMFILES",
  "PROGRAMFILES(X86)",
  "PROGRAMDATA",
  "OS",
]);

const PROXIES = new Set(["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]);

/** What a child environment is made of. */
export interface ChildEnvironmentParts {
  /** The environment of the daemon. */
  readonly source: Readonly<Record<string, string>>;
  readonly operatingSystem: "linux" | "darwin" | "windows";
  /** An own home in place of the user's; absent keeps the user's, for a probe. */
  readonly home?: string;
  /** An own directory for temporary files. */
  readonly temporaryDirectory?: string;
  /** Directories searched first, such as the one of the program's own interpreter. */
  readonly pathPrefix?: readonly string[];
  /** Variables of the adapter, such as `CODEX_HOME`. They win. */
  readonly additions?: Readonly<Record<string, string>>;
}

/**
 * The complete environment of one native process. Proxies are passed on unless their URL holds a
 * credential: tools that the engine starts inherit this environment.
 */
export function childEnvironment(
  parts: ChildEnvironmentParts,
): Record<string, string> {
  const { source, operatingSystem, home, temporaryDirectory } = parts;
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(source)) {
    if (isAllowed(name, value, operatingSystem)) environment[name] = value;
  }
  for (const name of HOME_NAMES[operatingSystem]) {
    const value = home ?? source[name];
    if (value !== undefined) environment[name] = value;
  }
  for (const name of TEMPORARY_NAMES[operatingSystem]) {
    if (temporaryDirectory !== undefined) {
      environment[name] = temporaryDirectory;
    }
  }
  prefixPath(environment, operatingSystem, parts.pathPrefix ?? []);
  return { ...environment, ...parts.additions };
}

const HOME_NAMES = {
  linux: ["HOME"],
  darwin: ["HOME"],
  windows: ["HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"],
} as const;

const TEMPORARY_NAMES = {
  linux: ["TMPDIR"],
  darwin: ["TMPDIR"],
  windows: ["TMP", "TEMP"],
} as const;

function isAllowed(
  name: string,
  value: string,
  operatingSystem: ChildEnvironmentParts["operatingSystem"],
): boolean {
  const upper = name.toUpperCase();
  if (PROXIES.has(upper)) return !holdsCredential(value);
  if (upper === "NO_PROXY") return true;
  if (operatingSystem !== "windows") {
    return ALLOWED.has(name) || name.startsWith("LC_");
  }
  return ALLOWED.has(upper) || ALLOWED_ON_WINDOWS.has(upper);
}

/** A proxy URL with anything before an `@`; one that cannot be read counts as having it. */
function holdsCredential(proxy: string): boolean {
  return proxy.includes("@");
}

function prefixPath(
  environment: Record<string, string>,
  operatingSystem: ChildEnvironmentParts["operatingSystem"],
  directories: readonly string[],
): void {
  if (directories.length === 0) return;
  const name =
    Object.keys(environment).find((name) => name.toUpperCase() === "PATH") ??
      "PATH";
  const separator = operatingSystem === "windows" ? ";" : ":";
  const present = environment[name];
  environment[name] = [...directories, ...(present ? [present] : [])]
    .join(separator);
}
