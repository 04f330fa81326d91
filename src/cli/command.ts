/** The shape of a command: what the table says about it and what its code gets and returns. */
import type { ExitName } from "./exit_codes.ts";
import type { Outside } from "./outside.ts";

/** One option of a command. Without a placeholder it is a switch. */
export interface OptionSpecification {
  /** The flag without its dashes. */
  readonly name: string;
  /** One letter, usable after a single dash. */
  readonly short?: string;
  readonly placeholder?: string;
  readonly description: string;
  readonly choices?: readonly string[];
  /** Completion offers files. */
  readonly path?: true;
  /** The default in words. */
  readonly initialText?: string;
  /** The variable that gives the same value. */
  readonly variable?: string;
}

/** A positional argument. */
export interface OperandSpecification {
  readonly placeholder: string;
  readonly description: string;
  readonly required: boolean;
  readonly choices?: readonly string[];
}

/** Everything the table says about a command. */
export interface CommandSpecification {
  /** One or two words, such as `service install`. */
  readonly name: string;
  /** One line for lists. */
  readonly summary: string;
  /** Paragraphs for help and the manual. */
  readonly description: readonly string[];
  readonly operands: readonly OperandSpecification[];
  readonly options: readonly OptionSpecification[];
  /** Commands to paste. */
  readonly examples: readonly string[];
  /** Codes that the command may end with besides `ok`, `internal` and `usage`. */
  readonly exits: readonly ExitName[];
}

/** A parsed command line. */
export interface Invocation {
  readonly command: CommandSpecification;
  /** Option name to text; a switch that was given has the text `true`. */
  readonly options: ReadonlyMap<string, string>;
  readonly operands: readonly string[];
}

/** The code of a command. Resolves to the exit code of the process. */
export type CommandHandler = (
  invocation: Invocation,
  outside: Outside,
) => Promise<number>;
