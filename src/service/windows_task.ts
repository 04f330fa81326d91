/**
 * Renders the scheduled task of a plan. A task, because a service of Windows must call its
 * dispatcher within 30 seconds, which this program does not.
 */
import { escapeXml } from "./launchd_plist.ts";
import { runWords, type ServicePlan } from "./plan.ts";

/** The task definition. Windows reads it as UTF-16. */
export function renderWindowsTask(plan: ServicePlan): string {
  const [program = "", ...before] = plan.program;
  const words = [
    ...before,
    ...runWords(plan, plan.tokenFile),
    "--on-permanent-error",
    "park",
  ];
  return [
    '<?xml version="1.0" encoding="UTF-16"?>',
    '<Task version="1.3" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">',
    "  <RegistrationInfo>",
    "    <Description>agent-daemon (Core runtime)</Description>",
    `    <URI>\\${escapeXml(plan.name)}</URI>`,
    "  </RegistrationInfo>",
    "  <Triggers>",
    ...trigger(plan),
    "  </Triggers>",
    "  <Principals>",
    '    <Principal id="Author">',
    `      <UserId>${escapeXml(plan.account)}</UserId>`,
    `      <LogonType>${
      plan.scope === "system" ? "S4U" : "InteractiveToken"
    }</LogonType>`,
    "      <RunLevel>LeastPrivilege</RunLevel>",
    "    </Principal>",
    "  </Principals>",
    "  <Settings>",
    "    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>",
    "    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>",
    "    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>",
    "    <StartWhenAvailable>true</StartWhenAvailable>",
    "    <Hidden>true</Hidden>",
    "    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>",
    "    <RestartOnFailure>",
    "      <Interval>PT1M</Interval>",
    "      <Count>999</Count>",
    "    </RestartOnFailure>",
    "  </Settings>",
    '  <Actions Context="Author">',
    "    <Exec>",
    `      <Command>${escapeXml(program)}</Command>`,
    `      <Arguments>${
      escapeXml(words.map(quoteWindowsWord).join(" "))
    }</Arguments>`,
    `      <WorkingDirectory>${
      escapeXml(plan.stateDirectory)
    }</WorkingDirectory>`,
    "    </Exec>",
    "  </Actions>",
    "</Task>",
    "",
  ].join("\r\n");
}

function trigger(plan: ServicePlan): string[] {
  return plan.scope === "system"
    ? [
      "    <BootTrigger>",
      "      <Enabled>true</Enabled>",
      "    </BootTrigger>",
    ]
    : [
      "    <LogonTrigger>",
      "      <Enabled>true</Enabled>",
      `      <UserId>${escapeXml(plan.account)}</UserId>`,
      "    </LogonTrigger>",
    ];
}

/** One word of a Windows command line, so that a program gets back exactly `word`. */
export function quoteWindowsWord(word: string): string {
  if (word !== "" && !/[\s"]/.test(word)) return word;
  // Backslashes count only before a quote; there each must be doubled.
  const escaped = word.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, "$1$1");
  return `"${escaped}"`;
}
