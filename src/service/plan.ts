/** What a service definition is made from, for every service manager alike. */

/** The service managers. */
export type ManagerKind = "systemd" | "launchd" | "windows";

/** Everything a definition says. Holds no secret: definitions are readable by others. */
export interface ServicePlan {
  /** The name of the service, `[a-z0-9-]`. */
  readonly name: string;
  /** `user` runs as the account that installs it, `system` as `account`. */
  readonly scope: "user" | "system";
  /** How much the manager confines the process. */
  readonly profile: "strict" | "compatible";
  /** The account of a system service. */
  readonly account: string;
  /** The program and the words before `run`; the first is an absolute path. */
  readonly program: readonly string[];
  /** Absolute path; the definition names it even if it does not exist yet. */
  readonly configPath: string;
  readonly stateDirectory: string;
  readonly tokenFile: string;
  /** Absent when the configuration or the enrolment says it. */
  readonly workspace?: string;
  /** Absolute paths of Harness programs by their flag, frozen at installation. */
  readonly harnesses: readonly {
    readonly flag: string;
    readonly path: string;
  }[];
  /** The search path of the installing shell: managers give a minimal one. */
  readonly searchPath: string;
  readonly home: string;
  /** Where standard output goes, where the manager has no journal. */
  readonly logDirectory: string;
  /** Exit codes after which a start again, unchanged, cannot help. */
  readonly finalExitCodes: readonly number[];
  /** Whether the manager can hand the token over; systemd from version 250 on. */
  readonly credentials: boolean;
}

/** Seconds a manager waits for a stop: above the 90 s in which `stop` expects it to be settled. */
export const STOP_SECONDS = 120;
/** Seconds between two starts after a failure. */
export const RESTART_SECONDS = 5;
/** Seconds without proven progress after which systemd restarts the daemon. */
export const WATCHDOG_SECONDS = 180;

/** The words after the program: the command and where it finds its files. */
export function runWords(plan: ServicePlan, tokenFile: string): string[] {
  return [
    "run",
    "--config",
    plan.configPath,
    "--state-dir",
    plan.stateDirectory,
    "--token-file",
    tokenFile,
    ...(plan.workspace === undefined ? [] : ["--workspace", plan.workspace]),
    ...plan.harnesses.flatMap(({ flag, path }) => [`--${flag}`, path]),
  ];
}
