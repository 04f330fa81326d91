// Owns the neutral classification of a native failure. It is optional metadata of an `error` frame:
// what is malformed or unknown is dropped, and the error text never decides a code.

/** Every accepted code. */
export const ENGINE_FAILURE_CODES = [
  "authentication_error",
  "rate_limit_exceeded",
  "usage_limit_exceeded",
  "server_overloaded",
  "server_error",
  "invalid_request",
  "resource_not_found",
  "request_timeout",
  "context_length_exceeded",
  "cyber_policy",
  "connection_failed",
] as const;

/** One accepted code. */
export type EngineFailureCode = typeof ENGINE_FAILURE_CODES[number];

/** A classification as it may be sent: a status only beside `connection_failed`. */
export interface EngineFailure {
  readonly code?: EngineFailureCode;
  readonly http_status?: number;
}

const codes: ReadonlySet<unknown> = new Set(ENGINE_FAILURE_CODES);

/** Keeps of any candidate what may be sent. Applied when an error is sent and when it is read. */
export function normaliseFailure(
  candidate: { readonly code?: unknown; readonly http_status?: unknown },
): EngineFailure {
  const { code, http_status: status } = candidate;
  if (!isFailureCode(code)) return {};
  return code === "connection_failed" && isHttpStatus(status)
    ? { code, http_status: status }
    : { code };
}

function isFailureCode(value: unknown): value is EngineFailureCode {
  return codes.has(value);
}

function isHttpStatus(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 100 &&
    (value as number) <= 599;
}
