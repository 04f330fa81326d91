/**
 * What a native failure means on the wire. Decides by the typed `codexErrorInfo` alone: no message
 * text ever chooses a code.
 */
import type { EngineFailureCode } from "../../src/protocol/run_output.ts";

/** A classified failure; both members are absent when nothing typed says more. */
export interface Classification {
  readonly code?: EngineFailureCode;
  readonly http_status?: number;
}

const NAMED: ReadonlyMap<string, EngineFailureCode> = new Map([
  ["unauthorized", "authentication_error"],
  ["usageLimitExceeded", "usage_limit_exceeded"],
  ["rateLimitExceeded", "rate_limit_exceeded"],
  ["contextWindowExceeded", "context_length_exceeded"],
  ["serverOverloaded", "server_overloaded"],
  ["internalServerError", "server_error"],
  ["badRequest", "invalid_request"],
  ["cyberPolicy", "cyber_policy"],
  ["modelNotFound", "resource_not_found"],
]);

/** Variants that carry the status of the provider's answer. */
const CONNECTION_VARIANTS: ReadonlySet<string> = new Set([
  "httpConnectionFailed",
  "responseStreamConnectionFailed",
  "responseStreamDisconnected",
]);

/** Classifies the `codexErrorInfo` of a failed Turn. Unknown values classify nothing. */
export function classifyFailure(info: unknown): Classification {
  if (typeof info === "string") {
    const code = NAMED.get(info);
    return code ? { code } : {};
  }
  if (typeof info !== "object" || info === null) return {};
  const members = Object.entries(info);
  const [variant, detail] = members[0] ?? [];
  if (members.length !== 1 || variant === undefined) return {};
  if (typeof detail !== "object" || detail === null) return {};
  const status = httpStatus((detail as Record<string, unknown>).httpStatusCode);
  if (variant === "responseTooManyFailedAttempts") {
    return status === 429
      ? { code: "rate_limit_exceeded" }
      : connectionFailed(status);
  }
  return CONNECTION_VARIANTS.has(variant) ? connectionFailed(status) : {};
}

/** The text of a native failure, one level of a JSON error body unwrapped. */
export function failureText(message: string): string {
  const body = parseObject(message)?.error;
  if (typeof body !== "object" || body === null) return message;
  const { code, message: inner } = body as Record<string, unknown>;
  if (typeof inner !== "string") return message;
  return typeof code === "string" ? `${code}: ${inner}` : inner;
}

function connectionFailed(status: number | undefined): Classification {
  return status === undefined
    ? { code: "connection_failed" }
    : { code: "connection_failed", http_status: status };
}

function httpStatus(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) &&
      value >= 100 && value <= 599
    ? value
    : undefined;
}

function parseObject(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null
      ? value as Record<string, unknown>
      : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
