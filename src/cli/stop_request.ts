/**
 * The stop request of systems without SIGTERM: a file in the state directory that names the
 * process it is for, so that a request for an earlier daemon stops nobody.
 */
import { join } from "@std/path";
import { z } from "zod";
import { writeFileAtomically } from "../platform/atomic_file.ts";
import { sleep } from "../platform/clock.ts";
import type { Outside } from "./outside.ts";
import type { StopSignals } from "./stop_signals.ts";

/** How often the file is looked for, in milliseconds. */
const POLL = 1_000;

const requestDocument = z.object({
  pid: z.number(),
  started_at: z.number(),
});

function requestPath(stateDirectory: string): string {
  return join(stateDirectory, "stop.request");
}

/** Asks the process `pid` that started at `startedAt` to stop. */
export async function requestStop(
  stateDirectory: string,
  target: { readonly pid: number; readonly startedAt: number },
  outside: Outside,
): Promise<void> {
  await writeFileAtomically(
    requestPath(stateDirectory),
    JSON.stringify({ pid: target.pid, started_at: target.startedAt }),
    outside,
  );
}

/** Looks for requests until `ended`, on systems that need it. An old file is removed first. */
export async function watchStopRequests(
  { outside, settings }: {
    readonly outside: Outside;
    readonly settings: { readonly stateDirectory: string };
  },
  stops: StopSignals,
  ended: AbortSignal,
): Promise<void> {
  if (outside.operatingSystem !== "windows") return;
  const path = requestPath(settings.stateDirectory);
  for (;;) {
    try {
      await sleep(outside.clock, POLL, ended);
    } catch {
      return; // the daemon ended
    }
    if (await takeRequest(path)) stops.request("SIGTERM");
  }
}

/** Whether the file asks this process; a file that does not is removed. */
async function takeRequest(path: string): Promise<boolean> {
  try {
    const text = await Deno.readTextFile(path);
    await Deno.remove(path);
    const request = requestDocument.safeParse(JSON.parse(text));
    return request.success && request.data.pid === Deno.pid;
  } catch {
    return false; // no request, or one that is being written
  }
}
