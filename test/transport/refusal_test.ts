// What each status means on each route.
import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  classifyRefusal,
  describeRefusal,
  parseRetryAfter,
  type Route,
} from "../../src/transport/refusal.ts";

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);

for (
  const [route, status, expected] of [
    ["socket", 400, "slow"],
    ["bootstrap", 400, "configuration"],
    ["bootstrap", 401, "credential_rejected"],
    ["socket", 401, "credential_rejected"],
    ["bootstrap", 403, "credential_rejected"],
    ["socket", 403, "credential_rejected"],
    ["bootstrap", 405, "slow"],
    ["socket", 426, "incompatible_version"],
    ["bootstrap", 426, "incompatible_version"],
    ["socket", 301, "slow"],
    ["socket", 302, "slow"],
    ["bootstrap", 307, "slow"],
    ["bootstrap", 308, "slow"],
    ["socket", 200, "transient"],
    ["bootstrap", 404, "transient"],
    ["socket", 404, "transient"],
    ["socket", 408, "transient"],
    ["socket", 409, "transient"],
    ["socket", 429, "transient"],
    ["bootstrap", 500, "transient"],
    ["socket", 500, "transient"],
    ["socket", 502, "transient"],
    ["bootstrap", 503, "transient"],
    ["socket", 504, "transient"],
  ] as const satisfies readonly (readonly [Route, number, string])[]
) {
  Deno.test(`${route} status ${status} is ${expected}`, () => {
    const refusal = classifyRefusal(route, { status, body: "" }, NOW);
    assertEquals(
      refusal.kind === "permanent" ? refusal.reason : refusal.kind,
      expected,
    );
    assertStringIncludes(describeRefusal(refusal), String(status));
  });
}

Deno.test("a known machine code is named; text, details and unknown codes are not", () => {
  const known = classifyRefusal("socket", {
    status: 401,
    body: '{"error":"unknown_device","detail":"CANARY"}',
  }, NOW);
  assertStringIncludes(describeRefusal(known), "unknown_device");
  for (
    const body of [
      '{"error":"CANARY"}',
      "CANARY",
      '["CANARY"]',
      '{"error":{"code":"CANARY"}}',
      "null",
    ]
  ) {
    const refusal = classifyRefusal("socket", { status: 401, body }, NOW);
    assertEquals(JSON.stringify(refusal).includes("CANARY"), false);
    assertEquals(describeRefusal(refusal).includes("CANARY"), false);
    assertEquals(describeRefusal(known).includes("CANARY"), false);
  }
});

for (
  const [header, expected] of [
    [undefined, undefined],
    ["", undefined],
    ["soon", undefined],
    ["0", undefined],
    ["-5", undefined],
    ["7", 7_000],
    [" 7 ", 7_000],
    ["300", 300_000],
    ["301", 300_000],
    ["999999999", 300_000],
    ["99999999999999999999", undefined],
    ["Fri, 02 Jan 2026 03:04:15 GMT", 10_000],
    ["Fri, 02 Jan 2026 03:04:05 GMT", undefined],
    ["Fri, 02 Jan 2099 03:04:05 GMT", 300_000],
  ] as const
) {
  Deno.test(`Retry-After '${header}' means ${expected} ms`, () => {
    assertEquals(parseRetryAfter(header, NOW), expected);
  });
}

Deno.test("only a transient refusal carries a retry wish", () => {
  const answer = { status: 503, body: "", retryAfter: "40" };
  assertEquals(classifyRefusal("socket", answer, NOW), {
    kind: "transient",
    source: { from: "core", route: "socket", status: 503 },
    retryAfter: 40_000,
  });
  const permanent = classifyRefusal("socket", { ...answer, status: 401 }, NOW);
  assertEquals("retryAfter" in permanent, false);
});
