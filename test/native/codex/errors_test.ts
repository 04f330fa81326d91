/** One real Turn per failure of a provider: the wire code comes from typed evidence only. */
import { assertEquals } from "@std/assert";
import {
  type ScriptedAnswer,
  textAnswer,
} from "../../../src/loopback/responses_provider.ts";
import { CodexRig } from "../../support/responses_rig.ts";

interface Case {
  readonly name: string;
  readonly answer: ScriptedAnswer;
  readonly code?: string;
  readonly status?: number;
}

const http = (
  status: number,
  code: string | undefined,
  wire: string | undefined,
  wireStatus?: number,
): Case => ({
  name: `HTTP ${status} ${code ?? ""}`.trim(),
  answer: { type: "error", status, ...(code ? { code } : {}) },
  ...(wire ? { code: wire } : {}),
  ...(wireStatus ? { status: wireStatus } : {}),
});

const failed = (code: string, wire?: string): Case => ({
  name: `a failed response with ${code}`,
  answer: { type: "failed", code },
  ...(wire ? { code: wire } : {}),
});

const partial = [{
  type: "message" as const,
  id: "m1",
  fragments: ["partial 429 unauthorized"],
}];

const CASES: readonly Case[] = [
  http(401, undefined, "connection_failed", 401),
  http(403, undefined, "connection_failed", 403),
  http(404, "model_not_found", "resource_not_found"),
  http(400, undefined, undefined),
  http(400, "context_length_exceeded", "context_length_exceeded"),
  http(400, "cyber_policy", "cyber_policy"),
  http(429, "rate_limit_exceeded", "rate_limit_exceeded"),
  http(429, undefined, "rate_limit_exceeded"),
  http(429, "insufficient_quota", "usage_limit_exceeded"),
  http(429, "usage_limit_reached", "usage_limit_exceeded"),
  http(500, undefined, "server_error"),
  http(502, undefined, "connection_failed", 502),
  http(503, undefined, "connection_failed", 503),
  http(503, "server_is_overloaded", "server_overloaded"),
  http(503, "slow_down", "rate_limit_exceeded"),
  failed("context_length_exceeded", "context_length_exceeded"),
  failed("insufficient_quota", "usage_limit_exceeded"),
  failed("server_is_overloaded", "server_overloaded"),
  failed("model_not_found", "resource_not_found"),
  failed("server_error"),
  failed("invalid_prompt"),
  {
    name: "a stream that breaks in the middle",
    answer: { type: "broken", items: partial },
  },
  {
    name: "an answer cut by the token limit",
    answer: {
      type: "incomplete",
      reason: "max_output_tokens",
      items: partial,
    },
  },
];

Deno.test("each failure of a provider has its wire code, and the next Turn runs", async (test) => {
  await using rig = await CodexRig.start();
  const executor = await rig.prepare();
  for (const [index, { name, answer, code, status }] of CASES.entries()) {
    await test.step(name, async () => {
      rig.provider.script(() => answer);
      const before = rig.provider.requests.length;
      const sink = await rig.run(executor, "go", `run-${index}`);
      const errors = sink.all("error");
      assertEquals(errors.length, 1);
      assertEquals(errors[0]?.payload.code, code as undefined);
      assertEquals(errors[0]?.payload.http_status, status);
      const [done] = sink.all("done");
      assertEquals(sink.all("done").length, 1);
      assertEquals(done?.payload.usage?.tokens, undefined);
      const requests = rig.provider.requests.length - before;
      // The engine itself shortens a history that is too long and asks again.
      if (code !== "context_length_exceeded") assertEquals(requests, 1);
    });
  }
  rig.provider.script(() => textAnswer("m9", "fine"));
  assertEquals((await rig.run(executor, "go", "last")).text, "fine");
});

Deno.test("a refused connection is an error at once, not an endless wait", async () => {
  await using rig = await CodexRig.start();
  const executor = await rig.prepare(rig.configuration({
    modelProvider: {
      protocol: "responses",
      base_url: "http://127.0.0.1:9/v1",
      api_key: "k",
    },
  }));
  const sink = await rig.run(executor, "go");
  assertEquals(sink.all("error")[0]?.payload.code, "connection_failed");
  assertEquals(sink.all("error")[0]?.payload.http_status, undefined);
});
