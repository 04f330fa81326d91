/** Renders the systemd unit of a plan. The text is deterministic: drift is a comparison of texts. */
import { isAbsolute } from "@std/path";
import {
  RESTART_SECONDS,
  runWords,
  type ServicePlan,
  STOP_SECONDS,
  WATCHDOG_SECONDS,
} from "./plan.ts";

/** The unit file. */
export function renderSystemdUnit(plan: ServicePlan): string {
  const system = plan.scope === "system";
  return [
    "# Written by `agent-daemon service install`; `service status` reports changes made here.",
    "[Unit]",
    "Description=agent-daemon (Core runtime)",
    ...(system
      ? ["Wants=network-online.target", "After=network-online.target"]
      : []),
    "# Refused starts end with a code below; every other end is worth another start.",
    "StartLimitIntervalSec=0",
    "",
    "[Service]",
    "Type=exec",
    ...(system ? [`User=${plan.account}`, `Group=${plan.account}`] : []),
    `ExecStart=${execStart(plan)}`,
    ...credentialLines(plan),
    `Environment=${quote(`PATH=${plan.searchPath}`)}`,
    "Restart=on-failure",
    `RestartSec=${RESTART_SECONDS}`,
    `RestartPreventExitStatus=${plan.finalExitCodes.join(" ")}`,
    "# The daemon settles its children itself; what is left after the wait is killed as a group.",
    "KillMode=mixed",
    "KillSignal=SIGTERM",
    `TimeoutStopSec=${STOP_SECONDS}`,
    "# Fed only after proven progress.",
    `WatchdogSec=${WATCHDOG_SECONDS}`,
    "NotifyAccess=all",
    ...directoryLines(plan),
    "UMask=0077",
    ...confinement(plan),
    "LimitCORE=0",
    "OOMPolicy=continue",
    "TasksMax=4096",
    "",
    "[Install]",
    `WantedBy=${system ? "multi-user.target" : "default.target"}`,
    "",
  ].join("\n");
}

function execStart(plan: ServicePlan): string {
  const token = usesCredentials(plan) ? CREDENTIAL_PATH : plan.tokenFile;
  return [...plan.program, ...runWords(plan, token)]
    .map((word) => word === CREDENTIAL_PATH ? word : quoteExec(word))
    .join(" ");
}

/** systemd replaces `%d` by the directory of the credentials. */
const CREDENTIAL_PATH = "%d/token";

function usesCredentials(plan: ServicePlan): boolean {
  return plan.credentials && plan.scope === "system";
}

function credentialLines(plan: ServicePlan): string[] {
  return usesCredentials(plan)
    ? [`LoadCredential=token:${specifierFree(plan.tokenFile)}`]
    : [];
}

function directoryLines(plan: ServicePlan): string[] {
  // systemd makes and owns a state directory only below its own root.
  const below = "/var/lib/";
  if (plan.scope !== "system" || !plan.stateDirectory.startsWith(below)) {
    return [];
  }
  return [
    `StateDirectory=${specifierFree(plan.stateDirectory.slice(below.length))}`,
    "StateDirectoryMode=0700",
  ];
}

/**
 * What the manager takes from the process. Left out on purpose, because they break the product:
 * MemoryDenyWriteExecute (the engines compile code), RestrictNamespaces, ProtectProc and
 * PrivateUsers (sandboxes of Harnesses), ProtectHome (logins and workspaces live there),
 * a list of allowed system calls and PrivateNetwork (tools are arbitrary programs). The calls that
 * the strict profile denies need privileges that the process does not have anyway.
 */
function confinement(plan: ServicePlan): string[] {
  const always = [
    "NoNewPrivileges=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "LockPersonality=yes",
    "SystemCallArchitectures=native",
  ];
  // The manager of a user may not set up the rest.
  if (plan.scope === "user") return always;
  const common = [
    ...always,
    "CapabilityBoundingSet=",
    "AmbientCapabilities=",
    "PrivateTmp=yes",
    "PrivateDevices=yes",
    "PrivateMounts=yes",
    "RemoveIPC=yes",
    "ProtectClock=yes",
    "ProtectHostname=yes",
    "ProtectKernelModules=yes",
    "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK",
  ];
  switch (plan.profile) {
    case "compatible":
      return [...common, "ProtectSystem=full"];
    case "strict":
      return [
        ...common,
        "ProtectSystem=strict",
        ...writable(plan),
        "ProtectKernelTunables=yes",
        "ProtectKernelLogs=yes",
        "ProtectControlGroups=yes",
        "SystemCallFilter=~@clock @cpu-emulation @module @obsolete @raw-io @reboot @swap",
        "SystemCallErrorNumber=EPERM",
      ];
  }
}

function writable(plan: ServicePlan): string[] {
  const paths = [
    plan.stateDirectory,
    ...(plan.workspace === undefined ? [] : [plan.workspace]),
  ].filter(isAbsolute);
  return [`ReadWritePaths=${paths.map(quote).join(" ")}`];
}

function specifierFree(text: string): string {
  return text.replaceAll("%", "%%");
}

function quote(text: string): string {
  const escaped = specifierFree(text).replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"');
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(escaped) ? escaped : `"${escaped}"`;
}

/** In a command line a dollar sign also begins a variable. */
function quoteExec(text: string): string {
  return quote(text).replaceAll("$", "$$$$");
}
