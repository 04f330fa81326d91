import { assert, assertEquals } from "@std/assert";
import {
  type ScriptedReply,
  textReply,
} from "../../../src/loopback/messages_provider.ts";
import { deferred } from "../../../src/platform/deferred.ts";
import { ClaudeLab, run } from "./support.ts";

/** Provider answers that the program does not repeat, with the expected code. */
const ROWS: readonly (readonly [string, ScriptedReply, string | undefined])[] =
  [
    ["401", error(401, "authentication_error"), "authentication_error"],
    ["403", error(403, "permission_error"), "authentication_error"],
    ["402", error(402, "billing_error"), "usage_limit_exceeded"],
    [
      "400 low credit",
      error(
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API.",
      ),
      "usage_limit_exceeded",
    ],
    ["404", error(404, "not_found_error", "model: x"), "resource_not_found"],
    ["413", error(413, "request_too_large"), "invalid_request"],
    [
      "prompt too long",
      error(
        400,
        "invalid_request_error",
        "prompt is too long: 300000 tokens > 200000 maximum",
      ),
      "context_length_exceeded",
    ],
    [
      "text that looks like a limit",
      error(400, "invalid_request_error", "weekly limit reached, rate_limit"),
      "invalid_request",
    ],
  ];

function error(
  status: number,
  type: string,
  message = type,
): ScriptedReply {
  return { type: "error", status, error: type, message };
}

Deno.test("claude failures: codes come from typed members, and the process stays usable", async () => {
  let reply: ScriptedReply = textReply("msg_0", "unused");
  await using lab = await ClaudeLab.open({ script: () => reply });
  const executor = await lab.prepare();
  for (const [name, scripted, code] of ROWS) {
    reply = scripted;
    const sink = await run(executor, name);
    const [failure] = sink.all("error");
    assert(failure, name);
    assertEquals(failure.payload.code, code, name);
    assertEquals(failure.payload.http_status, undefined);
    assertEquals(sink.events.at(-2)?.type, "error");
    assert(sink.all("usage").length > 0, name);
  }
  reply = textReply("msg_9", "fine again");
  const sink = await run(executor, "recovered?");
  assertEquals(sink.all("error"), []);
  assertEquals(sink.all("done")[0]?.payload.content, "fine again");
  assertEquals(lab.launches.length, 1);
});

Deno.test("claude failures: repeated failures are bounded and classified", async () => {
  for (
    const [status, code] of [
      [429, "rate_limit_exceeded"],
      [529, "server_overloaded"],
      [500, "server_error"],
    ] as const
  ) {
    await using lab = await ClaudeLab.open({
      script: () => ({ type: "error", status, error: "api_error" }),
    });
    const executor = await lab.prepare();
    const sink = await run(executor, "hello");
    assertEquals(sink.all("error")[0]?.payload.code, code);
    assert(lab.provider.requests.length <= 4);
  }
});

Deno.test("claude message_items: an abandoned message is never completed", async () => {
  const broken = deferred();
  await using lab = await ClaudeLab.open({
    script: (_request, index) =>
      index === 0
        ? {
          type: "broken",
          message: {
            id: "msg_broken",
            blocks: [{ type: "text", fragments: ["half", broken.promise] }],
          },
        }
        : textReply("msg_whole", "whole answer"),
  });
  const executor = await lab.prepare();
  const running = run(executor, "hello");
  await lab.provider.request(0);
  broken.reject(new Error("cut"));
  const sink = await running;
  assertEquals(
    sink.all("output_message").map(({ payload }) => payload).filter((each) =>
      each.status === "completed"
    ),
    [{ id: "msg_whole", status: "completed", text: "whole answer" }],
  );
  assertEquals(sink.all("done")[0]?.payload.content, "whole answer");
});
