/**
 * Where the program keeps its files, per system and account. Decides paths only: nothing is
 * created or read here.
 */
import { join } from "@std/path";

/** What the paths depend on. */
export interface DirectoryContext {
  readonly operatingSystem: "linux" | "darwin" | "windows";
  /** `system` is a service of the machine, `user` belongs to one account. */
  readonly account: "user" | "system";
  readonly environment: Readonly<Record<string, string>>;
  readonly home: string | undefined;
}

/** The directories of one installation; all absolute. */
export interface Directories {
  /** The program. */
  readonly program: string;
  /** Configuration file and token. */
  readonly configuration: string;
  /** Lock, status, binding, native homes. */
  readonly state: string;
  /** Log files, where the service manager has no journal. */
  readonly logs: string;
}

const NAME = "agent-daemon";

/** The home directory is unknown, so no directory of the account can be named. */
export class HomeUnknown extends Error {
  override readonly name = "HomeUnknown";
}

/**
 * The directories of an account.
 *
 * @throws {HomeUnknown} when a directory lies below the home directory and there is none.
 */
export function directoriesOf(context: DirectoryContext): Directories {
  switch (context.operatingSystem) {
    case "linux":
      return context.account === "system" ? LINUX_SYSTEM : linuxUser(context);
    case "darwin":
      return context.account === "system" ? MAC_SYSTEM : macUser(context);
    case "windows":
      return windows(context);
  }
}

const LINUX_SYSTEM: Directories = {
  program: "/usr/local/bin",
  configuration: `/etc/${NAME}`,
  state: `/var/lib/${NAME}`,
  logs: `/var/log/${NAME}`,
};

const MAC_SYSTEM: Directories = {
  program: "/usr/local/bin",
  configuration: `/Library/Application Support/${NAME}`,
  state: `/Library/Application Support/${NAME}/state`,
  logs: `/Library/Logs/${NAME}`,
};

function homeOf(context: DirectoryContext): string {
  if (!context.home) throw new HomeUnknown("the home directory is not known");
  return context.home;
}

function linuxUser(context: DirectoryContext): Directories {
  // A base directory that is not absolute is invalid and ignored, as its specification says.
  const base = (variable: string, fallback: string) => {
    const value = context.environment[variable];
    return value?.startsWith("/") ? value : join(homeOf(context), fallback);
  };
  const state = join(base("XDG_STATE_HOME", ".local/state"), NAME);
  return {
    program: join(homeOf(context), ".local/bin"),
    configuration: join(base("XDG_CONFIG_HOME", ".config"), NAME),
    state,
    logs: join(state, "logs"),
  };
}

function macUser(context: DirectoryContext): Directories {
  const home = homeOf(context);
  const support = join(home, "Library/Application Support", NAME);
  return {
    program: join(home, ".local/bin"),
    configuration: support,
    state: join(support, "state"),
    logs: join(home, "Library/Logs", NAME),
  };
}

function windows(context: DirectoryContext): Directories {
  const { environment } = context;
  if (context.account === "system") {
    const data = `${environment.ProgramData ?? "C:\\ProgramData"}\\${NAME}`;
    return {
      program: `${environment.ProgramFiles ?? "C:\\Program Files"}\\${NAME}`,
      configuration: `${data}\\config`,
      state: `${data}\\state`,
      logs: `${data}\\logs`,
    };
  }
  const local = environment.LOCALAPPDATA ??
    `${homeOf(context)}\\AppData\\Local`;
  const roaming = environment.APPDATA ?? `${homeOf(context)}\\AppData\\Roaming`;
  return {
    program: `${local}\\Programs\\${NAME}`,
    configuration: `${roaming}\\${NAME}`,
    state: `${local}\\${NAME}`,
    logs: `${local}\\${NAME}\\logs`,
  };
}
