/** The command table: parsing, help, completions and manual pages are made from it. */
import type { CommandSpecification } from "./command.ts";
import {
  daemonCommands,
  suspensionCommands,
  turnCommands,
} from "./daemon_commands.ts";
import { inspectionCommands } from "./inspection_commands.ts";
import {
  informationCommands,
  installationCommands,
} from "./installation_commands.ts";
import { serviceCommands } from "./service_commands.ts";

/** The name of the command that runs when none is named. */
export const DEFAULT_COMMAND = "run";

/** All commands, in the order of help. */
export const COMMANDS: readonly CommandSpecification[] = [
  ...daemonCommands,
  ...suspensionCommands,
  ...turnCommands,
  ...inspectionCommands,
  ...serviceCommands,
  ...installationCommands,
  ...informationCommands,
];

/** The command of that name. */
export function findCommand(name: string): CommandSpecification | undefined {
  return COMMANDS.find((command) => command.name === name);
}
