/** Codes of native failures: from typed evidence alone. */
import { assertEquals } from "@std/assert";
import {
  classifyFailure,
  failureText,
} from "../../../adapters/codex/errors.ts";

const CASES: readonly (readonly [unknown, object])[] = [
  ["unauthorized", { code: "authentication_error" }],
  ["usageLimitExceeded", { code: "usage_limit_exceeded" }],
  ["rateLimitExceeded", { code: "rate_limit_exceeded" }],
  ["contextWindowExceeded", { code: "context_length_exceeded" }],
  ["serverOverloaded", { code: "server_overloaded" }],
  ["internalServerError", { code: "server_error" }],
  ["badRequest", { code: "invalid_request" }],
  ["cyberPolicy", { code: "cyber_policy" }],
  ["modelNotFound", { code: "resource_not_found" }],
  ["sessionBudgetExceeded", {}],
  ["other", {}],
  ["a new one", {}],
  [undefined, {}],
  [null, {}],
  [429, {}],
  [["unauthorized"], {}],
  [{ httpConnectionFailed: { httpStatusCode: 503 } }, {
    code: "connection_failed",
    http_status: 503,
  }],
  [{ httpConnectionFailed: { httpStatusCode: null } }, {
    code: "connection_failed",
  }],
  [{ responseStreamConnectionFailed: { httpStatusCode: 99 } }, {
    code: "connection_failed",
  }],
  [{ responseStreamDisconnected: { httpStatusCode: 600 } }, {
    code: "connection_failed",
  }],
  [{ responseStreamDisconnected: { httpStatusCode: "503" } }, {
    code: "connection_failed",
  }],
  [{ responseTooManyFailedAttempts: { httpStatusCode: 429 } }, {
    code: "rate_limit_exceeded",
  }],
  [{ responseTooManyFailedAttempts: { httpStatusCode: 500 } }, {
    code: "connection_failed",
    http_status: 500,
  }],
  [{ httpConnectionFailed: {}, other: {} }, {}],
  [{ httpConnectionFailed: null }, {}],
  [{ unauthorized: {} }, {}],
];
for (const [info, expected] of CASES) {
  Deno.test(`a failure of ${JSON.stringify(info)} is ${JSON.stringify(expected)}`, () => {
    assertEquals(classifyFailure(info), expected);
  });
}

Deno.test("the text of a failure is unwrapped once and decides nothing", () => {
  const text = (message: string) => failureText(message);
  assertEquals(
    text('{"error":{"code":"rate_limit_exceeded","message":"weekly limit"}}'),
    "rate_limit_exceeded: weekly limit",
  );
  assertEquals(text('{"error":{"message":"m"}}'), "m");
  for (
    const whole of ["weekly limit reached", '{"error":"x"}', "{", '{"a":1}']
  ) assertEquals(text(whole), whole);
});
