/** The service under the task scheduler of Windows. */
import {
  ask,
  compareDefinition,
  driftNotes,
  type ServiceHost,
  type ServiceManager,
} from "./manager.ts";
import type { ServicePlan } from "./plan.ts";
import { renderWindowsTask } from "./windows_task.ts";

/** Manages the task of `plan`. The definition is kept beside the state, for the drift check. */
export function taskManager(
  plan: ServicePlan,
  host: ServiceHost,
): ServiceManager {
  const path = `${plan.stateDirectory}\\${plan.name}.task.xml`;
  const control = (...words: string[]) =>
    ask(host, ["schtasks.exe", ...words, "/TN", plan.name]);
  const start = async (): Promise<void> => void await control("/Run");
  const stop = async (): Promise<void> => void await control("/End");
  return {
    path,
    render: () => renderWindowsTask(plan),
    async install(options) {
      await host.write(path, renderWindowsTask(plan), 0o600);
      await control("/Create", "/XML", path, "/F");
      if (options.start) await start();
    },
    async uninstall() {
      if (await host.read(path) === undefined) return;
      await host.run(["schtasks.exe", "/End", "/TN", plan.name]);
      await control("/Delete", "/F");
      await host.remove(path);
    },
    start,
    stop,
    async restart() {
      await host.run(["schtasks.exe", "/End", "/TN", plan.name]);
      await start();
    },
    async state() {
      const definition = await compareDefinition(
        host,
        path,
        renderWindowsTask(plan),
      );
      const query = await host.run([
        "schtasks.exe",
        "/Query",
        "/TN",
        plan.name,
        "/FO",
        "LIST",
      ]);
      return {
        path,
        ...definition,
        enabled: query.code === 0 && !/\bDisabled\b/.test(query.stdout),
        running: query.code === 0 && /\bRunning\b/.test(query.stdout),
        notes: driftNotes(plan, definition),
      };
    },
  };
}
