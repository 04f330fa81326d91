/** `harness list`: what this daemon would offer, found the way the daemon finds it. */
import type { DiscoveredHarness } from "../harness/contract.ts";
import { spawnChild } from "../harness/supervised_child.ts";
import { silentLog } from "../platform/log.ts";
import type { Invocation } from "./command.ts";
import { EXIT_CODES } from "./exit_codes.ts";
import { discoverHarnesses } from "./harness_discovery.ts";
import type { Outside } from "./outside.ts";
import { resolveSettings, type Settings } from "./settings.ts";

/** Looks for every Harness in a directory of its own, so that no daemon is disturbed. */
export function lookForHarnesses(
  settings: Settings,
  outside: Outside,
): Promise<DiscoveredHarness[]> {
  return withHarnesses(settings, outside, (found) => Promise.resolve(found));
}

/** The same, with that directory there until `use` is done: a closer look needs it. */
export async function withHarnesses<T>(
  settings: Settings,
  outside: Outside,
  use: (found: DiscoveredHarness[]) => Promise<T>,
): Promise<T> {
  const stateDirectory = await Deno.makeTempDir({ prefix: "agent-daemon-" });
  try {
    return await use(
      await discoverHarnesses({
        settings: { ...settings, stateDirectory },
        outside,
        log: silentLog,
        bound: settings.values.workspace !== undefined,
        spawn: spawnChild,
      }),
    );
  } finally {
    await Deno.remove(stateDirectory, { recursive: true });
  }
}

/** Prints the Harnesses. Ends with 2 when none is available. */
export async function harnessListCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  const settings = await resolveSettings(invocation, outside);
  const found = await lookForHarnesses(settings, outside);
  if (invocation.options.has("json")) {
    const shown = found.map((harness) => ({
      kind: harness.kind,
      available: harness.available,
      version: harness.version ?? null,
      program: harness.program ?? null,
      reason: harness.reason ?? null,
      capabilities: Object.entries(harness.declaration)
        .filter(([, support]) => support === "supported")
        .map(([name]) => name).toSorted(),
    }));
    outside.stdout.write(`${JSON.stringify(shown)}\n`);
  } else {
    for (const harness of found) {
      outside.stdout.write(`${harnessLine(harness)}\n`);
    }
    if (found.length === 0) outside.stdout.write("every kind is turned off\n");
  }
  return found.some((harness) => harness.available)
    ? EXIT_CODES.ok.code
    : EXIT_CODES.negative.code;
}

/** One line about a Harness. */
export function harnessLine(harness: DiscoveredHarness): string {
  const remark = harness.reason === undefined ? "" : ` (${harness.reason})`;
  return harness.available
    ? `${harness.kind}: ${harness.version ?? "version unknown"} at ${
      harness.program ?? "an unknown place"
    }${remark}`
    : `${harness.kind}: not available${remark}`;
}
