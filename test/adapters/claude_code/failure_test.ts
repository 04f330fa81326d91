import { assertEquals } from "@std/assert";
import {
  classifyFailure,
  type FailureEvidence,
} from "../../../adapters/claude_code/failure.ts";

type Row = readonly [
  reason: string | null,
  status: number | null,
  error: string | null,
  code: string | undefined,
];

const ROWS: readonly Row[] = [
  ["prompt_too_long", 400, "invalid_request", "context_length_exceeded"],
  ["blocking_limit", null, null, "context_length_exceeded"],
  ["api_error", 401, "authentication_failed", "authentication_error"],
  ["api_error", 403, "authentication_failed", "authentication_error"],
  ["api_error", null, "oauth_org_not_allowed", "authentication_error"],
  ["api_error", null, "account_on_hold", "authentication_error"],
  ["api_error", null, "verification_required", "authentication_error"],
  ["api_error", null, "cloud_credential_error", "authentication_error"],
  ["api_error", 401, "unknown", "authentication_error"],
  ["api_error", 403, null, "authentication_error"],
  ["api_error", 400, "billing_error", "usage_limit_exceeded"],
  ["api_error", 402, "unknown", "usage_limit_exceeded"],
  ["api_error", 429, "rate_limit", "rate_limit_exceeded"],
  ["api_error", null, "rate_limit", "rate_limit_exceeded"],
  ["api_error", 429, "unknown", "rate_limit_exceeded"],
  ["api_error", 529, "server_error", "server_overloaded"],
  ["api_error", 529, "unknown", "server_overloaded"],
  ["api_error", null, "overloaded", "server_overloaded"],
  ["api_error", 404, "model_not_found", "resource_not_found"],
  ["api_error", 404, "unknown", "resource_not_found"],
  ["api_error", 408, "unknown", "request_timeout"],
  ["api_error", 500, "server_error", "server_error"],
  ["api_error", 503, "unknown", "server_error"],
  ["api_error", null, "server_error", "server_error"],
  ["api_error", 400, "unknown", "invalid_request"],
  ["image_error", 413, "invalid_request", "invalid_request"],
  ["api_error", 422, "unknown", "invalid_request"],
  ["api_error", null, "invalid_request", undefined],
  ["api_error", null, "unknown", undefined],
  ["api_error", null, "max_output_tokens", undefined],
  ["api_error", null, null, undefined],
  ["max_turns", null, null, undefined],
  ["api_error", 418, "unknown", undefined],
  ["api_error", 600, "unknown", undefined],
  ["api_error", null, "something_new", undefined],
  [null, null, null, undefined],
];

for (const [terminalReason, status, error, code] of ROWS) {
  Deno.test(`a failure ${terminalReason}, ${status}, ${error} is ${code}`, () => {
    const evidence: FailureEvidence = {
      terminalReason,
      status,
      error,
      refusalCategory: null,
    };
    assertEquals(String(classifyFailure(evidence)), String(code));
  });
}

Deno.test("a refusal is a policy matter only when its category says so", () => {
  const refusal = (refusalCategory: string | null) =>
    classifyFailure({
      terminalReason: "api_error",
      status: null,
      error: "invalid_request",
      refusalCategory,
    });
  assertEquals(refusal("cyber"), "cyber_policy");
  assertEquals(refusal("bio"), undefined);
  assertEquals(refusal(null), undefined);
});
