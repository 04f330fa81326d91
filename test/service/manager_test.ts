/** The three managers against a machine in memory. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { launchdManager } from "../../src/service/launchd.ts";
import { ManagerRefused } from "../../src/service/manager.ts";
import { systemdManager, systemdVersion } from "../../src/service/systemd.ts";
import { taskManager } from "../../src/service/task_scheduler.ts";
import { hostDouble } from "./host_double.ts";
import { systemPlan, userPlan } from "./plans.ts";

Deno.test("systemd: install writes the unit, enables it and starts the new one", async () => {
  const host = hostDouble();
  const manager = systemdManager(systemPlan, host, "/unused");
  await manager.install({ start: true });
  assertEquals(manager.path, "/etc/systemd/system/agent-daemon.service");
  assertEquals(host.files.get(manager.path), manager.render());
  assertEquals(host.commands, [
    "systemctl daemon-reload",
    "systemctl enable agent-daemon.service",
    "systemctl restart agent-daemon.service",
  ]);
});

Deno.test("systemd: a user's service stays in that user's manager", async () => {
  const host = hostDouble();
  const manager = systemdManager(userPlan, host, "/home/dev/.config");
  await manager.install({ start: false });
  assertEquals(
    manager.path,
    "/home/dev/.config/systemd/user/agent-daemon.service",
  );
  assert(host.commands.every((line) => line.startsWith("systemctl --user ")));
  assert(host.commands.every((line) => !/ (re)?start /.test(line)));
});

Deno.test("a changed definition is reported with the command that mends it", async () => {
  const host = hostDouble();
  const manager = systemdManager(systemPlan, host, "/unused");
  assertEquals((await manager.state()).installed, false);
  await manager.install({ start: true });
  const fresh = await manager.state();
  assert(fresh.installed && fresh.current && fresh.enabled && fresh.running);
  assertEquals(fresh.notes, []);
  host.files.set(manager.path, `${manager.render()}# edited\n`);
  const edited = await manager.state();
  assert(edited.installed && !edited.current);
  assertEquals(edited.notes, [
    "the definition differs from what this version writes; run: agent-daemon service install --system",
  ]);
});

Deno.test("systemd: a user without lingering is warned", async () => {
  const without = hostDouble({ loginctl: { stdout: "Linger=no\n" } });
  assertEquals(
    (await systemdManager(userPlan, without, "/c").state()).notes,
    ["the service ends when you log out; run: loginctl enable-linger dev"],
  );
  const lingering = hostDouble({ loginctl: { stdout: "Linger=yes\n" } });
  assertEquals(
    (await systemdManager(userPlan, lingering, "/c").state()).notes,
    [],
  );
});

Deno.test("uninstall removes what install wrote, and nothing when there is nothing", async () => {
  for (
    const make of [
      (host: ReturnType<typeof hostDouble>) =>
        systemdManager(systemPlan, host, "/c"),
      (host: ReturnType<typeof hostDouble>) => launchdManager(systemPlan, host),
      (host: ReturnType<typeof hostDouble>) => taskManager(systemPlan, host),
    ]
  ) {
    const host = hostDouble();
    const manager = make(host);
    await manager.uninstall();
    assertEquals(host.commands, []);
    await manager.install({ start: true });
    assertEquals(host.files.size, 1);
    await manager.uninstall();
    assertEquals(host.files.size, 0);
  }
});

Deno.test("launchd: a loaded job is unloaded before it is loaded again", async () => {
  const host = hostDouble();
  const manager = launchdManager(userPlan, host);
  await manager.install({ start: true });
  assertEquals(host.commands, [
    "launchctl print gui/501/dev.agent-daemon.agent-daemon",
    "launchctl bootout gui/501/dev.agent-daemon.agent-daemon",
    `launchctl bootstrap gui/501 ${manager.path}`,
  ]);
  assert(host.commands.every((line) => !/ (un)?load /.test(line)));
});

Deno.test("launchd: running is what the job says, not that it is loaded", async () => {
  const idle = hostDouble({ "launchctl print": { stdout: "state = waiting" } });
  const waiting = await launchdManager(systemPlan, idle).state();
  assert(waiting.enabled && !waiting.running);
  const busy = hostDouble({ "launchctl print": { stdout: "state = running" } });
  assert((await launchdManager(systemPlan, busy).state()).running);
});

Deno.test("Windows: the task is created from the kept definition", async () => {
  const host = hostDouble();
  const manager = taskManager(
    { ...userPlan, stateDirectory: "C:\\state" },
    host,
  );
  await manager.install({ start: true });
  assertEquals(host.commands, [
    "schtasks.exe /Create /XML C:\\state\\agent-daemon.task.xml /F /TN agent-daemon",
    "schtasks.exe /Run /TN agent-daemon",
  ]);
});

Deno.test("a refusal of the manager names the command, its code and one line", async () => {
  const host = hostDouble({
    "systemctl enable": { code: 5, stderr: "no such unit\nsecond line\n" },
  });
  const refused = await assertRejects(
    () => systemdManager(systemPlan, host, "/c").install({ start: true }),
    ManagerRefused,
  );
  assertEquals(
    refused.message,
    "systemctl enable agent-daemon.service ended with 5: no such unit",
  );
});

Deno.test("the version of systemd decides whether it hands the token over", async () => {
  const host = hostDouble({
    "systemctl --version": { stdout: "systemd 252 (252.39-1)\n+PAM" },
  });
  assertEquals(await systemdVersion(host), 252);
  const none = hostDouble({ "systemctl --version": { code: 127 } });
  assertEquals(await systemdVersion(none), 0);
});
