import { assert, assertEquals, assertRejects } from "@std/assert";
import { UnknownInteraction } from "../../../src/harness/contract.ts";
import type { FunctionTool } from "../../../src/protocol/configuration.ts";
import {
  replies,
  type ScriptedReply,
  textReply,
  toolReply,
} from "../../../src/loopback/messages_provider.ts";
import { PNG } from "./images.ts";
import {
  ClaudeLab,
  lastUserText,
  never,
  proves,
  run,
  start,
  toolNames,
} from "./support.ts";

function tool(name: string, deferred = false): FunctionTool {
  return {
    name,
    description: `Does ${name}`,
    parameters: { type: "object", properties: { city: { type: "string" } } },
    ...(deferred ? { defer_loading: true } : {}),
  };
}

const CALL = "mcp__functions__get_weather";

function twoCalls(): ScriptedReply {
  return {
    type: "message",
    id: "msg_1",
    blocks: [
      {
        type: "tool_use",
        id: "toolu_a",
        name: CALL,
        fragments: ['{"city":', '"Oslo"}'],
      },
      {
        type: "tool_use",
        id: "toolu_b",
        name: CALL,
        fragments: ['{"city":"Rome"}'],
      },
    ],
  };
}

function result(call_id: string, text: string, success = true) {
  return {
    delivery_id: crypto.randomUUID(),
    call_id,
    success,
    content: [{ type: "input_text", text }] as const,
  };
}

proves("function_tools", async () => {
  await using lab = await ClaudeLab.open({
    script: replies(twoCalls(), textReply("msg_2", "cold and warm")),
  });
  const executor = await lab.prepare(
    lab.configuration({ functionTools: [tool("get_weather")] }),
  );
  const { turn, sink } = await start(executor, "weather?");
  const isCall = (id: string) =>
  (event: {
    payload: { call_id: string };
  }) => event.payload.call_id === id;
  const a = await sink.next("function_call", isCall("toolu_a"));
  const b = await sink.next("function_call", isCall("toolu_b"));
  assertEquals(a.payload, {
    call_id: "toolu_a",
    name: "get_weather",
    arguments: { city: "Oslo" },
  });
  assertEquals(b.payload.arguments, { city: "Rome" });
  // The second call is answered first: results go by identity, not by order.
  await turn.submitFunctionResult(result("toolu_b", "warm"), never);
  await assertRejects(
    () => turn.submitFunctionResult(result("toolu_b", "again"), never),
    UnknownInteraction,
  );
  await turn.submitFunctionResult(result("toolu_a", "no data", false), never);
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  await assertRejects(
    () => turn.submitFunctionResult(result("toolu_a", "late"), never),
    UnknownInteraction,
  );
  const observed = sink.all("tool_call").map(({ payload }) => [
    payload.id,
    payload.stage,
    payload.observation?.kind,
    payload.observation?.status,
  ]);
  assertEquals(observed.sort(), [
    ["toolu_a", "after", "function", "failed"],
    ["toolu_a", "before", "function", "in_progress"],
    ["toolu_b", "after", "function", "completed"],
    ["toolu_b", "before", "function", "in_progress"],
  ]);
  const sent = lab.provider.requests[1]?.body?.messages ?? [];
  const text = JSON.stringify(sent);
  assert(text.includes("warm") && text.includes("no data"));
});

Deno.test("claude function_tools: an undeclared function is answered by the program itself", async () => {
  await using lab = await ClaudeLab.open({
    script: replies(
      toolReply("msg_1", {
        id: "toolu_x",
        name: "mcp__functions__other",
        input: {},
      }),
      textReply("msg_2", "sorry"),
    ),
  });
  const executor = await lab.prepare(
    lab.configuration({ functionTools: [tool("get_weather")] }),
  );
  const sink = await run(executor, "call the other");
  assertEquals(sink.all("function_call"), []);
});

