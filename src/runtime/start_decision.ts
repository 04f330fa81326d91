// Owns the judgement of `execution_start`: a pure function from what is recorded to what happens.
import type { ExecutionStart, StartErrorCode } from "../protocol/execution.ts";
import type { Admission } from "./admission.ts";
import type { ExecutorRecord } from "./executor.ts";

/** What the judgement looks at. */
export interface StartFacts {
  readonly start: ExecutionStart;
  readonly requestId: string;
  readonly fingerprint: string;
  /** The record of the handle, whatever its request id. */
  readonly admission: Admission | undefined;
  /** A write, an export or a Runtime preparation is present, or the router settles everything. */
  readonly excluded: boolean;
  readonly runRouted: boolean;
  /** Monotonic milliseconds. */
  readonly now: number;
}

/** What happens to a start. */
export type StartDecision =
  | { readonly kind: "reject"; readonly code: StartErrorCode }
  /** The same start is under way; its own publication will answer. */
  | { readonly kind: "silent" }
  | { readonly kind: "republish"; readonly admission: Admission }
  | { readonly kind: "expire"; readonly admission: Admission }
  | {
    readonly kind: "start";
    readonly admission: Admission;
    readonly executor: ExecutorRecord;
  };

/** Judges in the order of the wire: the first violated rule answers. */
export function decideStart(facts: StartFacts): StartDecision {
  const { start, admission } = facts;
  if (facts.excluded) return reject("resource_unavailable");
  if (
    admission === undefined || admission.grant.requestId !== facts.requestId
  ) return reject("unknown_preparation");
  const { executor } = admission;
  if (executor === undefined) return reject("read_only_preparation");
  if (start.executor_id !== executor.id) return reject("unknown_executor");
  if (admission.state === "starting" || admission.state === "started") {
    if (admission.startFingerprint !== facts.fingerprint) {
      return reject("start_conflict");
    }
    return admission.startPublished
      ? { kind: "republish", admission }
      : { kind: "silent" };
  }
  if (!isReady(admission, executor)) return reject("preparation_not_ready");
  if (admission.grant.deadline <= facts.now) {
    return { kind: "expire", admission };
  }
  if (facts.runRouted) return reject("run_conflict");
  return { kind: "start", admission, executor };
}

function isReady(admission: Admission, executor: ExecutorRecord): boolean {
  return admission.state === "ready" && executor.admission === admission &&
    executor.run === undefined && executor.invalid === undefined &&
    executor.native !== undefined;
}

function reject(code: StartErrorCode): StartDecision {
  return { kind: "reject", code };
}
