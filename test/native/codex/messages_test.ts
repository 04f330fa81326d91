/** Message items, thinking and usage on the real program. */
import { assertEquals } from "@std/assert";
import {
  answers,
  callAnswer,
  type ScriptedAnswer,
  textAnswer,
} from "../../../src/loopback/responses_provider.ts";
import { deferred } from "../../../src/platform/deferred.ts";
import {
  CodexRig,
  TEST_LIMITS,
  unbounded,
} from "../../support/responses_rig.ts";

const twoMessages: ScriptedAnswer = {
  type: "response",
  items: [
    { type: "reasoning", id: "r1", fragments: ["thin", "king"] },
    {
      type: "message",
      id: "m1",
      fragments: ["on ", "it"],
      phase: "commentary",
    },
    { type: "message", id: "m2", fragments: ["done"], phase: "final_answer" },
  ],
};

Deno.test("each native message is one item with its own text", async () => {
  await using rig = await CodexRig.start({ script: answers(twoMessages) });
  const executor = await rig.prepare();
  const sink = await rig.run(executor, "go");
  const shown = sink.events.filter(({ type }) =>
    type === "output_message" || type === "delta"
  ).map((event) => "payload" in event ? event.payload : undefined);
  assertEquals<unknown>(shown, [
    { id: "m1", status: "in_progress", phase: "commentary" },
    { item_id: "m1", delta: "on " },
    { item_id: "m1", delta: "it" },
    { id: "m1", status: "completed", text: "on it", phase: "commentary" },
    { id: "m2", status: "in_progress", phase: "final_answer" },
    { item_id: "m2", delta: "done" },
    { id: "m2", status: "completed", text: "done", phase: "final_answer" },
  ]);
  assertEquals(sink.all("done")[0]?.payload.content, "on it\n\ndone");
  const thinking = sink.all("thinking");
  assertEquals(thinking.map(({ payload }) => payload.text), [
    "thin",
    "king",
    "thinking",
  ]);
  assertEquals(thinking.at(-1)?.unsequenced, true);
});

Deno.test("without message observation deltas carry no item and no item is shown", async () => {
  await using rig = await CodexRig.start({ script: answers(twoMessages) });
  const executor = await rig.prepare(
    rig.configuration({ observeMessages: false }),
  );
  const sink = await rig.run(executor, "go");
  assertEquals(sink.all("output_message"), []);
  assertEquals(
    sink.all("delta").every(({ payload }) => payload.item_id === undefined),
    true,
  );
});

Deno.test("a message that a retry restarts repeats no delta and is completed once", async () => {
  const limits = {
    ...TEST_LIMITS,
    providerRetries: { request: 0, stream: 1 },
  };
  const cut = deferred();
  await using rig = await CodexRig.start({
    limits,
    script: answers(
      textAnswer("m1", "whole ", cut.promise),
      textAnswer("m1", "whole ", "text"),
    ),
  });
  const executor = await rig.prepare();
  const { turn, sink } = await rig.start(executor, "go");
  await sink.next("delta");
  cut.reject(new Error("the connection breaks"));
  await turn.awaitSettlement(unbounded);
  assertEquals(rig.provider.requests.length, 2);
  assertEquals(sink.text, "whole ", "the restarted message streams nothing");
  assertEquals(sink.all("error"), []);
  const completed = sink.all("output_message").filter(({ payload }) =>
    payload.status === "completed"
  );
  assertEquals(completed.at(-1)?.payload.text, "whole text");
  assertEquals(sink.all("done")[0]?.payload.content, "whole text");
  assertEquals(sink.all("done")[0]?.payload.usage?.tokens, undefined);
  assertEquals(sink.all("done")[0]?.payload.usage?.input_tokens, 100);
});

Deno.test("usage is cumulative for the Run and excludes history", async () => {
  await using rig = await CodexRig.start({
    bound: true,
    script: answers(
      callAnswer("call-1", "exec_command", { cmd: "true" }),
      textAnswer("m1", "one"),
      {
        type: "response",
        items: [{ type: "message", id: "m2", fragments: ["two"] }],
        usage: { input: 7, cached: 1, output: 5, reasoning: 2 },
      },
      {
        type: "response",
        items: [{ type: "message", id: "m3", fragments: ["three"] }],
        usage: null,
      },
    ),
  });
  const executor = await rig.prepare(rig.local());
  const first = await rig.run(executor, "go", "run-1");
  assertEquals(first.all("usage").at(-1)?.payload.tokens, {
    input_tokens: 200,
    cached_input_tokens: 40,
    output_tokens: 20,
    reasoning_output_tokens: 6,
    total_tokens: 220,
  });
  assertEquals(
    first.all("done")[0]?.payload.usage,
    first.all("usage").at(-1)?.payload,
  );
  const second = await rig.run(executor, "more", "run-2");
  assertEquals(second.all("done")[0]?.payload.usage?.tokens, {
    input_tokens: 7,
    cached_input_tokens: 1,
    output_tokens: 5,
    reasoning_output_tokens: 2,
    total_tokens: 12,
  });
  const third = await rig.run(executor, "more", "run-3");
  assertEquals(third.all("usage"), []);
  assertEquals(third.all("done")[0]?.payload.usage, undefined);
});
