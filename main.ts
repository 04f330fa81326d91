/** The program: argv → command, nothing else. */
import { runCommandLine } from "./src/cli/main.ts";
import { systemOutside } from "./src/cli/outside.ts";

if (import.meta.main) {
  Deno.exit(await runCommandLine(Deno.args, systemOutside()));
}
