/** Renders the launchd property list of a plan. */
import { join } from "@std/path";
import { runWords, type ServicePlan, STOP_SECONDS } from "./plan.ts";

/** The label of the job. */
export function launchdLabel(plan: ServicePlan): string {
  return `dev.agent-daemon.${plan.name}`;
}

/** Decimal of 077. */
const UMASK = 63;
/** launchd starts a failed job again after this many seconds. */
const THROTTLE_SECONDS = 30;

/** A value of a property list. */
type Property =
  | string
  | number
  | boolean
  | readonly Property[]
  | { readonly [key: string]: Property };

/** The property list. launchd cannot exclude exit codes, so a refused daemon parks instead. */
export function renderLaunchdPlist(plan: ServicePlan): string {
  const root: Property = {
    Label: launchdLabel(plan),
    ProgramArguments: [
      ...plan.program,
      ...runWords(plan, plan.tokenFile),
      "--on-permanent-error",
      "park",
    ],
    ...(plan.scope === "system" ? { UserName: plan.account } : {}),
    RunAtLoad: true,
    KeepAlive: { SuccessfulExit: false },
    ThrottleInterval: THROTTLE_SECONDS,
    ExitTimeOut: STOP_SECONDS,
    ProcessType: "Background",
    Umask: UMASK,
    EnvironmentVariables: { HOME: plan.home, PATH: plan.searchPath },
    WorkingDirectory: plan.stateDirectory,
    StandardOutPath: join(plan.logDirectory, `${plan.name}.log`),
    StandardErrorPath: join(plan.logDirectory, `${plan.name}.log`),
    AbandonProcessGroup: false,
    HardResourceLimits: { Core: 0 },
  };
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    '<plist version="1.0">',
    ...render(root, ""),
    "</plist>",
    "",
  ].join("\n");
}

function render(value: Property, indent: string): string[] {
  if (typeof value === "string") {
    return [`${indent}<string>${escapeXml(value)}</string>`];
  }
  if (typeof value === "number") {
    return [`${indent}<integer>${value}</integer>`];
  }
  if (typeof value === "boolean") return [`${indent}<${value}/>`];
  const inner = `${indent}  `;
  if (isList(value)) {
    return [
      `${indent}<array>`,
      ...value.flatMap((each) => render(each, inner)),
      `${indent}</array>`,
    ];
  }
  return [
    `${indent}<dict>`,
    ...Object.entries(value).flatMap(([key, each]) => [
      `${inner}<key>${escapeXml(key)}</key>`,
      ...render(each, inner),
    ]),
    `${indent}</dict>`,
  ];
}

function isList(value: Property): value is readonly Property[] {
  return Array.isArray(value);
}

/** Text that may stand between tags. Control characters, which XML has no form for, are dropped. */
export function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;").replaceAll('"', "&quot;")
    // deno-lint-ignore no-control-regex -- these characters are what is removed
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f]/g, "");
}
