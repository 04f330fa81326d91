/** `status`: what the daemon of this state directory last proved. */
import { processTable } from "../harness/process_table.ts";
import { sleep } from "../platform/clock.ts";
import type { Invocation } from "./command.ts";
import { EXIT_CODES } from "./exit_codes.ts";
import { isAlive } from "./live_process.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";
import { resolveSettings } from "./settings.ts";
import { readStatus, statusPath } from "./status_document.ts";
import { statusText } from "./status_text.ts";

/** Pause between two looks of `--watch`, in milliseconds. */
const PAUSE = 1_000;

/** Shows the status once, or again every second. Ends with 2 when no daemon runs. */
export async function statusCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  const { stateDirectory } = await resolveSettings(invocation, outside);
  if (!invocation.options.has("watch")) {
    return await show(stateDirectory, invocation, outside, "");
  }
  const ended = new AbortController();
  const listener = () => ended.abort();
  Deno.addSignalListener("SIGINT", listener);
  try {
    for (;;) {
      // On a terminal each look replaces the one before.
      const clear = outside.stdout.isTerminal ? "\x1b[H\x1b[J" : "";
      await show(stateDirectory, invocation, outside, clear);
      await sleep(outside.clock, PAUSE, ended.signal);
    }
  } catch (error) {
    if (!ended.signal.aborted) throw error;
    return EXIT_CODES.ok.code;
  } finally {
    Deno.removeSignalListener("SIGINT", listener);
  }
}

async function show(
  stateDirectory: string,
  invocation: Invocation,
  outside: Outside,
  clear: string,
): Promise<number> {
  const reading = await readStatus(stateDirectory);
  const json = invocation.options.has("json");
  if (reading.kind === "unreadable") {
    throw new Mistake({
      place: statusPath(stateDirectory),
      rule: reading.rule,
      fix: "run as the daemon's user and with its version",
      exit: "configuration",
    });
  }
  if (reading.kind === "none") {
    outside.stdout.write(
      json
        ? `${JSON.stringify({ running: false })}\n`
        : `${clear}no daemon has run with ${stateDirectory}\n`,
    );
    return EXIT_CODES.negative.code;
  }
  const { document } = reading;
  const alive = await isAlive(document, processTable(Deno.build.os));
  outside.stdout.write(
    json
      ? `${JSON.stringify({ running: alive, ...document })}\n`
      : `${clear}${
        statusText({ document, alive, now: outside.clock.now() })
      }\n`,
  );
  return alive ? EXIT_CODES.ok.code : EXIT_CODES.negative.code;
}
