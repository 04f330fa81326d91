/**
 * The running daemon: owns the session loop, the Harness registry, the native children, the status
 * file and the reaction to stops. Everything it uses comes in ready made.
 */
import type { DiscoveredHarness } from "../harness/contract.ts";
import type { ProcessIdentity } from "../harness/process_table.ts";
import { HarnessRegistry } from "../harness/registry.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Telemetry } from "../platform/telemetry.ts";
import { startWatchdog } from "../service/watchdog.ts";
import type { ConnectionFacts } from "../transport/connection_facts.ts";
import type { Network } from "../transport/network.ts";
import { type LoopExit, SessionLoop } from "../transport/session_loop.ts";
import { BUILD_VERSION, PROGRAM } from "./build.ts";
import type { CredentialSource } from "./credential_source.ts";
import {
  type HarnessDiscoveryOptions,
  watchHarnesses,
} from "./harness_discovery.ts";
import type { DaemonIdentity } from "./identity.ts";
import type { Outside } from "./outside.ts";
import {
  type BoundParts,
  type ProcessSuspensions,
  type SessionParts,
  sessionParts,
  workCounts,
} from "./session_parts.ts";
import type { Settings } from "./settings.ts";
import { statusSnapshot } from "./status_snapshot.ts";
import { StatusWriter } from "./status_writer.ts";
import type { StopSignals } from "./stop_signals.ts";
import { watchStopRequests } from "./stop_request.ts";

/** How often what is owned is compared with what `status` shows, in milliseconds. */
const WORK_PAUSE = 1_000;
/** How often a stop that takes long is reported again, in milliseconds. */
const REPORT_PAUSE = 10_000;

/** What the daemon is made of. */
export interface DaemonParts {
  readonly settings: Settings;
  readonly outside: Outside;
  readonly log: Log;
  readonly identity: DaemonIdentity;
  readonly credential: CredentialSource;
  readonly network: Network;
  readonly stops: StopSignals;
  readonly harnesses: readonly DiscoveredHarness[];
  readonly discovery: HarnessDiscoveryOptions;
  readonly bound?: BoundParts;
  readonly suspensions?: ProcessSuspensions;
  readonly process?: ProcessIdentity;
  readonly bootId?: string;
  readonly telemetry: Telemetry;
  readonly orphans: readonly string[];
  /** Ends after the first heartbeat. */
  readonly once: boolean;
  /** Tells the service manager that the daemon gets on. */
  readonly notify: () => void;
}

/** How the daemon ended. */
export type DaemonEnd =
  | LoopExit
  /** `--once`: no heartbeat could be sent; the sentence says why. */
  | { readonly reason: "unreachable"; readonly cause: string };

/** Runs until it is stopped or refused for good. Every native resource is settled by then. */
export async function runDaemon(parts: DaemonParts): Promise<DaemonEnd> {
  const { log, outside, settings } = parts;
  const registry = new HarnessRegistry();
  const watch = watchHarnesses(parts.harnesses, registry, parts.discovery);
  const sessions = sessionsOf(parts, registry);
  const { stops } = parts;
  let stoppingSince: number | undefined;
  const onStop = () => {
    stoppingSince = outside.clock.now();
    log.info("stopping", { waitingFor: sessions.owned() });
    status.changed();
  };
  const watchdog = startWatchdog({
    environment: outside.environment,
    clock: outside.clock,
    notify: parts.notify,
  });
  let unreachable: string | undefined;
  const loop = new SessionLoop({
    core: parts.identity.core,
    deviceId: parts.identity.deviceId,
    userAgent: `${PROGRAM}/${BUILD_VERSION}`,
    network: parts.network,
    clock: outside.clock,
    random: outside.random,
    log,
    readCredential: () => parts.credential.read(),
    openRouter: sessions.openRouter,
    stop: stops.stop,
    onPermanent: parts.once ? "exit" : settings.values.onPermanentError,
    credentialChanged: (signal) => parts.credential.changed(signal),
    onFacts() {
      watchdog.progress();
      status.changed();
      if (parts.once) {
        unreachable = endOnce(loop, stops, unreachable);
      }
    },
  });
  const status = statusWriterOf(parts, {
    sessions,
    registry,
    facts: () => loop.facts,
    stoppingSince: () => stoppingSince,
  });
  const ended = new AbortController();
  const background = Promise.all([
    reportSlowStop(parts, stops.stop, ended.signal, () => sessions.owned()),
    watchStopRequests(parts, stops, ended.signal),
    watchWork(outside.clock, ended.signal, sessions, () => status.changed()),
  ]);
  try {
    status.changed();
    stops.stop.addEventListener("abort", onStop, { once: true });
    const exit = await loop.run();
    return unreachable === undefined
      ? exit
      : { reason: "unreachable", cause: unreachable };
  } finally {
    ended.abort();
    watch.stop();
    watchdog.stop();
    await background;
    stops.stop.removeEventListener("abort", onStop);
    await status.close();
  }
}

