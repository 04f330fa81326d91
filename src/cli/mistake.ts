/** A mistake of the operator: where it is, which rule it breaks, how to mend it. */
import { EXIT_CODES, type ExitName } from "./exit_codes.ts";

/** The parts of a {@linkcode Mistake}. None may hold a value that the operator typed. */
export interface MistakeParts {
  /** The flag, variable, member or file that is wrong. */
  readonly place: string;
  /** The rule it breaks. */
  readonly rule: string;
  /** What to do, ideally a command to paste. */
  readonly fix: string;
  readonly exit: ExitName;
}

/** Ends a command with one line on stderr and a documented exit code. */
export class Mistake extends Error {
  override readonly name = "Mistake";
  readonly exit: ExitName;

  constructor(readonly parts: MistakeParts) {
    super(`${parts.place}: ${parts.rule}; ${parts.fix}`);
    this.exit = parts.exit;
  }

  /** The number that the process ends with. */
  get exitCode(): number {
    return EXIT_CODES[this.exit].code;
  }
}
