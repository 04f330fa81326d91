/**
 * Classifies a failed native turn from its typed members only. Text is never looked at: providers
 * and versions word the same failure differently, and prose may be the user's own.
 */
import type { EngineFailureCode } from "../../src/protocol/engine_failure.ts";

/** The typed evidence of a failed native turn. */
export interface FailureEvidence {
  /** Why the program ended the turn. */
  readonly terminalReason: string | null;
  /** The provider's HTTP status; `null` when no response was seen. */
  readonly status: number | null;
  /** The error member of the last assistant frame; `null` when it had none. */
  readonly error: string | null;
  /** The provider's category of a refusal. */
  readonly refusalCategory: string | null;
}

const AUTHENTICATION: ReadonlySet<string> = new Set([
  "authentication_failed",
  "oauth_org_not_allowed",
  "account_on_hold",
  "verification_required",
  "cloud_credential_error",
]);

/** The code for the wire, or `undefined` when the evidence supports none. */
export function classifyFailure(
  evidence: FailureEvidence,
): EngineFailureCode | undefined {
  const { terminalReason, status, error } = evidence;
  if (evidence.refusalCategory === "cyber") return "cyber_policy";
  if (
    terminalReason === "prompt_too_long" || terminalReason === "blocking_limit"
  ) return "context_length_exceeded";
  if (error !== null && AUTHENTICATION.has(error)) {
    return "authentication_error";
  }
  if (error === "billing_error") return "usage_limit_exceeded";
  if (error === "rate_limit") return "rate_limit_exceeded";
  if (error === "overloaded" || status === 529) return "server_overloaded";
  if (error === "model_not_found") return "resource_not_found";
  // A refusal by the model has this error too, but no status: no request of ours was invalid.
  if (error === "invalid_request" && status !== null) return "invalid_request";
  if (error === "server_error") return "server_error";
  return status === null ? undefined : fromStatus(status);
}

function fromStatus(status: number): EngineFailureCode | undefined {
  switch (status) {
    case 401:
    case 403:
      return "authentication_error";
    case 402:
      return "usage_limit_exceeded";
    case 404:
      return "resource_not_found";
    case 408:
      return "request_timeout";
    case 429:
      return "rate_limit_exceeded";
    case 400:
    case 413:
    case 422:
      return "invalid_request";
    default:
      return status >= 500 && status <= 599 ? "server_error" : undefined;
  }
}
