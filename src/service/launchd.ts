/** The service under launchd: an agent of the user or a daemon of the machine. */
import { join } from "@std/path";
import { launchdLabel, renderLaunchdPlist } from "./launchd_plist.ts";
import {
  ask,
  compareDefinition,
  driftNotes,
  type ServiceHost,
  type ServiceManager,
} from "./manager.ts";
import type { ServicePlan } from "./plan.ts";

/** Manages the job of `plan`. */
export function launchdManager(
  plan: ServicePlan,
  host: ServiceHost,
): ServiceManager {
  const label = launchdLabel(plan);
  const domain = plan.scope === "system" ? "system" : `gui/${host.userId}`;
  const path = plan.scope === "system"
    ? `/Library/LaunchDaemons/${label}.plist`
    : join(plan.home, "Library/LaunchAgents", `${label}.plist`);
  const loaded = async () =>
    await host.run(["launchctl", "print", `${domain}/${label}`]);
  const unload = async (): Promise<void> => {
    // Loading a loaded job fails, so it is unloaded first.
    if ((await loaded()).code === 0) {
      await ask(host, ["launchctl", "bootout", `${domain}/${label}`]);
    }
  };
  const load = () => ask(host, ["launchctl", "bootstrap", domain, path]);
  return {
    path,
    render: () => renderLaunchdPlist(plan),
    async install({ start }) {
      await unload();
      await host.write(path, renderLaunchdPlist(plan), 0o644);
      // A loaded job starts by itself.
      if (start) await load();
    },
    async uninstall() {
      if (await host.read(path) === undefined) return;
      await unload();
      await host.remove(path);
    },
    async start() {
      if ((await loaded()).code === 0) {
        await ask(host, ["launchctl", "kickstart", `${domain}/${label}`]);
      } else await load();
    },
    stop: unload,
    async restart() {
      await unload();
      await load();
    },
    async state() {
      const definition = await compareDefinition(
        host,
        path,
        renderLaunchdPlist(plan),
      );
      const job = await loaded();
      return {
        path,
        ...definition,
        enabled: job.code === 0,
        running: job.code === 0 && /\bstate = running\b/.test(job.stdout),
        notes: driftNotes(plan, definition),
      };
    },
  };
}