function sessionsOf(
  { bound, log, outside, settings, suspensions, telemetry }: DaemonParts,
  registry: HarnessRegistry,
): SessionParts {
  return sessionParts({
    clock: outside.clock,
    ids: outside.ids,
    log,
    registry,
    telemetry,
    executorLimits: {
      active: settings.values.maximumExecutions,
      idle: settings.values.maximumIdle,
    },
    ...(bound === undefined ? {} : { bound }),
    ...(suspensions === undefined ? {} : { suspensions }),
  });
}

/** The writer of `status.json`, over the parts that know the facts. */
function statusWriterOf(
  parts: DaemonParts,
  sources: {
    readonly sessions: SessionParts;
    readonly registry: HarnessRegistry;
    readonly facts: () => ConnectionFacts;
    readonly stoppingSince: () => number | undefined;
  },
): StatusWriter {
  const { log, outside, settings } = parts;
  const { sessions, registry } = sources;
  const startedAt = outside.clock.now();
  return new StatusWriter({
    stateDirectory: settings.stateDirectory,
    clock: outside.clock,
    ids: outside.ids,
    log,
    snapshot() {
      const router = sessions.status();
      const since = sources.stoppingSince();
      return statusSnapshot({
        ...parts,
        now: outside.clock.now(),
        startedAt,
        facts: sources.facts(),
        harnesses: registry.list(),
        work: workCounts(router),
        unknown: router?.unknownOwners ?? [],
        ...(since === undefined
          ? {}
          : { stopping: { since, waitingFor: sessions.owned() } }),
      });
    },
  });
}

/** `--once`: stops at the first heartbeat, or at the first attempt that failed. */
function endOnce(
  loop: SessionLoop,
  stops: StopSignals,
  known: string | undefined,
): string | undefined {
  if (stops.stop.aborted) return known;
  const { socket, lastRefusal, lastEnd } = loop.facts;
  if (socket?.lastHeartbeatWrittenAge !== undefined) {
    stops.finish();
    return undefined;
  }
  if (lastRefusal?.kind === "permanent") return undefined;
  const cause = lastRefusal?.description ?? lastEnd?.description;
  if (cause !== undefined) stops.finish();
  return cause;
}

/** Work begins and ends without any fact about the link; says when it did. */
async function watchWork(
  clock: Clock,
  ended: AbortSignal,
  sessions: SessionParts,
  changed: () => void,
): Promise<void> {
  let known = "";
  while (await passed(clock, WORK_PAUSE, ended)) {
    const router = sessions.status();
    const now = JSON.stringify([workCounts(router), router?.unknownOwners]);
    if (now !== known) changed();
    known = now;
  }
}

/** After the time that `stop` waits, says again and again what holds the stop up. */
async function reportSlowStop(
  { outside, settings, log }: DaemonParts,
  stop: AbortSignal,
  ended: AbortSignal,
  owned: () => readonly string[],
): Promise<void> {
  await aborted(AbortSignal.any([stop, ended]));
  const since = outside.clock.monotonic();
  let pause = settings.values.shutdownTimeout;
  while (await passed(outside.clock, pause, ended)) {
    pause = REPORT_PAUSE;
    log.error("stop_overdue", {
      milliseconds: Math.round(outside.clock.monotonic() - since),
      waitingFor: owned(),
      remedy: "a second signal ends the native processes and the daemon",
    });
  }
}

/** Whether the time passed; false when `signal` came first. */
async function passed(
  clock: Clock,
  milliseconds: number,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await sleep(clock, milliseconds, signal);
    return true;
  } catch {
    return false; // the only reason is the signal
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
