/** What the command table says about `service`. */
import type { CommandSpecification, OptionSpecification } from "./command.ts";
import { jsonOption, settingOptions } from "./setting_options.ts";

const placement: readonly OptionSpecification[] = [
  {
    name: "user",
    description: "A service of this user (the default unless root).",
  },
  { name: "system", description: "A service of the machine; needs root." },
  {
    name: "name",
    placeholder: "NAME",
    description: "The name of the service.",
    initialText: "agent-daemon",
  },
];

const content: readonly OptionSpecification[] = [
  {
    name: "profile",
    placeholder: "strict|compatible",
    description: "How much the service manager confines the process.",
    choices: ["strict", "compatible"],
    initialText: "compatible",
  },
  {
    name: "run-as",
    placeholder: "ACCOUNT",
    description: "The account of a system service.",
    initialText: "agent-daemon",
  },
  {
    name: "kind",
    placeholder: "systemd|launchd|windows",
    description: "The service manager to write for.",
    choices: ["systemd", "launchd", "windows"],
    initialText: "the one of this system",
  },
  ...settingOptions([
    "config",
    "stateDirectory",
    "tokenFile",
    "workspace",
    "codexProgram",
    "claudeProgram",
  ]),
];

function serviceCommand(
  verb: string,
  summary: string,
  description: string,
  options: readonly OptionSpecification[],
): CommandSpecification {
  return {
    name: `service ${verb}`,
    summary,
    description: [description],
    operands: [],
    options: [...placement, ...options],
    examples: [`agent-daemon service ${verb}`],
    exits: ["negative", "configuration"],
  };
}

/** Commands that hand the daemon to the system's service manager. */
export const serviceCommands: readonly CommandSpecification[] = [
  serviceCommand(
    "install",
    "installs and starts the daemon as a service",
    "Writes the service with the absolute paths of the program and the Harnesses, because service managers give a minimal search path, then enables and starts it.",
    [...content, { name: "no-start", description: "Only writes it." }],
  ),
  serviceCommand(
    "uninstall",
    "stops and removes the service",
    "Keeps configuration, state and workspace.",
    [],
  ),
  serviceCommand("start", "starts the service", "Asks the manager.", []),
  serviceCommand("stop", "stops the service", "Asks the manager.", []),
  serviceCommand("restart", "restarts the service", "Asks the manager.", []),
  serviceCommand(
    "status",
    "shows whether the service is installed, current and running",
    "Compares the installed definition with the one this program would write now.",
    [...content, jsonOption],
  ),
  serviceCommand(
    "print",
    "prints the service definition",
    "Changes nothing.",
    content,
  ),
];
