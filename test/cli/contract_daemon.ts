/** The program with the scripted Harness in place of the shipped ones; everything else is real. */
import type { CloseGrace } from "../../src/harness/child.ts";
import { Mistake } from "../../src/cli/mistake.ts";
import { systemOutside } from "../../src/cli/outside.ts";
import { parseArguments } from "../../src/cli/parse.ts";
import { runWithAdapters } from "../../src/cli/run.ts";
import { scriptedHarness } from "../support/scripted_harness/adapter.ts";

/** Steps that a test can wait for, or a first one that none can. */
const closeGrace: CloseGrace = {
  afterEndOfInput: Deno.env.has("PATIENT_CLOSE") ? 600_000 : 200,
  afterTerminate: 200,
  afterKill: 3_000,
};

const parsed = parseArguments(Deno.args);
if (parsed.kind !== "command") throw new Error("the daemon runs a command");
const outside = systemOutside();
try {
  Deno.exit(
    await runWithAdapters(parsed.invocation, outside, [
      scriptedHarness({ closeGrace }),
    ]),
  );
} catch (error) {
  if (!(error instanceof Mistake)) throw error;
  outside.stderr.write(`agent-daemon: ${error.message}\n`);
  Deno.exit(error.exitCode);
}
