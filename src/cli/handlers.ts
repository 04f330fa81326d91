/** Which code serves which command. Each is loaded only when its command runs. */
import type { CommandHandler } from "./command.ts";

const service = async (): Promise<CommandHandler> =>
  (await import("./service.ts")).serviceCommand;

const handlers: Readonly<Record<string, () => Promise<CommandHandler>>> = {
  "run": async () => (await import("./run.ts")).runCommand,
  "try": async () => (await import("./try.ts")).tryCommand,
  "selftest": async () => (await import("./selftest.ts")).selftestCommand,
  "resume": async () => (await import("./resume.ts")).resumeCommand,
  "stop": async () => (await import("./stop.ts")).stopCommand,
  "status": async () => (await import("./status.ts")).statusCommand,
  "enroll": async () => (await import("./enroll.ts")).enrollCommand,
  "logs": async () => (await import("./logs.ts")).logsCommand,
  "config show": async () => (await import("./config.ts")).configShowCommand,
  "config path": async () => (await import("./config.ts")).configPathCommand,
  "config validate": async () =>
    (await import("./config.ts")).configValidateCommand,
  "harness list": async () =>
    (await import("./harness_list.ts")).harnessListCommand,
  "completions": async () =>
    (await import("./completions.ts")).completionsCommand,
  "man": async () => (await import("./manual.ts")).manualCommand,
  "doctor": async () => (await import("./doctor.ts")).doctorCommand,
  "service install": service,
  "service uninstall": service,
  "service start": service,
  "service stop": service,
  "service restart": service,
  "service status": service,
  "service print": service,
  "upgrade": async () => (await import("./upgrade.ts")).upgradeCommand,
  "rollback": async () => (await import("./upgrade.ts")).rollbackCommand,
  "uninstall": async () => (await import("./uninstall.ts")).uninstallCommand,
  "version": async () => (await import("./version.ts")).versionCommand,
  "help": async () => (await import("./help_command.ts")).helpCommand,
};

/**
 * Loads the code of the command of that name.
 *
 * @throws {Error} when the table names a command without code; a test proves that none does.
 */
export async function findHandler(name: string): Promise<CommandHandler> {
  const load = handlers[name];
  if (!load) throw new Error(`no code for the command ${name}`);
  return await load();
}

/** The names with code. */
export function handledCommands(): string[] {
  return Object.keys(handlers);
}
