/** Manual pages in the format of man, made from the command table. */
import { BUILD_VERSION, PROGRAM } from "./build.ts";
import type { CommandSpecification, Invocation } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { EXIT_CODES } from "./exit_codes.ts";
import { optionText, optionTitle, synopsis } from "./help.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import { suggestion } from "./suggestion.ts";

/** Prints the page of the program or of one command. */
export function manualCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  const name = invocation.operands[0];
  if (name === undefined) {
    outside.stdout.write(programPage());
    return Promise.resolve(EXIT_CODES.ok.code);
  }
  const names = COMMANDS.map((each) => each.name.replace(" ", "-"));
  const command = COMMANDS[names.indexOf(name)];
  if (command === undefined) {
    throw new Mistake({
      place: "COMMAND",
      rule: "is not known",
      fix: suggestion(name, names, "see agent-daemon help"),
      exit: "usage",
    });
  }
  outside.stdout.write(commandPage(command));
  return Promise.resolve(EXIT_CODES.ok.code);
}

/** The page of the program. */
export function programPage(): string {
  return page(PROGRAM.toUpperCase(), [
    section("NAME", [
      escape(`${PROGRAM} - runs coding Harnesses on this machine for a Core`),
    ]),
    section("SYNOPSIS", [bold(PROGRAM), escape("[COMMAND] [OPTION...]")]),
    section("DESCRIPTION", [
      escape(
        "Holds one outbound connection to a Core and runs Harnesses on its orders.",
      ),
    ]),
    section(
      "COMMANDS",
      COMMANDS.flatMap((command) => [
        ".TP",
        bold(command.name),
        escape(
          `${command.summary}. See ${PROGRAM}-${
            command.name.replace(" ", "-")
          }(1).`,
        ),
      ]),
    ),
    section("EXIT STATUS", exitLines(Object.values(EXIT_CODES))),
  ]);
}

/** The page of one command. */
export function commandPage(command: CommandSpecification): string {
  const name = `${PROGRAM}-${command.name.replace(" ", "-")}`;
  const exits = (["ok", "internal", "usage", ...command.exits] as const)
    .map((each) => EXIT_CODES[each])
    .toSorted((one, other) => one.code - other.code);
  return page(name.toUpperCase(), [
    section("NAME", [escape(`${name} - ${command.summary}`)]),
    section("SYNOPSIS", [escape(synopsis(command).replace("Usage: ", ""))]),
    section(
      "DESCRIPTION",
      command.description.flatMap((text, index) => [
        ...(index > 0 ? [".PP"] : []),
        escape(text),
      ]),
    ),
    section(
      "OPTIONS",
      [
        ...command.operands.map((operand) =>
          [operand.placeholder, operand.description] as const
        ),
        ...command.options.map((option) =>
          [optionTitle(option), optionText(option)] as const
        ),
        ["-h, --help", "Prints help."] as const,
      ].flatMap(([title, text]) => [".TP", bold(title), escape(text)]),
    ),
    section("EXAMPLES", [
      ".nf",
      ...command.examples.map(escape),
      ".fi",
    ]),
    section("EXIT STATUS", exitLines(exits)),
  ]);
}

function page(title: string, sections: readonly string[]): string {
  const head =
    `.TH "${title}" 1 "" "${PROGRAM} ${BUILD_VERSION}" "User Commands"`;
  return `${[head, ...sections].join("\n")}\n`;
}

function section(name: string, lines: readonly string[]): string {
  return [`.SH ${name}`, ...lines].join("\n");
}

function exitLines(
  exits: readonly { readonly code: number; readonly meaning: string }[],
): string[] {
  return exits.flatMap((exit) => [
    ".TP",
    bold(String(exit.code)),
    escape(exit.meaning),
  ]);
}

function bold(text: string): string {
  return `\\fB${escape(text)}\\fR`;
}

/** A line may not begin with a control character of the format. */
function escape(text: string): string {
  const safe = text.replaceAll("\\", "\\e").replaceAll("-", "\\-");
  return /^[.']/.test(safe) ? `\\&${safe}` : safe;
}
