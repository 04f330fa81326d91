/** Help texts, made from the command table. */
import { BUILD_VERSION, PROGRAM } from "./build.ts";
import type { CommandSpecification, OptionSpecification } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { EXIT_CODES } from "./exit_codes.ts";

/** The help of the program: what it is, its commands, where to go on. */
export function programHelp(columns: number): string {
  const width = Math.max(...COMMANDS.map((each) => each.name.length)) + 2;
  const lines = COMMANDS.map((each) =>
    `  ${each.name.padEnd(width)}${each.summary}`
  );
  return [
    `${PROGRAM} ${BUILD_VERSION}`,
    "",
    ...wrap(
      "Runs coding Harnesses on this machine for a Core, over one outbound connection.",
      columns,
    ),
    "",
    `Usage: ${PROGRAM} [COMMAND] [OPTION...]`,
    "",
    "Commands:",
    ...lines,
    "",
    `Start here: ${PROGRAM} doctor`,
    `Options of a command: ${PROGRAM} COMMAND --help`,
    "",
  ].join("\n");
}

/** The help of one command. */
export function commandHelp(
  command: CommandSpecification,
  columns: number,
): string {
  const lines = [synopsis(command), ""];
  for (const paragraph of command.description) {
    lines.push(...wrap(paragraph, columns), "");
  }
  if (command.operands.length > 0) {
    lines.push("Arguments:");
    for (const operand of command.operands) {
      lines.push(`  ${operand.placeholder.padEnd(12)}${operand.description}`);
    }
    lines.push("");
  }
  lines.push("Options:");
  for (const option of command.options) {
    lines.push(`  ${optionTitle(option)}`);
    lines.push(...wrap(optionText(option), columns, "      "));
  }
  lines.push("  -h, --help", "      Prints this.", "");
  lines.push("Examples:", ...command.examples.map((each) => `  ${each}`), "");
  lines.push("Exit codes:", ...exitLines(command), "");
  return lines.join("\n");
}

/** How a command is called, on one line. */
export function synopsis(command: CommandSpecification): string {
  const operands = command.operands.map((operand) =>
    operand.required ? operand.placeholder : `[${operand.placeholder}]`
  );
  const name = command.name === "run" ? "[run]" : command.name;
  return ["Usage:", PROGRAM, name, ...operands, "[OPTION...]"].join(" ");
}

/** The names and the placeholder of an option. */
export function optionTitle(option: OptionSpecification): string {
  const short = option.short ? `-${option.short}, ` : "";
  const value = option.placeholder ? ` ${option.placeholder}` : "";
  return `${short}--${option.name}${value}`;
}

/** The description of an option with its variable and default. */
export function optionText(option: OptionSpecification): string {
  const facts = [
    ...(option.variable ? [`variable ${option.variable}`] : []),
    ...(option.initialText ? [`default: ${option.initialText}`] : []),
  ];
  return facts.length > 0
    ? `${option.description} (${facts.join("; ")})`
    : option.description;
}

/** One line for each code that `command` may end with. */
export function exitLines(command: CommandSpecification): string[] {
  return (["ok", "internal", "usage", ...command.exits] as const)
    .map((name) => EXIT_CODES[name])
    .toSorted((one, other) => one.code - other.code)
    .map((exit) => `  ${String(exit.code).padEnd(4)}${exit.meaning}`);
}

/** Breaks `text` into lines of at most `columns` characters where words allow it. */
export function wrap(text: string, columns: number, indent = ""): string[] {
  const width = Math.max(40, Math.min(columns, 100));
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(" ")) {
    if (line.length > indent.length && line.length + word.length + 1 > width) {
      lines.push(line);
      line = indent;
    }
    line += line.length > indent.length ? ` ${word}` : word;
  }
  return [...lines, line];
}
