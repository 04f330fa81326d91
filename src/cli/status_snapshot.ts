/** Puts the facts of the daemon's parts into the form of `status.json`. */
import type { DiscoveredHarness } from "../harness/contract.ts";
import type { ProcessIdentity } from "../harness/process_table.ts";
import type { ConnectionFacts } from "../transport/connection_facts.ts";
import { PROTOCOL_VERSION } from "../protocol/version.ts";
import { BUILD_VERSION } from "./build.ts";
import type { DaemonIdentity } from "./identity.ts";
import { STATUS_SCHEMA, type StatusDocument } from "./status_document.ts";

/** Everything a snapshot is made from. Ages are taken against `now`. */
export interface StatusParts {
  /** Unix milliseconds. */
  readonly now: number;
  readonly startedAt: number;
  readonly process?: ProcessIdentity;
  readonly bootId?: string;
  readonly identity: DaemonIdentity;
  readonly facts: ConnectionFacts;
  readonly harnesses: readonly DiscoveredHarness[];
  readonly work: Readonly<Record<string, number>>;
  readonly unknown: readonly {
    readonly owner: string;
    readonly remedy: string;
  }[];
  /** Since when the daemon is stopping, and what it waits for. */
  readonly stopping?: {
    readonly since: number;
    readonly waitingFor: readonly string[];
  };
  readonly orphans: readonly string[];
}

/** The document. */
export function statusSnapshot(parts: StatusParts): StatusDocument {
  const { identity, now } = parts;
  return {
    schema: STATUS_SCHEMA,
    written_at: now,
    process: {
      pid: Deno.pid,
      start_time: parts.process?.startTime ?? null,
      boot_id: parts.bootId ?? null,
      version: BUILD_VERSION,
      protocol_version: PROTOCOL_VERSION,
      started_at: parts.startedAt,
    },
    core_url: identity.core.origin,
    device_id: identity.deviceId,
    workspace: identity.bound?.root ?? null,
    environment_id: identity.bound?.environmentId ?? null,
    session_id: identity.bound?.sessionId ?? null,
    connection: connectionOf(parts.facts, now),
    harnesses: parts.harnesses.map((harness) => ({
      kind: harness.kind,
      available: harness.available,
      version: harness.version ?? null,
      program: harness.program ?? null,
      reason: harness.reason ?? null,
    })),
    work: parts.work,
    waiting: waitingOf(parts),
    unknown: [...parts.unknown],
    orphans: [...parts.orphans],
  };
}

function connectionOf(
  facts: ConnectionFacts,
  now: number,
): StatusDocument["connection"] {
  const at = (age: number | undefined): number | null =>
    age === undefined ? null : Math.round(now - age);
  const fact = (
    each: { readonly description: string; readonly age: number } | undefined,
  ) =>
    each === undefined ? null : {
      description: each.description,
      at: Math.round(now - each.age),
    };
  return {
    phase: facts.phase,
    since: Math.round(now - facts.phaseAge),
    attempt: facts.attempt,
    sessions: facts.sessions,
    next_attempt_at: facts.nextAttemptIn === undefined
      ? null
      : Math.round(now + facts.nextAttemptIn),
    opened_at: at(facts.socket?.openedAge),
    last_inbound_at: at(facts.socket?.lastInboundAge),
    last_pong_at: at(facts.socket?.lastPongAge),
    last_heartbeat_at: at(facts.socket?.lastHeartbeatWrittenAge),
    last_end: fact(facts.lastEnd),
    last_refusal: fact(facts.lastRefusal),
    shared_device_suspected: facts.sharedDeviceSuspected,
  };
}

function waitingOf(parts: StatusParts): StatusDocument["waiting"] {
  const { facts, stopping, now } = parts;
  if (facts.phase === "ended") return null;
  if (stopping) {
    return {
      reason: "stopping",
      since: stopping.since,
      attempt: facts.shutdown?.attempt ?? 0,
      for: [...(facts.shutdown?.waitingFor ?? stopping.waitingFor)],
    };
  }
  return facts.shutdown === undefined ? null : {
    reason: "reconnecting",
    since: Math.round(now - facts.shutdown.age),
    attempt: facts.shutdown.attempt,
    for: [...facts.shutdown.waitingFor],
  };
}
