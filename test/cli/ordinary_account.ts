/** The program as an ordinary account sees it, also where the tests run as root. */
import { runCommandLine } from "../../src/cli/main.ts";
import { systemOutside } from "../../src/cli/outside.ts";

const outside = systemOutside();
Deno.exit(
  await runCommandLine(Deno.args, {
    ...outside,
    userId: outside.userId === 0 ? 1000 : outside.userId,
  }),
);
