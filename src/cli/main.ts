/** From argv to an exit code: parses, runs the command, turns every failure into one line. */
import { INSTALLED_SERVER_COMMAND, PROGRAM } from "./build.ts";
import type { CommandHandler, Invocation } from "./command.ts";
import { EXIT_CODES } from "./exit_codes.ts";
import { findHandler } from "./handlers.ts";
import { commandHelp, programHelp } from "./help.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import { parseArguments } from "./parse.ts";

/**
 * Runs the command that `argv` (without the program's name) asks for. Resolves to the exit code;
 * never rejects.
 */
export async function runCommandLine(
  argv: readonly string[],
  outside: Outside,
): Promise<number> {
  try {
    if (argv[0] === INSTALLED_SERVER_COMMAND) {
      const { installedServer } = await import("./installed_server.ts");
      return await installedServer(argv.slice(1), outside);
    }
    const parsed = parseArguments(argv);
    switch (parsed.kind) {
      case "help":
        outside.stdout.write(
          parsed.command
            ? commandHelp(parsed.command, outside.stdout.columns())
            : programHelp(outside.stdout.columns()),
        );
        return EXIT_CODES.ok.code;
      case "version":
        return await runCommandLine(["version"], outside);
      case "command":
        return await run(parsed.invocation, outside);
    }
  } catch (error) {
    return report(error, outside);
  }
}

async function run(invocation: Invocation, outside: Outside): Promise<number> {
  const handler: CommandHandler = await findHandler(invocation.command.name);
  return await handler(invocation, outside);
}

function report(error: unknown, outside: Outside): number {
  if (error instanceof Mistake) {
    outside.stderr.write(`${PROGRAM}: ${error.message}\n`);
    return error.exitCode;
  }
  // A fault of the program. The stack holds names and places of our code, no values of settings.
  const text = error instanceof Error
    ? error.stack ?? error.message
    : "a value that is no error was thrown";
  outside.stderr.write(
    `${PROGRAM}: internal error: ${text}\nPlease report this.\n`,
  );
  return EXIT_CODES.internal.code;
}
