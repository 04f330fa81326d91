/** What the command table says about the commands in this group. */
import type { CommandSpecification } from "./command.ts";
import {
  allowRoot,
  allSettings,
  jsonOption,
  location,
  settingOptions,
} from "./setting_options.ts";

/** Commands that run, bind and stop the daemon, and those that run one Turn. */
export const daemonCommands: readonly CommandSpecification[] = [
  {
    name: "run",
    summary: "serves Core until stopped (the default command)",
    description: [
      "Holds one connection to Core and runs Harnesses on Core's orders, in the foreground. The first SIGTERM or SIGINT stops it gracefully: it waits until every native process, transfer and interaction is settled and says what it waits for. The second one ends the native processes and the daemon.",
      "A SIGKILL settles nothing: native processes may live on until the next start with the same state directory, which ends them first. Under systemd they end with the daemon.",
      "Settings come from the command line, then the environment, then the configuration file, then the defaults.",
    ],
    operands: [],
    options: [
      ...allSettings,
      allowRoot,
      {
        name: "once",
        description: "Connects, sends the first heartbeat and ends.",
      },
      {
        name: "require-harness",
        description: "Refuses to run while no Harness is available.",
      },
    ],
    examples: [
      "agent-daemon --device-id 6f0c2d1e-0f54-4b7e-9b36-2b8f1f9d7a10 --token-file ~/.config/agent-daemon/token --core-url https://core.example",
    ],
    exits: ["held", "unavailable", "protocol", "rejected", "configuration"],
  },
  {
    name: "enroll",
    summary: "binds this machine to an Environment of Core",
    description: [
      "Presents an executor credential, learns the device, the Session and the workspace, and writes them to binding.json in the state directory. The credential stays where it is.",
    ],
    operands: [],
    options: [
      ...settingOptions([
        "environmentId",
        "tokenFile",
        "coreUrl",
        "workspace",
        "config",
        "stateDirectory",
        "authorityFile",
        "proxy",
        "noProxy",
      ]),
      allowRoot,
    ],
    examples: [
      "agent-daemon enroll --environment-id 0b7c9f52-3a1d-4c55-8d0e-5f6a7b8c9d0e --token-file ~/executor.json --core-url https://core.example",
    ],
    exits: ["unavailable", "protocol", "rejected", "configuration"],
  },
  {
    name: "stop",
    summary: "asks the running daemon to stop and waits for it",
    description: [
      "Sends one stop signal to the daemon that holds the state directory, after proving that it is that process, and waits. When the wait ends first, the daemon goes on settling.",
    ],
    operands: [],
    options: [
      ...location,
      {
        name: "timeout",
        placeholder: "DURATION",
        description: "How long to wait.",
        initialText: "90s",
      },
    ],
    examples: ["agent-daemon stop --timeout 2m"],
    exits: ["negative", "unconfirmed", "configuration"],
  },
];

/** Commands of a machine that freezes and thaws the daemon. */
export const suspensionCommands: readonly CommandSpecification[] = [
  {
    name: "resume",
    summary: "wakes a daemon that Core suspended (Linux)",
    description: [
      "Sends one wake signal to the daemon that owns the control file, after proving that it is that process and that it waits for this suspension of this Environment. The daemon then connects, and Core resumes it.",
    ],
    operands: [],
    options: [
      ...settingOptions(["suspendControl", "environmentId", "config"]),
      {
        name: "suspend-id",
        placeholder: "ID",
        description: "The suspension that ends.",
      },
    ],
    examples: [
      "agent-daemon resume --suspend-control /run/agent-daemon/suspend --environment-id 0b7c9f52-3a1d-4c55-8d0e-5f6a7b8c9d0e --suspend-id 42",
    ],
    exits: ["negative", "configuration"],
  },
];

/** Commands that run one Turn inside this process. */
export const turnCommands: readonly CommandSpecification[] = [
  {
    name: "try",
    summary: "runs one Turn on this machine, with a Core inside the process",
    description: [
      "Sends the prompt through the complete path: a small Core on loopback, the WebSocket, the dispatcher, the adapter and the real Harness with its own login. The answer is streamed to stdout.",
    ],
    operands: [{
      placeholder: "PROMPT",
      description: "What to say.",
      required: true,
    }],
    options: [
      {
        name: "harness",
        placeholder: "KIND",
        description: "Which Harness.",
        choices: ["codex", "claude"],
        initialText: "codex",
      },
      {
        name: "demo",
        description:
          "Uses a model provider on loopback that needs no account and answers with a fixed text.",
      },
      {
        name: "trace",
        description: "Prints one line per frame and receipt to stderr.",
      },
      {
        name: "model",
        placeholder: "NAME",
        description: "The model to ask for.",
        initialText: "the Harness's own",
      },
      ...settingOptions(["workspace", "codexProgram", "claudeProgram"]),
    ],
    examples: [
      'agent-daemon try --harness codex "say hello"',
      'agent-daemon try --harness codex --demo "hello"',
    ],
    exits: ["negative", "configuration"],
  },
  {
    name: "selftest",
    summary: "proves that this build works, without network or login",
    description: [
      "Runs the daemon's own parts against a Core inside the process and a scripted exchange, and prints one line per check.",
    ],
    operands: [],
    options: [jsonOption],
    examples: ["agent-daemon selftest"],
    exits: ["negative"],
  },
];
