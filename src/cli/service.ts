/** `service …`: the commands that hand the daemon to the system's service manager. */
import { ManagerRefused, type ServiceManager } from "../service/manager.ts";
import type { Invocation } from "./command.ts";
import { EXIT_CODES } from "./exit_codes.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import { systemServiceHost } from "./service_host.ts";
import { managerKind, managerOf, servicePlan } from "./service_plan.ts";
import { resolveSettings } from "./settings.ts";

/** Runs the `service` command that the invocation names. */
export async function serviceCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  const settings = await resolveSettings(invocation, outside);
  const host = systemServiceHost(outside);
  const plan = await servicePlan(invocation, settings, outside, host);
  const manager = managerOf(
    managerKind(invocation, outside),
    plan,
    outside,
    host,
  );
  try {
    return await carryOut(invocation, manager, outside);
  } catch (error) {
    if (
      !(error instanceof ManagerRefused ||
        error instanceof Deno.errors.PermissionDenied)
    ) throw error;
    throw new Mistake({
      place: "service manager",
      rule: error instanceof ManagerRefused
        ? error.message
        : `${manager.path} cannot be written`,
      fix: plan.scope === "system"
        ? "run as root, or give --user"
        : "see what the manager says",
      exit: "configuration",
    });
  }
}

async function carryOut(
  invocation: Invocation,
  manager: ServiceManager,
  outside: Outside,
): Promise<number> {
  const verb = invocation.command.name.split(" ")[1];
  const done = (text: string) => {
    outside.stdout.write(`${text}\n`);
    return EXIT_CODES.ok.code;
  };
  switch (verb) {
    case "print":
      outside.stdout.write(manager.render());
      return EXIT_CODES.ok.code;
    case "install": {
      const start = !invocation.options.has("no-start");
      await manager.install({ start });
      return done(
        `installed ${manager.path}${start ? " and started it" : ""}`,
      );
    }
    case "uninstall":
      await manager.uninstall();
      return done(`removed ${manager.path}`);
    case "start":
      await manager.start();
      return done("started");
    case "stop":
      await manager.stop();
      return done("stopped");
    case "restart":
      await manager.restart();
      return done("restarted");
    default:
      return await showState(invocation, manager, outside);
  }
}

async function showState(
  invocation: Invocation,
  manager: ServiceManager,
  outside: Outside,
): Promise<number> {
  const state = await manager.state();
  if (invocation.options.has("json")) {
    outside.stdout.write(`${JSON.stringify(state)}\n`);
  } else {
    const word = (value: boolean) => value ? "yes" : "no";
    outside.stdout.write([
      `definition  ${state.path}`,
      `installed   ${word(state.installed)}`,
      `current     ${word(state.current)}`,
      `enabled     ${word(state.enabled)}`,
      `running     ${word(state.running)}`,
      ...state.notes.map((note) => `note        ${note}`),
      "",
    ].join("\n"));
  }
  return state.installed && state.current
    ? EXIT_CODES.ok.code
    : EXIT_CODES.negative.code;
}
