/** The exit codes of the program: what each one means and whether a supervisor should restart. */

/** One documented exit code. */
export interface ExitCode {
  readonly code: number;
  /** What happened, for help, manual pages and documentation. */
  readonly meaning: string;
  /** Whether starting again, unchanged, can help. */
  readonly restart: boolean;
}

/** All exit codes by name. 128+n after a second stop signal is the only one outside this table. */
export const EXIT_CODES = {
  ok: { code: 0, meaning: "stopped as asked, or done", restart: false },
  internal: { code: 1, meaning: "unexpected internal error", restart: true },
  negative: {
    code: 2,
    meaning: "status: not running; doctor: a check failed; service: not " +
      "installed or changed",
    restart: false,
  },
  usage: { code: 64, meaning: "mistake on the command line", restart: false },
  unavailable: { code: 69, meaning: "Core cannot be reached", restart: true },
  held: {
    code: 73,
    meaning: "the state directory or the device id is held by a live process",
    restart: false,
  },
  unconfirmed: {
    code: 75,
    meaning: "stop: the wait ended before native cleanup was confirmed",
    restart: false,
  },
  protocol: {
    code: 76,
    meaning: "Core speaks another wire version or another kind of executor",
    restart: false,
  },
  rejected: {
    code: 77,
    meaning: "Core rejected the credential",
    restart: false,
  },
  configuration: {
    code: 78,
    meaning: "invalid configuration, token file or workspace",
    restart: false,
  },
} as const satisfies Record<string, ExitCode>;

/** A name in {@linkcode EXIT_CODES}. */
export type ExitName = keyof typeof EXIT_CODES;

/** The codes after which a supervisor must not start the program again. */
export function codesWithoutRestart(): number[] {
  return [
    EXIT_CODES.usage,
    EXIT_CODES.held,
    EXIT_CODES.protocol,
    EXIT_CODES.rejected,
    EXIT_CODES.configuration,
  ].map((entry) => entry.code);
}
