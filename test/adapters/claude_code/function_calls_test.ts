import { assert, assertEquals, assertRejects } from "@std/assert";
import { UnknownInteraction } from "../../../src/harness/contract.ts";
import type { FunctionResult } from "../../../src/protocol/functions.ts";
import { sameContent } from "../../../adapters/claude_code/function_receipt.ts";
import { serveFunctions } from "../../../adapters/claude_code/function_server.ts";
import { settleEvents } from "../../support/virtual_clock.ts";
import { PNG } from "../../native/claude_code/images.ts";
import { FakeClaude, idle, never, result } from "./fake_claude.ts";

const TOOL = {
  name: "look.up",
  description: "Looks it up",
  parameters: { properties: {} },
};

function answerOf(
  members: Partial<FunctionResult> & { readonly texts?: readonly string[] } =
    {},
): FunctionResult {
  const { texts = ["found"], ...rest } = members;
  return {
    delivery_id: "d",
    call_id: "toolu_1",
    success: true,
    content: texts.map((text) => ({ type: "input_text", text })),
    ...rest,
  };
}

/** A Turn in which the program has made one call. */
async function called() {
  const claude = new FakeClaude({ functionTools: [TOOL] });
  const running = await claude.begin();
  say(claude, "tools/call", {
    name: "look.up",
    arguments: { q: 1 },
    _meta: { "claudecode/toolUseId": "toolu_1" },
  });
  await settleEvents();
  return { claude, ...running };
}

function say(
  claude: FakeClaude,
  method: string,
  params: unknown,
  id: number | null = 7,
): void {
  claude.child.say({
    type: "control_request",
    request_id: `mcp-${method}-${id}`,
    request: {
      subtype: "mcp_message",
      server_name: "functions",
      message: {
        jsonrpc: "2.0",
        ...(id === null ? {} : { id }),
        method,
        params,
      },
    },
  });
}

function toolResult(content: unknown, is_error = false): unknown {
  return {
    type: "user",
    parent_tool_use_id: null,
    message: {
      role: "user",
      content: [{
        type: "tool_result",
        tool_use_id: "toolu_1",
        is_error,
        content,
      }],
    },
  };
}

Deno.test("a result is applied by the program's own tool result, not by its write", async () => {
  const { claude, turn, sink, uuid } = await called();
  let applied = false;
  const submitted = turn.submitFunctionResult(answerOf(), never).then(() => {
    applied = true;
  });
  await settleEvents();
  assertEquals(applied, false);
  claude.child.say(toolResult([{ type: "text", text: "found" }]));
  await submitted;
  claude.child.say(result([uuid]), idle());
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  assertEquals(sink.all("function_call")[0]?.payload, {
    call_id: "toolu_1",
    name: "look.up",
    arguments: { q: 1 },
  });
});

Deno.test("a result without a receipt within ten seconds ends the execution", async () => {
  const { claude, turn } = await called();
  const submitted = assertRejects(() =>
    turn.submitFunctionResult(answerOf(), never)
  );
  await claude.clock.advance(10_000);
  await submitted;
  await assertRejects(() => turn.awaitSettlement(never));
});

Deno.test("content that the caller changes afterwards does not change the receipt", async () => {
  const { claude, turn } = await called();
  const content = [{ type: "input_text" as const, text: "found" }];
  const submitted = turn.submitFunctionResult(answerOf({ content }), never);
  (content[0] as { text: string }).text = "changed";
  await settleEvents();
  claude.child.say(toolResult("found"));
  await submitted;
});

for (
  const [name, frame] of [
    ["other text", toolResult("other")],
    ["an error flag", toolResult("found", true)],
    [
      "an additional block",
      toolResult([
        { type: "text", text: "found" },
        { type: "text", text: "more" },
      ]),
    ],
    ["no content", toolResult([])],
  ] as const
) {
  Deno.test(`a tool result with ${name} is no receipt and loses the Turn`, async () => {
    const { claude, turn } = await called();
    const submitted = assertRejects(() =>
      turn.submitFunctionResult(answerOf(), never)
    );
    await settleEvents();
    claude.child.say(frame);
    await submitted;
    await assertRejects(() => turn.awaitSettlement(never));
  });
}

Deno.test("a tool result before Core's answer loses the Turn", async () => {
  const { claude, turn } = await called();
  claude.child.say(toolResult("invented"));
  await assertRejects(() => turn.awaitSettlement(never));
});

Deno.test("a repeated native id is answered with an error and reaches Core once", async () => {
  const { claude, sink } = await called();
  say(claude, "tools/call", {
    name: "look.up",
    _meta: { "claudecode/toolUseId": "toolu_1" },
  }, 8);
  const reply = await claude.child.line(({ response }) =>
    response?.["request_id"] === "mcp-tools/call-8"
  );
  assert(JSON.stringify(reply).includes("-32602"));
  assertEquals(sink.all("function_call").length, 1);
});

