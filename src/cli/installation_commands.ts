/** What the command table says about the commands in this group. */
import type { CommandSpecification } from "./command.ts";
import { jsonOption, settingOptions } from "./setting_options.ts";

/** Commands that change or describe the installation. */
export const installationCommands: readonly CommandSpecification[] = [
  {
    name: "upgrade",
    summary: "installs another release beside this one and switches to it",
    description: [
      "Downloads the release, verifies its checksum and signature, runs it, and only then switches. The two previous versions are kept for rollback. Nothing is ever upgraded by itself.",
    ],
    operands: [],
    options: [
      ...settingOptions(["config", "stateDirectory"]),
      {
        name: "version",
        placeholder: "VERSION",
        description: "The release to install.",
        initialText: "the newest",
      },
      {
        name: "base-url",
        placeholder: "URL",
        description: "Where releases are served.",
      },
      { name: "check", description: "Only says what would be done." },
      {
        name: "force",
        description: "Installs it although it speaks another wire version.",
      },
    ],
    examples: ["agent-daemon upgrade --check"],
    exits: ["unavailable", "protocol", "configuration"],
  },
  {
    name: "rollback",
    summary: "switches back to the release before this one",
    description: ["Works only while an earlier release is kept."],
    operands: [],
    options: settingOptions(["config", "stateDirectory"]),
    examples: ["agent-daemon rollback"],
    exits: ["configuration"],
  },
  {
    name: "uninstall",
    summary: "removes the service, the program and its runtime files",
    description: [
      "Keeps the configuration, the state, the native history and always the workspace. With --purge the configuration and the state are listed and removed too.",
    ],
    operands: [],
    options: [
      ...settingOptions(["config", "stateDirectory"]),
      {
        name: "purge",
        description: "Also removes configuration, token and state.",
      },
      { name: "yes", description: "Does not ask." },
    ],
    examples: ["agent-daemon uninstall"],
    exits: ["held", "configuration"],
  },
];

/** Commands that print something about the program. */
export const informationCommands: readonly CommandSpecification[] = [
  {
    name: "completions",
    summary: "prints a completion script",
    description: ["Load it from the start-up file of the shell."],
    operands: [{
      placeholder: "SHELL",
      description: "bash, zsh, fish or powershell.",
      required: true,
      choices: ["bash", "zsh", "fish", "powershell"],
    }],
    options: [],
    examples: ["agent-daemon completions bash"],
    exits: [],
  },
  {
    name: "man",
    summary: "prints the manual page",
    description: [
      "Without a command it prints the page of the program, in the format of man.",
    ],
    operands: [{
      placeholder: "COMMAND",
      description: "A command, such as run or service-install.",
      required: false,
    }],
    options: [],
    examples: ["agent-daemon man run"],
    exits: [],
  },
  {
    name: "version",
    summary: "prints the version of the program and of the wire",
    description: ["The two versions are independent."],
    operands: [],
    options: [jsonOption],
    examples: ["agent-daemon version --json"],
    exits: [],
  },
  {
    name: "help",
    summary: "prints help",
    description: ["The same as --help."],
    operands: [{
      placeholder: "COMMAND",
      description: "One or two words, such as run or service install.",
      required: false,
    }, {
      placeholder: "SUBCOMMAND",
      description: "The second word.",
      required: false,
    }],
    options: [],
    examples: ["agent-daemon help run"],
    exits: [],
  },
];
