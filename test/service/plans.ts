/** Plans that the service tests share. */
import type { ServicePlan } from "../../src/service/plan.ts";

/** A system service with everything set and nothing unusual. */
export const systemPlan: ServicePlan = {
  name: "agent-daemon",
  scope: "system",
  profile: "strict",
  account: "agent-daemon",
  program: ["/usr/local/bin/agent-daemon"],
  configPath: "/etc/agent-daemon/config.json",
  stateDirectory: "/var/lib/agent-daemon",
  tokenFile: "/etc/agent-daemon/token",
  workspace: "/srv/agent-workspace",
  harnesses: [{ flag: "codex-bin", path: "/opt/codex/bin/codex" }],
  searchPath: "/usr/local/bin:/usr/bin:/bin",
  home: "/var/lib/agent-daemon",
  logDirectory: "/var/log/agent-daemon",
  finalExitCodes: [64, 73, 76, 77, 78],
  credentials: true,
};

/** A service of a user whose names need quoting. */
export const userPlan: ServicePlan = {
  ...systemPlan,
  scope: "user",
  profile: "compatible",
  account: "dev",
  program: ["/usr/bin/deno", "run", "/home/dev/my checkout/main.ts"],
  configPath: "/home/dev/.config/agent-daemon/config.json",
  stateDirectory: "/home/dev/.local/state/agent-daemon",
  tokenFile: "/home/dev/.config/agent-daemon/token",
  workspace: '/home/dev/100% "$HOME" & <x>',
  harnesses: [],
  searchPath: "/home/dev/.local/bin:/usr/bin:/bin",
  home: "/home/dev",
  logDirectory: "/home/dev/.local/state/agent-daemon/logs",
};
