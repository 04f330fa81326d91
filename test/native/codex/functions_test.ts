/** Functions and images on the real program. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { UnknownInteraction } from "../../../src/harness/contract.ts";
import {
  answers,
  callAnswer,
  type ScriptedAnswer,
  textAnswer,
} from "../../../src/loopback/responses_provider.ts";
import type { FunctionTool } from "../../../src/protocol/configuration.ts";
import type { FunctionResult } from "../../../src/protocol/functions.ts";
import { JPEG, PNG } from "../../support/responses_images.ts";
import { CodexRig, unbounded } from "../../support/responses_rig.ts";

const lookUp: FunctionTool = {
  name: "look_up",
  description: "Looks up.",
  parameters: {
    type: "object",
    properties: { key: { type: "string" } },
    required: ["key"],
  },
};

const result = (
  call: string,
  content: FunctionResult["content"],
  changes: Partial<FunctionResult> = {},
): FunctionResult => ({
  delivery_id: `delivery-${call}`,
  call_id: call,
  success: true,
  content,
  ...changes,
});

const twoCalls: ScriptedAnswer = {
  type: "response",
  items: ["a", "b"].map((key) => ({
    type: "function_call",
    callId: `call-${key}`,
    name: "look_up",
    arguments: JSON.stringify({ key }),
  })),
};

Deno.test("parallel function calls are answered and received", async () => {
  await using rig = await CodexRig.start({
    script: answers(twoCalls, textAnswer("m1", "done")),
  });
  const executor = await rig.prepare(
    rig.configuration({ functionTools: [lookUp] }),
  );
  const { turn, sink } = await rig.start(executor, "go");
  const isCall = (id: string) => (event: { payload: { call_id: string } }) =>
    event.payload.call_id === id;
  const a = await sink.next("function_call", isCall("call-a"));
  await sink.next("function_call", isCall("call-b"));
  assertEquals(a.payload, {
    call_id: "call-a",
    name: "look_up",
    arguments: { key: "a" },
  });
  const long = "x".repeat(200_000);
  const text = (value: string) => ({
    type: "input_text" as const,
    text: value,
  });
  await turn.submitFunctionResult(
    result("call-b", [text("value b"), text(long)]),
    unbounded,
  );
  await assertRejects(
    () => turn.submitFunctionResult(result("call-b", []), unbounded),
    UnknownInteraction,
  );
  await turn.submitFunctionResult(
    result("call-a", [text("not found")], { success: false }),
    unbounded,
  );
  assertEquals(await turn.awaitSettlement(unbounded), { reusable: true });
  const request = rig.provider.requests[1]?.text ?? "";
  assert(request.includes("value b") && request.includes(long));
  assert(request.includes("not found"));
  const after = sink.all("tool_call").filter(({ payload }) =>
    payload.stage === "after"
  );
  const statusOf = (id: string) =>
    after.find(({ payload }) => payload.id === id)?.payload.observation;
  assertEquals(statusOf("call-a")?.status, "failed");
  assertEquals(statusOf("call-b")?.status, "completed");
  assertEquals(statusOf("call-b")?.content?.[0], text("value b"));
  await assertRejects(
    () => turn.submitFunctionResult(result("call-a", []), unbounded),
    UnknownInteraction,
  );
});

Deno.test("a cancel drops calls without a result", async () => {
  await using rig = await CodexRig.start({
    script: answers(twoCalls, textAnswer("m1", "next")),
  });
  const executor = await rig.prepare(
    rig.configuration({ functionTools: [lookUp] }),
  );
  const { turn, sink } = await rig.start(executor, "go", "run-1");
  await sink.next("function_call");
  await turn.cancel(unbounded);
  assertEquals(await turn.awaitSettlement(unbounded), { reusable: true });
  await assertRejects(
    () => turn.submitFunctionResult(result("call-a", []), unbounded),
    UnknownInteraction,
  );
  assertEquals((await rig.run(executor, "again", "run-2")).text, "next");
});

Deno.test("an image in a result reaches the model", async () => {
  await using rig = await CodexRig.start({
    script: answers(
      callAnswer("call-a", "look_up", { key: "a" }),
      textAnswer("m1", "done"),
    ),
  });
  const executor = await rig.prepare(
    rig.configuration({ functionTools: [lookUp] }),
  );
  const { turn, sink } = await rig.start(executor, "go");
  await sink.next("function_call");
  const image = { type: "input_image" as const, image_url: PNG };
  await assertRejects(
    () =>
      turn.submitFunctionResult(
        result("call-a", [image], { success: false }),
        unbounded,
      ),
    Error,
    "failed result",
  );
  await turn.submitFunctionResult(
    result("call-a", [{ type: "input_text", text: "see" }, image]),
    unbounded,
  );
  await turn.awaitSettlement(unbounded);
  assert(rig.provider.requests[1]?.text.includes(PNG));
});

Deno.test("images reach the request at their position", async () => {
  await using rig = await CodexRig.start({
    script: () => textAnswer("m1", "done"),
  });
  const input = [
    {
      content: [
        { type: "input_text" as const, text: "before" },
        { type: "input_image" as const, image_url: PNG },
        { type: "input_text" as const, text: "between" },
      ],
    },
    { content: [{ type: "input_image" as const, image_url: JPEG }] },
  ];
  const executor = await rig.prepare();
  await rig.run(executor, input);
  const message = rig.provider.requests[0]?.body?.input.findLast((item) =>
    item.role === "user"
  );
  const parts = (message?.content as Record<string, unknown>[]).map((part) =>
    part.text ?? part.image_url
  );
  assertEquals(parts, ["before", PNG, "between", "\n\n", JPEG]);
  const check = rig.factory.checkInput(rig.configuration(), [{
    content: [{ type: "input_image", image_url: "https://x.test/a.png" }],
  }]);
  assert(check !== undefined);
});

Deno.test("a call of an undeclared function is answered at once and the Turn goes on", async () => {
  await using rig = await CodexRig.start({
    script: answers(
      callAnswer("call-x", "not_declared", {}),
      textAnswer("m1", "done"),
    ),
  });
  const executor = await rig.prepare(
    rig.configuration({ functionTools: [lookUp] }),
  );
  const sink = await rig.run(executor, "go");
  assertEquals(sink.all("function_call"), []);
  assertEquals(sink.all("done")[0]?.payload.content, "done");
});

Deno.test("a function schema the engine refuses fails the preparation, and the Session can be prepared again", async () => {
  await using rig = await CodexRig.start({
    script: () => textAnswer("m1", "done"),
  });
  const odd = { ...lookUp, parameters: { type: "object", properties: 7 } };
  await assertRejects(() =>
    rig.prepare(rig.configuration({ functionTools: [odd] }))
  );
  const executor = await rig.prepare();
  assertEquals((await rig.run(executor, "go")).text, "done");
});