Deno.test("claude function_tools: a cancelled Turn drops its unanswered call", async () => {
  await using lab = await ClaudeLab.open({
    script: replies(twoCalls(), textReply("msg_2", "next")),
  });
  const executor = await lab.prepare(
    lab.configuration({ functionTools: [tool("get_weather")] }),
  );
  const { turn, sink } = await start(executor, "weather?");
  await sink.next("function_call");
  await turn.cancel(never);
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  await assertRejects(
    () => turn.submitFunctionResult(result("toolu_a", "late"), never),
    UnknownInteraction,
  );
  await run(executor, "and now?");
});

Deno.test("claude function_tools: a result of 400,000 characters arrives whole, a longer one is refused", async () => {
  await using lab = await ClaudeLab.open({
    script: replies(
      toolReply("msg_1", { id: "toolu_a", name: CALL, input: {} }),
      textReply("msg_2", "read"),
    ),
  });
  const executor = await lab.prepare(
    lab.configuration({ functionTools: [tool("get_weather")] }),
  );
  const { turn, sink } = await start(executor, "read it");
  await sink.next("function_call");
  const long = "0123456789".repeat(40_000);
  await assertRejects(
    () => turn.submitFunctionResult(result("toolu_a", long + "x"), never),
    Error,
    "too long",
  );
  await turn.submitFunctionResult(result("toolu_a", long), never);
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  assert(lab.provider.requests[1]?.text.includes(long));
});

Deno.test("claude function_tools: an empty result is a result", async () => {
  await using lab = await ClaudeLab.open({
    script: replies(
      toolReply("msg_1", { id: "toolu_a", name: CALL, input: {} }),
      textReply("msg_2", "fine"),
    ),
  });
  const executor = await lab.prepare(
    lab.configuration({ functionTools: [tool("get_weather")] }),
  );
  const { turn, sink } = await start(executor, "do it");
  await sink.next("function_call");
  await turn.submitFunctionResult({
    delivery_id: "d",
    call_id: "toolu_a",
    success: true,
    content: [],
  }, never);
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
});

proves("function_result_images", async () => {
  await using lab = await ClaudeLab.open({
    script: replies(
      toolReply("msg_1", { id: "toolu_a", name: CALL, input: {} }),
      textReply("msg_2", "nice"),
    ),
  });
  const executor = await lab.prepare(
    lab.configuration({ functionTools: [tool("get_weather")] }),
  );
  const { turn, sink } = await start(executor, "show it");
  await sink.next("function_call");
  const content = [
    { type: "input_text", text: "before" },
    { type: "input_image", image_url: `data:image/png;base64,${PNG}` },
    { type: "input_text", text: "after" },
  ] as const;
  const base = { delivery_id: "d", call_id: "toolu_a" };
  await assertRejects(
    () =>
      turn.submitFunctionResult({ ...base, success: false, content }, never),
    Error,
    "cannot carry images",
  );
  await turn.submitFunctionResult({ ...base, success: true, content }, never);
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  const text = lastUserText(lab.provider.requests[1]);
  const before = text.indexOf('"before"');
  const image = text.indexOf('"image/png"');
  const after = text.indexOf('"after');
  assert(before >= 0 && before < image && image < after, text);
});

proves("tool_search", async () => {
  await using lab = await ClaudeLab.open({
    script: replies(
      toolReply("msg_1", {
        id: "toolu_s",
        name: "ToolSearch",
        input: { query: "select:mcp__functions__rare", max_results: 1 },
      }),
      toolReply("msg_2", {
        id: "toolu_r",
        name: "mcp__functions__rare",
        input: { city: "Oslo" },
      }),
      textReply("msg_3", "found"),
    ),
  });
  const executor = await lab.prepare(lab.configuration({
    toolSearch: true,
    functionTools: [tool("get_weather"), tool("rare", true)],
  }));
  const { turn, sink } = await start(executor, "find the rare one");
  const call = await sink.next("function_call");
  assertEquals(call.payload.name, "rare");
  await turn.submitFunctionResult(result("toolu_r", "rare result"), never);
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  const first = lab.provider.requests[0];
  assert(toolNames(first).includes("ToolSearch"));
  assert(toolNames(first).includes(CALL));
  const rare = (first?.body?.tools ?? []).find(({ name }) =>
    name === "mcp__functions__rare"
  );
  assert(
    rare === undefined ||
      (rare as { defer_loading?: boolean }).defer_loading === true,
  );
});
