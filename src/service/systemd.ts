/** The service under systemd, of the machine or of the user. */
import { join } from "@std/path";
import {
  ask,
  compareDefinition,
  driftNotes,
  type ServiceHost,
  type ServiceManager,
  type ServiceState,
} from "./manager.ts";
import type { ServicePlan } from "./plan.ts";
import { renderSystemdUnit } from "./systemd_unit.ts";

/** Manages the unit of `plan`. `configurationHome` is where the user's own units lie. */
export function systemdManager(
  plan: ServicePlan,
  host: ServiceHost,
  configurationHome: string,
): ServiceManager {
  const user = plan.scope === "user";
  const unit = `${plan.name}.service`;
  const path = user
    ? join(configurationHome, "systemd/user", unit)
    : join("/etc/systemd/system", unit);
  const control = (...words: string[]) =>
    ask(host, ["systemctl", ...(user ? ["--user"] : []), ...words]);
  const query = async (word: string): Promise<boolean> =>
    (await host.run([
      "systemctl",
      ...(user ? ["--user"] : []),
      word,
      "--quiet",
      unit,
    ])).code === 0;
  const state = async (): Promise<ServiceState> => {
    const definition = await compareDefinition(
      host,
      path,
      renderSystemdUnit(plan),
    );
    return {
      path,
      ...definition,
      enabled: await query("is-enabled"),
      running: await query("is-active"),
      notes: [
        ...driftNotes(plan, definition),
        ...(user ? await lingerNotes(host) : []),
      ],
    };
  };
  return {
    path,
    render: () => renderSystemdUnit(plan),
    async install({ start }) {
      await host.write(path, renderSystemdUnit(plan), 0o644);
      await control("daemon-reload");
      await control("enable", unit);
      if (start) await control("restart", unit);
    },
    async uninstall() {
      if (await host.read(path) === undefined) return;
      await control("disable", "--now", unit);
      await host.remove(path);
      await control("daemon-reload");
    },
    start: async () => void await control("start", unit),
    stop: async () => void await control("stop", unit),
    restart: async () => void await control("restart", unit),
    state,
  };
}

/** Without lingering a user's services end with the last session of that user. */
async function lingerNotes(host: ServiceHost): Promise<string[]> {
  const outcome = await host.run([
    "loginctl",
    "show-user",
    host.userName,
    "--property=Linger",
  ]);
  return outcome.code === 0 && outcome.stdout.trim() === "Linger=yes" ? [] : [
    `the service ends when you log out; run: loginctl enable-linger ${host.userName}`,
  ];
}

/** The version of systemd, or 0 when there is none. */
export async function systemdVersion(host: ServiceHost): Promise<number> {
  const outcome = await host.run(["systemctl", "--version"]);
  return Number(/^systemd (\d+)/.exec(outcome.stdout)?.[1] ?? 0);
}
