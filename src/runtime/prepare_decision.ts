// Owns the judgement of a supported `execution_prepare` against what the router already owns: a pure
// function from facts to what happens.
import type { PrepareErrorCode } from "../protocol/execution.ts";
import type { Admission } from "./admission.ts";
import type { ExecutorRecord } from "./executor.ts";
import {
  MAX_ADMISSION_RECORDS,
  MAX_EXECUTORS,
  MAX_OWNING_ADMISSIONS,
} from "./limits.ts";

/** What the judgement looks at. Taken after the records were pruned. */
export interface PrepareFacts {
  readonly requestFingerprint: string;
  readonly environmentId: string;
  readonly executorFingerprint: string;
  /** Empty when the request names none. */
  readonly agentSessionId: string;
  readonly requireExistingNativeSession: boolean;
  /** The record of this request id. */
  readonly known: Admission | undefined;
  readonly records: number;
  readonly owningAdmissions: number;
  readonly activeExecutors: number;
  /** The operator's own limit, at most the built-in one. */
  readonly maximumActiveExecutors: number;
  readonly executors: number;
  readonly ofSession: ExecutorRecord | undefined;
  /** The Executor that uses the request's state key. */
  readonly ofStateKey: ExecutorRecord | undefined;
}

/** What happens to a prepare. */
export type PrepareDecision =
  | { readonly kind: "reject"; readonly code: PrepareErrorCode }
  | { readonly kind: "republish"; readonly admission: Admission }
  | { readonly kind: "reuse"; readonly executor: ExecutorRecord }
  | { readonly kind: "create" };

/** Judges in the order of the wire: the first violated rule answers. */
export function decidePrepare(facts: PrepareFacts): PrepareDecision {
  const { known, ofSession, ofStateKey } = facts;
  if (known !== undefined) {
    return known.grant.fingerprint === facts.requestFingerprint
      ? { kind: "republish", admission: known }
      : reject("request_conflict");
  }
  if (facts.records >= MAX_ADMISSION_RECORDS) {
    return reject("preparation_capacity");
  }
  if (ofStateKey !== undefined && ofStateKey !== ofSession) {
    return reject("session_binding_conflict");
  }
  if (
    facts.owningAdmissions >= MAX_OWNING_ADMISSIONS ||
    facts.activeExecutors >= facts.maximumActiveExecutors
  ) return reject("preparation_capacity");
  if (ofSession !== undefined) return decideReuse(facts, ofSession);
  return facts.executors >= MAX_EXECUTORS
    ? reject("preparation_capacity")
    : { kind: "create" };
}

/** The Session has an Executor: it is this one or none. */
function decideReuse(
  facts: PrepareFacts,
  executor: ExecutorRecord,
): PrepareDecision {
  const { identity } = executor;
  // A closing Executor only takes time, whatever the request asks: the one answer that lets Core
  // try again comes before every answer that ends its Turn.
  if (executor.invalid !== undefined) return reject("preparation_capacity");
  if (
    identity.environmentId !== facts.environmentId ||
    identity.fingerprint !== facts.executorFingerprint
  ) return reject("configuration_conflict");
  if (!executor.idle) return reject("resource_unavailable");
  if (executor.nativeSessionId !== facts.agentSessionId) {
    return reject("native_session_conflict");
  }
  if (facts.requireExistingNativeSession && executor.nativeSessionId === "") {
    return reject("history_unavailable");
  }
  return { kind: "reuse", executor };
}

function reject(code: PrepareErrorCode): PrepareDecision {
  return { kind: "reject", code };
}
