/** From settings and flags to the plan of a service. */
import { join } from "@std/path";
import { spawnChild } from "../harness/supervised_child.ts";
import { silentLog } from "../platform/log.ts";
import { directoriesOf } from "../platform/directories.ts";
import { launchdManager } from "../service/launchd.ts";
import type { ServiceHost, ServiceManager } from "../service/manager.ts";
import type { ManagerKind, ServicePlan } from "../service/plan.ts";
import { systemdManager, systemdVersion } from "../service/systemd.ts";
import { taskManager } from "../service/task_scheduler.ts";
import { MAIN_MODULE, PERMISSIONS, PROGRAM } from "./build.ts";
import type { Invocation } from "./command.ts";
import { codesWithoutRestart } from "./exit_codes.ts";
import { discoverHarnesses } from "./harness_discovery.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import type { Settings } from "./settings.ts";

/** systemd hands credentials over by `%d` from this version on. */
const CREDENTIALS_SINCE = 250;

/** The manager that the flags, or else the system, want. */
export function managerKind(
  invocation: Invocation,
  outside: Outside,
): ManagerKind {
  const given = invocation.options.get("kind");
  switch (given) {
    case undefined:
      break;
    case "systemd":
    case "launchd":
    case "windows":
      return given;
    default:
      throw choiceMistake("--kind", ["systemd", "launchd", "windows"]);
  }
  switch (outside.operatingSystem) {
    case "linux":
      return "systemd";
    case "darwin":
      return "launchd";
    case "windows":
      return "windows";
  }
}

function choiceMistake(flag: string, choices: readonly string[]): Mistake {
  return new Mistake({
    place: flag,
    rule: `must be one of ${choices.join(", ")}`,
    fix: "choose one of them",
    exit: "usage",
  });
}

/**
 * Makes the plan. Harness programs are looked for now and frozen: a manager's search path would
 * not find them later.
 */
export async function servicePlan(
  invocation: Invocation,
  settings: Settings,
  outside: Outside,
  host: ServiceHost,
): Promise<ServicePlan> {
  const scope = scopeOf(invocation, outside);
  const { options } = invocation;
  const directories = directoriesOf({
    operatingSystem: outside.operatingSystem,
    account: scope,
    environment: outside.environment,
    home: outside.home,
  });
  const stateDirectory = settings.values.stateDirectory ?? directories.state;
  const { workspace } = settings.values;
  return {
    name: nameOf(options.get("name") ?? PROGRAM),
    scope,
    profile: profileOf(options.get("profile") ?? "compatible"),
    account: scope === "user"
      ? host.userName
      : options.get("run-as") ?? PROGRAM,
    program: programWords(),
    configPath: settings.values.config ??
      join(directories.configuration, "config.json"),
    stateDirectory,
    tokenFile: tokenFileOf(settings, directories.configuration),
    ...(workspace === undefined ? {} : { workspace }),
    harnesses: await frozenHarnesses(settings, outside),
    searchPath: outside.environment.PATH ?? "/usr/local/bin:/usr/bin:/bin",
    home: scope === "system" ? stateDirectory : outside.home ?? stateDirectory,
    logDirectory: directories.logs,
    finalExitCodes: codesWithoutRestart(),
    credentials: await systemdVersion(host) >= CREDENTIALS_SINCE,
  };
}

/** The manager of a plan. */
export function managerOf(
  kind: ManagerKind,
  plan: ServicePlan,
  outside: Outside,
  host: ServiceHost,
): ServiceManager {
  switch (kind) {
    case "systemd": {
      const base = outside.environment.XDG_CONFIG_HOME;
      return systemdManager(
        plan,
        host,
        base?.startsWith("/") ? base : join(outside.home ?? "/", ".config"),
      );
    }
    case "launchd":
      return launchdManager(plan, host);
    case "windows":
      return taskManager(plan, host);
  }
}

function scopeOf(
  invocation: Invocation,
  outside: Outside,
): "user" | "system" {
  const { options } = invocation;
  if (options.has("user") && options.has("system")) {
    throw new Mistake({
      place: "--user and --system",
      rule: "exclude each other",
      fix: "give one of them",
      exit: "usage",
    });
  }
  if (options.has("user")) return "user";
  return options.has("system") || outside.userId === 0 ? "system" : "user";
}

function nameOf(name: string): string {
  if (/^[a-z][a-z0-9-]{0,62}$/.test(name)) return name;
  throw new Mistake({
    place: "--name",
    rule: "must be lower-case letters, digits and dashes, at most 63",
    fix: "choose such a name",
    exit: "usage",
  });
}

function profileOf(text: string): "strict" | "compatible" {
  if (text === "strict" || text === "compatible") return text;
  throw choiceMistake("--profile", ["strict", "compatible"]);
}

function tokenFileOf(settings: Settings, configuration: string): string {
  const { tokenFile } = settings.values;
  if (tokenFile === "-") {
    throw new Mistake({
      place: "--token-file",
      rule: "must be a file: a service has no stdin",
      fix: "write the token to a file of mode 0600",
      exit: "usage",
    });
  }
  return tokenFile ?? join(configuration, "token");
}

/** A compiled program is itself; a checkout is run by the runtime that runs us. */
function programWords(): string[] {
  if (Deno.build.standalone) return [Deno.execPath()];
  return [
    Deno.execPath(),
    "run",
    "--quiet",
    "--no-prompt",
    ...PERMISSIONS,
    MAIN_MODULE,
  ];
}

async function frozenHarnesses(settings: Settings, outside: Outside) {
  const stateDirectory = await Deno.makeTempDir({ prefix: "agent-daemon-" });
  try {
    const found = await discoverHarnesses({
      settings: { ...settings, stateDirectory },
      outside,
      log: silentLog,
      bound: false,
      spawn: spawnChild,
    });
    return found.flatMap(({ available, kind, program }) => {
      const flag = { codex: "codex-bin", claude_sdk: "claude-bin" }[kind];
      return available && program !== undefined && flag !== undefined
        ? [{ flag, path: program }]
        : [];
    });
  } finally {
    await Deno.remove(stateDirectory, { recursive: true });
  }
}
