/**
 * `run`: checks everything that can be checked before the first request, wires the production
 * parts and runs the daemon. The only place that gives the daemon its real clock, ids, processes,
 * files and network.
 */
import type { HarnessAdapter } from "../harness/contract.ts";
import {
  type ProcessIdentity,
  type ProcessTable,
  processTable,
} from "../harness/process_table.ts";
import { sweepOrphans } from "../harness/orphan_sweep.ts";
import { SpawnRecordFiles } from "../harness/spawn_records.ts";
import { supervisedSpawn } from "../harness/supervised_child.ts";
import type { Log } from "../platform/log.ts";
import { openLog } from "../platform/log_sinks.ts";
import type { Redactor } from "../platform/redaction.ts";
import { noTelemetry } from "../platform/telemetry.ts";
import { openBoundParts } from "./bound_parts.ts";
import { BUILD_VERSION } from "./build.ts";
import type { Invocation } from "./command.ts";
import { type DaemonEnd, runDaemon } from "./daemon.ts";
import { confirmEnrolment } from "./enrolment_check.ts";
import { EXIT_CODES } from "./exit_codes.ts";
import { exitCodeOf } from "./exit_of.ts";
import { forceStop } from "./forced_stop.ts";
import { discoverHarnesses } from "./harness_discovery.ts";
import { ADAPTERS } from "./harnesses.ts";
import { Mistake } from "./mistake.ts";
import { watchChildren } from "./native_children.ts";
import type { Outside } from "./outside.ts";
import { type Preflight, preflight } from "./preflight.ts";
import { notifySystemd } from "./service_notify.ts";
import type { Settings } from "./settings.ts";
import {
  prepareStateDirectory,
  spawnRecordDirectory,
  takeInstance,
} from "./state_directory.ts";
import { listenForStops } from "./stop_signals.ts";
import { type OpenSuspensions, openSuspensions } from "./suspensions.ts";
import { chooseTelemetry, settleTelemetry } from "./telemetry.ts";

/** Runs the daemon in the foreground. Resolves to its exit code. */
export function runCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  return runWithAdapters(invocation, outside, ADAPTERS);
}

/** Runs the daemon with other Harnesses than the shipped ones, for tests. */
export async function runWithAdapters(
  invocation: Invocation,
  outside: Outside,
  adapters: readonly HarnessAdapter[],
): Promise<number> {
  const checked = await preflight(invocation, outside);
  const { settings, identity } = checked;
  await prepareStateDirectory(settings.stateDirectory, outside);
  const lock = await takeInstance(
    settings.stateDirectory,
    { origin: identity.core.origin, deviceId: identity.deviceId },
    outside,
  );
  try {
    return await operate(invocation, outside, adapters, checked);
  } finally {
    lock.release();
  }
}

/** The daemon under its lock. */
async function operate(
  invocation: Invocation,
  outside: Outside,
  adapters: readonly HarnessAdapter[],
  checked: Preflight,
): Promise<number> {
  const { settings, redactor, identity } = checked;
  const log = openDaemonLog(settings, redactor, outside);
  const processes = processTable(Deno.build.os);
  const records = new SpawnRecordFiles(
    spawnRecordDirectory(settings.stateDirectory),
  );
  const children = watchChildren(supervisedSpawn({ processes, records }));
  // From here on a stop is graceful: discovery already starts native processes.
  const stops = listenForStops({
    log,
    operatingSystem: outside.operatingSystem,
    onForced: (code) =>
      forceStop(code, { children, outside, log, exit: Deno.exit }),
  });
  let suspensions: OpenSuspensions | undefined;
  let telemetry = noTelemetry;
  try {
    await begin(checked, outside, log, stops.stop);
    const { clock } = outside;
    const swept = await sweepOrphans({ records, processes, clock, log });
    const bound = identity.bound !== undefined;
    const { spawn } = children;
    const discovery = { adapters, settings, outside, log, bound, spawn };
    const harnesses = await discoverHarnesses(discovery);
    requireHarness(invocation, harnesses);
    const place = { stateDirectory: settings.stateDirectory, outside, log };
    const boundParts = identity.bound &&
      await openBoundParts(identity.bound, { ...place, spawn });
    const own = await ownProcess(processes);
    telemetry = await chooseTelemetry(outside, log);
    suspensions = openSuspensions({
      path: settings.values.suspendControl,
      environmentId: identity.bound?.environmentId,
      process: own.process,
      ...place,
    });
    const end = await runDaemon({
      settings,
      outside,
      log,
      identity,
      credential: checked.credential,
      network: checked.network,
      stops,
      harnesses,
      discovery,
      ...own,
      ...(suspensions === undefined ? {} : { suspensions }),
      ...(boundParts === undefined ? {} : { bound: boundParts }),
      telemetry,
      orphans: swept.unconfirmed.map((pid) => `process ${pid}`),
      once: invocation.options.has("once"),
      notify: () => notifySystemd("WATCHDOG=1", outside, log),
    });
    log.info("ended", { reason: end.reason });
    return codeOf(end);
  } catch (error) {
    if (stops.stop.aborted && error === stops.stop.reason) {
      return EXIT_CODES.ok.code; // stopped before anything native lived
    }
    throw error;
  } finally {
    await suspensions?.close();
    stops.forget();
    await settleTelemetry(telemetry, outside.clock);
  }
}

/** Says what starts, and lets an enrolled daemon ask whether it still is. */
async function begin(
  checked: Preflight,
  outside: Outside,
  log: Log,
  stop: AbortSignal,
): Promise<void> {
  const { binding, identity } = checked;
  log.info("starting", {
    version: BUILD_VERSION,
    core: identity.core.origin,
    device: identity.deviceId,
    workspace: identity.bound?.root,
    system: outside.userId === 0 ? "root" : "user",
  });
  if (binding === undefined) return;
  await confirmEnrolment({ ...checked, binding, log, stop }, outside);
}

function codeOf(end: DaemonEnd): number {
  if (end.reason !== "unreachable") return exitCodeOf(end);
  throw new Mistake({
    place: "Core",
    rule: end.cause,
    fix: "see what is in the way with: agent-daemon doctor",
    exit: "unavailable",
  });
}

function requireHarness(
  invocation: Invocation,
  harnesses: readonly { readonly available: boolean }[],
): void {
  if (!invocation.options.has("require-harness")) return;
  if (harnesses.some((harness) => harness.available)) return;
  throw new Mistake({
    place: "--require-harness",
    rule: "no Harness is available",
    fix: "see agent-daemon harness list",
    exit: "configuration",
  });
}

function openDaemonLog(
  settings: Settings,
  redactor: Redactor,
  outside: Outside,
): Log {
  const { logLevel, logFormat, logFile, proxy } = settings.values;
  if (proxy !== undefined && URL.canParse(proxy)) {
    redactor.add(decodeURIComponent(new URL(proxy).password));
  }
  return openLog({
    level: logLevel,
    format: logFormat ?? (outside.stderr.isTerminal ? "text" : "json"),
    redactor,
    clock: outside.clock,
    ...(logFile === undefined ? {} : { file: logFile }),
    write: (line) => outside.stderr.write(line),
  });
}

/** What tells this process from a later one with its pid. */
async function ownProcess(processes: ProcessTable): Promise<{
  readonly process?: ProcessIdentity;
  readonly bootId: string;
}> {
  const own = (await processes.list()).find((each) => each.pid === Deno.pid);
  return {
    ...(own === undefined
      ? {}
      : { process: { pid: own.pid, startTime: own.startTime } }),
    bootId: await processes.bootId(),
  };
}
