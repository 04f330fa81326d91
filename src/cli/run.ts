/**
 * `run`: checks everything that can be checked before the first request, wires the production
 * parts and runs the daemon. The only place that gives the daemon its real clock, ids, processes,
 * files and network.
 */
import { join } from "@std/path";
import {
  type ProcessIdentity,
  processTable,
} from "../harness/process_table.ts";
import { sweepOrphans } from "../harness/orphan_sweep.ts";
import { SpawnRecordFiles } from "../harness/spawn_records.ts";
import { supervisedSpawn } from "../harness/supervised_child.ts";
import type { Log } from "../platform/log.ts";
import { openLog } from "../platform/log_sinks.ts";
import { createRedactor, type Redactor } from "../platform/redaction.ts";
import { readBinding } from "./binding_file.ts";
import { openBoundParts } from "./bound_parts.ts";
import { BUILD_VERSION } from "./build.ts";
import type { Invocation } from "./command.ts";
import { openCredential } from "./credential_source.ts";
import { type DaemonEnd, runDaemon } from "./daemon.ts";
import { confirmEnrolment } from "./enrolment_check.ts";
import { exitCodeOf } from "./exit_of.ts";
import { discoverHarnesses } from "./harness_discovery.ts";
import { decideIdentity } from "./identity.ts";
import { Mistake } from "./mistake.ts";
import { watchChildren } from "./native_children.ts";
import type { Outside } from "./outside.ts";
import { notifySystemd } from "./service_notify.ts";
import { resolveSettings, type Settings } from "./settings.ts";
import { prepareStateDirectory, takeInstance } from "./state_directory.ts";
import { openNetwork } from "./way_out.ts";

/** Runs the daemon in the foreground. Resolves to its exit code. */
export async function runCommand(
  invocation: Invocation,
  outside: Outside,
): Promise<number> {
  refuseRoot(invocation, outside);
  if (outside.operatingSystem !== "windows") Deno.umask(0o077);
  const settings = await resolveSettings(invocation, outside);
  const redactor = createRedactor();
  const credential = await openCredential(settings, outside, redactor);
  const binding = await readBinding(settings.stateDirectory);
  const identity = await decideIdentity({
    settings,
    credential: credential.first.credential,
    ...(credential.first.path === "-"
      ? {}
      : { tokenFile: credential.first.path }),
    ...(binding === undefined ? {} : { binding }),
  }, outside);
  const network = await openNetwork(settings);
  await prepareStateDirectory(settings.stateDirectory, outside);
  const lock = await takeInstance(
    settings.stateDirectory,
    { origin: identity.core.origin, deviceId: identity.deviceId },
    outside,
  );
  try {
    const log = openDaemonLog(settings, redactor, outside);
    log.info("starting", {
      version: BUILD_VERSION,
      core: identity.core.origin,
      device: identity.deviceId,
      workspace: identity.bound?.root,
      system: outside.userId === 0 ? "root" : "user",
    });
    if (binding !== undefined) {
      await confirmEnrolment(
        { binding, identity, credential, network, log },
        outside,
      );
    }
    const native = await prepareNative(settings, outside, log);
    const discovery = {
      settings,
      outside,
      log,
      bound: identity.bound !== undefined,
      spawn: native.children.spawn,
    };
    const harnesses = await discoverHarnesses(discovery);
    requireHarness(invocation, harnesses);
    const bound = identity.bound === undefined
      ? undefined
      : await openBoundParts(identity.bound, settings, outside, log);
    const end = await runDaemon({
      settings,
      outside,
      log,
      identity,
      credential,
      network,
      ...native,
      harnesses,
      discovery,
      ...(bound === undefined ? {} : { bound }),
      once: invocation.options.has("once"),
      exit: (code) => Deno.exit(code),
      notify: () => notifySystemd("WATCHDOG=1", outside, log),
    });
    log.info("ended", { reason: end.reason });
    return codeOf(end);
  } finally {
    lock.release();
  }
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

/** Root could do anything; tools of a Harness would inherit it. */
function refuseRoot(invocation: Invocation, outside: Outside): void {
  if (outside.userId !== 0 || invocation.options.has("allow-root")) return;
  throw new Mistake({
    place: "user",
    rule: "must not be root: tools run as the daemon's user",
    fix: "run as an ordinary user, or give --allow-root",
    exit: "usage",
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

/** The native side: what an earlier daemon left is ended before anything new starts. */
async function prepareNative(settings: Settings, outside: Outside, log: Log) {
  const processes = processTable(Deno.build.os);
  const records = new SpawnRecordFiles(
    join(settings.stateDirectory, "processes"),
  );
  const swept = await sweepOrphans({
    records,
    processes,
    clock: outside.clock,
    log,
  });
  const own: ProcessIdentity | undefined = (await processes.list())
    .find((entry) => entry.pid === Deno.pid);
  return {
    children: watchChildren(supervisedSpawn({ processes, records })),
    ...(own === undefined ? {} : {
      process: { pid: own.pid, startTime: own.startTime },
    }),
    bootId: await processes.bootId(),
    orphans: swept.unconfirmed.map((pid) => `process ${pid}`),
  };
}
