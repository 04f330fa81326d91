/** At each start of an enrolled daemon: Core must still give the same answer as at enrolment. */
import { sleep } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { backoffDelay, DEFAULT_BACKOFF } from "../transport/backoff.ts";
import type { Network } from "../transport/network.ts";
import type { Binding } from "./binding_file.ts";
import { BUILD_VERSION, PROGRAM } from "./build.ts";
import type { CredentialSource } from "./credential_source.ts";
import { enrol, type EnrolAnswer, type EnrolOutcome } from "./enrolment.ts";
import type { DaemonIdentity } from "./identity.ts";
import { Mistake } from "./mistake.ts";
import type { Outside } from "./outside.ts";

/** What the check needs. */
export interface EnrolmentCheck {
  readonly binding: Binding;
  readonly identity: DaemonIdentity;
  readonly credential: CredentialSource;
  readonly network: Network;
  readonly log: Log;
  /** The first stop signal: ends the wait. */
  readonly stop: AbortSignal;
}

/**
 * Asks until Core answers; a network that is down is waited for.
 *
 * @throws the reason of the stop when it comes first.
 * @throws {Mistake} when Core refuses or answers something else.
 */
export async function confirmEnrolment(
  check: EnrolmentCheck,
  outside: Outside,
): Promise<void> {
  for (let attempt = 1;; attempt++) {
    const outcome = await enrol({
      core: check.identity.core,
      environmentId: check.binding.environment_id,
      credential: await check.credential.read(),
      userAgent: `${PROGRAM}/${BUILD_VERSION}`,
    }, {
      network: check.network,
      clock: outside.clock,
      signal: check.stop,
    });
    if (outcome.kind === "enrolled") {
      return compare(check.binding, outcome.answer);
    }
    if (outcome.kind !== "transient") throw enrolMistake(outcome);
    const delay = backoffDelay(DEFAULT_BACKOFF, attempt);
    check.log.warn("enrol_retry", { attempt, delay, cause: outcome.cause });
    await sleep(outside.clock, delay, check.stop);
  }
}

function compare(binding: Binding, answer: EnrolAnswer): void {
  if (
    answer.device_id === binding.device_id &&
    answer.session_id === binding.session_id &&
    answer.workspace_directory === binding.workspace_directory
  ) return;
  throw new Mistake({
    place: "Core",
    rule: "answers another binding than this machine was enrolled with",
    fix: "use a new --state-dir and enrol again",
    exit: "configuration",
  });
}

/** The mistake of an enrol request that must not be repeated. */
export function enrolMistake(
  outcome: Exclude<EnrolOutcome, { kind: "enrolled" }>,
): Mistake {
  switch (outcome.kind) {
    case "transient":
      return new Mistake({
        place: "Core",
        rule: outcome.cause,
        fix: "see what is in the way with: agent-daemon doctor",
        exit: "unavailable",
      });
    case "rejected":
      return new Mistake({
        place: "Core",
        rule: outcome.cause,
        fix:
          "the token is revoked, or the Environment has another key: rotate it in Core's console and replace the token file",
        exit: "rejected",
      });
    case "other_generation":
      return new Mistake({
        place: "Core",
        rule: outcome.cause,
        fix: "use the executor that this Core offers",
        exit: "protocol",
      });
    case "malformed":
      return new Mistake({
        place: "Core",
        rule: outcome.cause,
        fix: "check --core-url and --environment-id",
        exit: "configuration",
      });
  }
}
