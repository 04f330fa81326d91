/** `help`: the same texts as `--help`. */
import type { Invocation } from "./command.ts";
import type { Outside } from "./outside.ts";
import { COMMANDS, findCommand } from "./commands.ts";
import { EXIT_CODES } from "./exit_codes.ts";
import { commandHelp, programHelp } from "./help.ts";
import { Mistake } from "./mistake.ts";
import { suggestion } from "./suggestion.ts";

/** Prints the help of the program or of the named command. */
export function helpCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  const name = invocation.operands.join(" ");
  const columns = outside.stdout.columns();
  if (name === "") {
    outside.stdout.write(programHelp(columns));
    return Promise.resolve(EXIT_CODES.ok.code);
  }
  const command = findCommand(name);
  if (command) {
    outside.stdout.write(commandHelp(command, columns));
    return Promise.resolve(EXIT_CODES.ok.code);
  }
  const group = COMMANDS.filter((each) => each.name.startsWith(`${name} `));
  if (group.length > 0) {
    for (const each of group) {
      outside.stdout.write(`agent-daemon ${each.name}: ${each.summary}\n`);
    }
    return Promise.resolve(EXIT_CODES.ok.code);
  }
  throw new Mistake({
    place: "COMMAND",
    rule: "is not known",
    fix: suggestion(
      name,
      COMMANDS.map((each) => each.name),
      "see agent-daemon help",
    ),
    exit: "usage",
  });
}
