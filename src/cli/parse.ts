/**
 * argv → {@linkcode Invocation}, strictly by the command table. Own code because the parser of the
 * standard library takes `--no-proxy=x` for `--proxy`, loses the value `-` and accepts a switch
 * with a value. No message repeats what was typed: a mistyped flag can hold a token.
 */
import type {
  CommandSpecification,
  Invocation,
  OptionSpecification,
} from "./command.ts";
import { COMMANDS, DEFAULT_COMMAND, findCommand } from "./commands.ts";
import { Mistake } from "./mistake.ts";
import { suggestion } from "./suggestion.ts";

/** What a command line asks for. */
export type Parsed =
  | { readonly kind: "command"; readonly invocation: Invocation }
  | { readonly kind: "help"; readonly command?: CommandSpecification }
  | { readonly kind: "version" };

/**
 * Parses the arguments after the program's name.
 *
 * @throws {Mistake} with the exit code of a usage mistake.
 */
export function parseArguments(argv: readonly string[]): Parsed {
  const first = argv[0];
  if (first === "--version" || first === "-V") return { kind: "version" };
  const { command, rest } = commandOf(argv);
  const asksHelp = flagsOf(rest).some((word) =>
    word === "--help" || word === "-h"
  );
  if (asksHelp) {
    // Without a command word, the help is that of the program.
    return rest.length === argv.length
      ? { kind: "help" }
      : { kind: "help", command };
  }
  return { kind: "command", invocation: parseRest(command, rest) };
}

/** The words before `--`. */
function flagsOf(words: readonly string[]): readonly string[] {
  const end = words.indexOf("--");
  return end === -1 ? words : words.slice(0, end);
}

function commandOf(
  argv: readonly string[],
): { command: CommandSpecification; rest: readonly string[] } {
  const [first, second] = argv;
  const fallback = findCommand(DEFAULT_COMMAND);
  if (!fallback) throw new Error("the default command is not in the table");
  if (first === undefined || first.startsWith("-")) {
    return { command: fallback, rest: argv };
  }
  const single = findCommand(first);
  if (single) return { command: single, rest: argv.slice(1) };
  const group = COMMANDS.filter((each) => each.name.startsWith(`${first} `));
  if (group.length === 0) {
    throw usage("command", "is not known", first, topWords(), "help");
  }
  const verbs = group.map((each) => each.name.slice(first.length + 1));
  if (second === "--help" || second === "-h") {
    throw usage(first, "needs a second word", "", verbs, "help");
  }
  const command = second === undefined
    ? undefined
    : findCommand(`${first} ${second}`);
  if (command) return { command, rest: argv.slice(2) };
  const rule = second === undefined || second.startsWith("-")
    ? "needs a second word"
    : "has no such command";
  throw new Mistake({
    place: first,
    rule,
    fix: suggestion(second ?? "", verbs, `use one of ${verbs.join(", ")}`),
    exit: "usage",
  });
}

function topWords(): string[] {
  return [...new Set(COMMANDS.map((each) => each.name.split(" ")[0] ?? ""))];
}

function usage(
  place: string,
  rule: string,
  typed: string,
  known: readonly string[],
  help: string,
): Mistake {
  return new Mistake({
    place,
    rule,
    fix: suggestion(typed, known, `see agent-daemon ${help}`),
    exit: "usage",
  });
}

function parseRest(
  command: CommandSpecification,
  words: readonly string[],
): Invocation {
  const options = new Map<string, string>();
  const operands: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    if (word === "--") {
      operands.push(...words.slice(index + 1));
      break;
    }
    if (word === "-" || !word.startsWith("-")) {
      operands.push(word);
      continue;
    }
    const { option, attached } = optionOf(command, word);
    if (options.has(option.name)) {
      throw optionMistake(option, "is given twice", "give it once");
    }
    if (option.placeholder === undefined) {
      if (attached !== undefined) {
        throw optionMistake(option, "takes no value", "leave the value out");
      }
      options.set(option.name, "true");
      continue;
    }
    const value = attached ?? words[++index];
    if (
      value === undefined || value === "" ||
      (attached === undefined && value.startsWith("-") && value !== "-")
    ) {
      throw optionMistake(
        option,
        "needs a value",
        `write --${option.name} ${option.placeholder}`,
      );
    }
    options.set(option.name, value);
  }
  checkOperands(command, operands);
  return { command, options, operands };
}

function optionOf(
  command: CommandSpecification,
  word: string,
): { option: OptionSpecification; attached: string | undefined } {
  const equals = word.indexOf("=");
  const typed = equals === -1 ? word : word.slice(0, equals);
  const attached = equals === -1 ? undefined : word.slice(equals + 1);
  const option = typed.startsWith("--")
    ? command.options.find((each) => `--${each.name}` === typed)
    : command.options.find((each) => `-${each.short}` === typed);
  if (option) return { option, attached };
  throw usage(
    "flag",
    "is not known here",
    typed,
    command.options.map((each) => `--${each.name}`),
    `help ${command.name}`,
  );
}

function optionMistake(
  option: OptionSpecification,
  rule: string,
  fix: string,
): Mistake {
  return new Mistake({ place: `--${option.name}`, rule, fix, exit: "usage" });
}

function checkOperands(
  command: CommandSpecification,
  operands: readonly string[],
): void {
  const help = `see agent-daemon help ${command.name}`;
  if (operands.length > command.operands.length) {
    throw new Mistake({
      place: "argument",
      rule: command.operands.length === 0
        ? `${command.name} takes none`
        : `${command.name} takes at most ${command.operands.length}`,
      fix: help,
      exit: "usage",
    });
  }
  for (const [index, operand] of command.operands.entries()) {
    const value = operands[index];
    if (value === undefined) {
      if (!operand.required) continue;
      throw new Mistake({
        place: operand.placeholder,
        rule: "is missing",
        fix: help,
        exit: "usage",
      });
    }
    if (operand.choices && !operand.choices.includes(value)) {
      throw new Mistake({
        place: operand.placeholder,
        rule: `must be one of ${operand.choices.join(", ")}`,
        fix: "choose one of them",
        exit: "usage",
      });
    }
  }
}
