/** What the command table says about the commands in this group. */
import type { CommandSpecification } from "./command.ts";
import {
  allSettings,
  jsonOption,
  location,
  settingOptions,
} from "./setting_options.ts";

/** Commands that only look. */
export const inspectionCommands: readonly CommandSpecification[] = [
  {
    name: "status",
    summary: "shows the last proven facts of the daemon, with their ages",
    description: [
      "Reads what the daemon last wrote: the process, the connection, the Harnesses, what it owns and what a stop waits for. A fact is shown with its age; it is never shown as current without proof.",
    ],
    operands: [],
    options: [...location, jsonOption, {
      name: "watch",
      description: "Shows it again every second until interrupted.",
    }],
    examples: ["agent-daemon status --watch"],
    exits: ["negative", "configuration"],
  },
  {
    name: "doctor",
    summary: "checks everything between this machine and a working Turn",
    description: [
      "Runs ordered checks; each ends ok, warn, fail or skip with one line that says what to do. Nothing is changed, and a running daemon is not disturbed unless --connect is given.",
    ],
    operands: [],
    options: [
      ...allSettings,
      jsonOption,
      { name: "offline", description: "Skips every check that needs Core." },
      {
        name: "connect",
        description:
          "Also opens the WebSocket. This displaces a daemon that uses the same device id.",
      },
    ],
    examples: ["agent-daemon doctor --offline"],
    exits: ["negative", "configuration"],
  },
  {
    name: "logs",
    summary: "shows the log of the daemon",
    description: [
      "Prints the end of the log file, or runs the system's journal reader where the service logs there.",
    ],
    operands: [],
    options: [
      ...settingOptions(["config", "stateDirectory", "logFile"]),
      {
        name: "follow",
        short: "f",
        description: "Goes on printing new lines until interrupted.",
      },
      {
        name: "lines",
        short: "n",
        placeholder: "N",
        description: "How many lines to begin with.",
        initialText: "100",
      },
    ],
    examples: ["agent-daemon logs -f"],
    exits: ["negative", "configuration"],
  },
  {
    name: "config show",
    summary: "prints the settings in effect",
    description: ["Secrets are never settings, so nothing secret is printed."],
    operands: [],
    options: [...allSettings, jsonOption, {
      name: "origin",
      description: "Says for each setting where its value comes from.",
    }],
    examples: ["agent-daemon config show --origin"],
    exits: ["configuration"],
  },
  {
    name: "config path",
    summary: "prints the path of the configuration file",
    description: ["The file need not exist."],
    operands: [],
    options: settingOptions(["config"]),
    examples: ["agent-daemon config path"],
    exits: ["configuration"],
  },
  {
    name: "config validate",
    summary: "checks the configuration file and the settings",
    description: ["Prints one line for the first mistake."],
    operands: [],
    options: allSettings,
    examples: ["agent-daemon config validate"],
    exits: ["configuration"],
  },
  {
    name: "harness list",
    summary: "shows which Harnesses this daemon would offer",
    description: [
      "Looks for each program as the daemon does and says which one it would use, or why it has none.",
    ],
    operands: [],
    options: [
      ...settingOptions([
        "config",
        "stateDirectory",
        "codexProgram",
        "claudeProgram",
        "permissions",
        "workspace",
      ]),
      jsonOption,
    ],
    examples: ["agent-daemon harness list"],
    exits: ["negative", "configuration"],
  },
];
