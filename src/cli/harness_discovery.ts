/** Finds the Harnesses of this machine as the settings want them, and keeps looking. */
import { join } from "@std/path";
import type { SpawnChild } from "../harness/child.ts";
import type {
  DiscoveredHarness,
  DiscoveryContext,
  HarnessAdapter,
} from "../harness/contract.ts";
import type { HarnessRegistry } from "../harness/registry.ts";
import type { Timer } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { fileIdentity } from "../platform/protected_file.ts";
import { ADAPTERS } from "./harnesses.ts";
import type { Outside } from "./outside.ts";
import type { Settings } from "./settings.ts";

/** How often a program is compared with what was probed, in milliseconds. */
const LOOK_AGAIN = 60_000;

/** What discovery needs. */
export interface HarnessDiscoveryOptions {
  readonly settings: Settings;
  readonly outside: Outside;
  readonly log: Log;
  readonly bound: boolean;
  readonly spawn: SpawnChild;
  /** Another list than the shipped one, for tests. */
  readonly adapters?: readonly HarnessAdapter[];
}

/** The setting that names the program of a kind. */
function programSetting(
  kind: string,
  settings: Settings,
): string | undefined {
  switch (kind) {
    case "codex":
      return settings.values.codexProgram;
    case "claude_sdk":
      return settings.values.claudeProgram;
    default:
      return undefined;
  }
}

/** Looks for every kind that is not turned off, side by side. */
export async function discoverHarnesses(
  options: HarnessDiscoveryOptions,
): Promise<DiscoveredHarness[]> {
  const found = await Promise.all(
    (options.adapters ?? ADAPTERS).map((adapter) => discover(adapter, options)),
  );
  return found.filter((each) => each !== undefined);
}

async function discover(
  adapter: HarnessAdapter,
  options: HarnessDiscoveryOptions,
): Promise<DiscoveredHarness | undefined> {
  const program = programSetting(adapter.kind, options.settings);
  if (program === "off") return undefined;
  const { outside, settings } = options;
  const stateDirectory = join(
    settings.stateDirectory,
    "harness",
    adapter.kind,
  );
  await Deno.mkdir(stateDirectory, { recursive: true, mode: 0o700 });
  const context: DiscoveryContext = {
    ...(program === undefined ? {} : { program }),
    environment: outside.environment,
    stateDirectory,
    bound: options.bound,
    permissions: settings.values.permissions,
    operatingSystem: outside.operatingSystem,
    clock: outside.clock,
    ids: outside.ids,
    log: options.log.with({ harness: adapter.kind }),
    spawn: options.spawn,
  };
  return await adapter.discover(context);
}

/** Looks for programs again while the daemon runs. */
export interface HarnessWatch {
  stop(): void;
}

/**
 * Registers `found` and, once a minute, whatever became of a program that changed or of a kind
 * that had none. Owners that were admitted keep what they were admitted with.
 */
export function watchHarnesses(
  found: readonly DiscoveredHarness[],
  registry: HarnessRegistry,
  options: HarnessDiscoveryOptions,
): HarnessWatch {
  const { clock } = options.outside;
  const identities = new Map<string, string | undefined>();
  const take = (harness: DiscoveredHarness) => {
    registry.register(harness);
    identities.set(harness.kind, identityOf(harness));
    report(harness, options.log);
  };
  for (const harness of found) take(harness);
  let timer: Timer | undefined;
  let stopped = false;
  const look = async () => {
    for (const adapter of options.adapters ?? ADAPTERS) {
      const known = registry.get(adapter.kind);
      if (!known || stopped || !hasChanged(known, identities)) continue;
      const again = await discover(adapter, options);
      if (again && !stopped && differs(known, again)) take(again);
      else if (again) identities.set(again.kind, identityOf(again));
    }
  };
  const schedule = () => {
    timer = clock.after(
      LOOK_AGAIN,
      () =>
        look().catch((error) =>
          options.log.warn("harness_look_failed", {
            error: error instanceof Error ? error : "not an error",
          })
        ).finally(() => {
          if (!stopped) schedule();
        }),
    );
  };
  schedule();
  return {
    stop() {
      stopped = true;
      timer?.cancel();
    },
  };
}

function identityOf(harness: DiscoveredHarness): string | undefined {
  if (harness.program === undefined) return undefined;
  try {
    return fileIdentity(Deno.realPathSync(harness.program));
  } catch {
    return undefined; // gone
  }
}

/** An unavailable kind is always worth another look: its program may have come. */
function hasChanged(
  known: DiscoveredHarness,
  identities: ReadonlyMap<string, string | undefined>,
): boolean {
  return !known.available || identityOf(known) !== identities.get(known.kind);
}

function differs(one: DiscoveredHarness, other: DiscoveredHarness): boolean {
  return one.available !== other.available || one.version !== other.version ||
    one.program !== other.program || one.available;
}

function report(harness: DiscoveredHarness, log: Log): void {
  log[harness.available ? "info" : "warn"]("harness_found", {
    harness: harness.kind,
    available: harness.available,
    version: harness.version,
    program: harness.program,
    reason: harness.reason,
  });
}