Deno.test("a withdrawn call takes no result any more", async () => {
  const { claude, turn, sink, uuid } = await called();
  say(claude, "notifications/cancelled", { requestId: 7 }, null);
  await settleEvents();
  await assertRejects(
    () => turn.submitFunctionResult(answerOf(), never),
    UnknownInteraction,
  );
  claude.child.say(toolResult("cancelled", true), result([uuid]), idle());
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  assertEquals(
    sink.all("tool_call").map(({ payload }) => payload.observation?.status),
    ["in_progress", "incomplete"],
  );
});

Deno.test("a natural end with an unanswered call leaves the Executor unusable", async () => {
  const { claude, turn, uuid } = await called();
  claude.child.say(result([uuid]), idle());
  assertEquals(await turn.awaitSettlement(never), {
    reusable: false,
    reason: "unsettled_native_operations",
  });
  assertEquals(await claude.executor.retired, "executor_invalidated");
});

Deno.test("a cancel while a receipt is owed fails the submission", async () => {
  const { claude, turn, uuid } = await called();
  const submitted = assertRejects(() =>
    turn.submitFunctionResult(answerOf(), never)
  );
  await settleEvents();
  const cancelled = turn.cancel(never);
  await claude.answer("interrupt", { still_queued: [] });
  claude.child.say(
    result([uuid], { is_error: true, terminal_reason: "aborted_tools" }),
    idle(),
  );
  await submitted;
  await assertRejects(() => cancelled);
  await assertRejects(() => turn.awaitSettlement(never), Error, "unsettled");
  assertEquals(await claude.executor.retired, "executor_invalidated");
});

const IMAGE = {
  type: "input_image",
  image_url: `data:image/png;base64,${PNG}`,
} as const;
const NATIVE_IMAGE = {
  type: "image",
  source: { type: "base64", media_type: "image/png", data: "b3RoZXI=" },
};
const text = (value: string) => ({ type: "text", text: value });
const input = (value: string) => ({ type: "input_text", text: value } as const);

const RECEIPTS: readonly (readonly [
  string,
  FunctionResult["content"],
  unknown,
  boolean,
])[] = [
  ["plain text", [input("a")], "a", true],
  ["one block", [input("a")], [text("a")], true],
  ["blocks in order", [input("a"), input("b")], [text("a"), text("b")], true],
  ["swapped blocks", [input("a"), input("b")], [text("b"), text("a")], false],
  ["a missing block", [input("a"), input("b")], [text("a")], false],
  ["changed white space", [input("a ")], "a", false],
  ["the placeholder of nothing", [], "completed with no output", true],
  ["nothing for nothing", [], [], true],
  ["two placeholders", [], [text("x"), text("y")], false],
  ["an image with its path", [IMAGE], [NATIVE_IMAGE, text("path")], true],
  ["an image alone", [IMAGE], [NATIVE_IMAGE], true],
  ["an image replaced by text", [IMAGE], [text("unreadable")], false],
  [
    "image, path, text",
    [IMAGE, input("a")],
    [NATIVE_IMAGE, text("path"), text("a")],
    true,
  ],
  ["image, text", [IMAGE, input("a")], [NATIVE_IMAGE, text("a")], true],
  [
    "image, path, no text",
    [IMAGE, input("a")],
    [NATIVE_IMAGE, text("path")],
    false,
  ],
  [
    "a remote source",
    [IMAGE],
    [{ type: "image", source: { type: "url" } }],
    false,
  ],
];

for (const [name, content, native, expected] of RECEIPTS) {
  Deno.test(`the receipt with ${name} is ${expected}`, () => {
    const submitted = answerOf({ content });
    assertEquals(
      sameContent(submitted, { isError: false, content: native }),
      expected,
    );
  });
}

Deno.test("a failed result is received as one flattened text", () => {
  const failed = answerOf({ success: false, texts: ["a", "b"] });
  const received = (content: unknown, isError = true) =>
    sameContent(failed, { isError, content });
  assertEquals(received("a\nb"), true);
  assertEquals(received([text("a"), text("b")]), true);
  assertEquals(received("a\nb", false), false);
  assertEquals(received("a"), false);
});

Deno.test("the function server answers handshake, list and faults by itself", () => {
  const ask = (value: unknown) => serveFunctions([TOOL], value);
  const responses = [
    { id: 0, method: "initialize", params: { protocolVersion: "2025-11-25" } },
    { method: "notifications/initialized" },
    { id: 1, method: "tools/list" },
    { id: 2, method: "ping" },
    { id: 3, method: "resources/list" },
    { id: 4, method: "tools/call", params: { name: "look.up" } },
    {
      id: 5,
      method: "tools/call",
      params: { name: "other", _meta: { "claudecode/toolUseId": "t" } },
    },
    "no message",
  ].map(ask);
  assert(responses.every(({ type }) => type === "reply"));
  const json = JSON.stringify(responses);
  assert(json.includes('"anthropic/alwaysLoad":true'));
  assert(json.includes('"type":"object"'));
  assertEquals(json.match(/-32602/g)?.length, 2);
  assertEquals(json.match(/-32601/g)?.length, 1);
});
