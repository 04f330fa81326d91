import { assert, assertEquals } from "@std/assert";
import { deferred } from "../../../src/platform/deferred.ts";
import { replies, textReply } from "../../../src/loopback/messages_provider.ts";
import {
  ClaudeLab,
  lastUserText,
  never,
  proves,
  run,
  start,
  text,
} from "./support.ts";
import { assertTextLifecycle } from "../../support/text_lifecycle.ts";

proves("streaming", async () => {
  const rest = deferred();
  await using lab = await ClaudeLab.open({
    script: replies(textReply("msg_a", "Hel", rest.promise, "lo", " you")),
  });
  const executor = await lab.prepare();
  const { turn, sink } = await start(executor, "Say hello");
  await sink.next("delta", ({ payload }) => payload.delta === "Hel");
  assertEquals(sink.all("output_message").map(({ payload }) => payload), [
    { id: "msg_a", status: "in_progress" },
  ]);
  rest.resolve();
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  assertEquals(sink.all("delta").map(({ payload }) => payload), [
    { item_id: "msg_a", delta: "Hel" },
    { item_id: "msg_a", delta: "lo" },
    { item_id: "msg_a", delta: " you" },
  ]);
  assertEquals(sink.all("output_message").at(-1)?.payload, {
    id: "msg_a",
    status: "completed",
    text: "Hello you",
  });
});

proves("preparation", async () => {
  await using lab = await ClaudeLab.open();
  const executor = await lab.prepare();
  assertEquals(lab.provider.requests.length, 0);
  assertEquals(lab.provider.strays.length, 0);
  await executor.close(never);
  assertEquals(lab.provider.requests.length, 0);
});

proves("durable_turns", async () => {
  await using lab = await ClaudeLab.open({
    script: replies(textReply("msg_1", "one"), textReply("msg_2", "two")),
  });
  const executor = await lab.prepare();
  const first = await run(executor, "first question");
  const second = await run(executor, "second question");
  assertEquals(first.all("done")[0]?.payload.content, "one");
  assertEquals(second.all("done")[0]?.payload.content, "two");
  assertEquals(
    first.all("done")[0]?.payload.metadata,
    second.all("done")[0]?.payload.metadata,
  );
  const text = lab.provider.requests[1]?.text ?? "";
  assert(text.includes("first question") && text.includes("one"));
  assertEquals(lab.launches.length, 1);
});

proves("message_items", async () => {
  await using lab = await ClaudeLab.open({
    bound: true,
    script: replies(
      {
        type: "message",
        id: "msg_1",
        blocks: [
          { type: "text", fragments: ["I will ", "look. "] },
          { type: "text", fragments: ["Now."] },
          {
            type: "tool_use",
            id: "toolu_1",
            name: "Bash",
            fragments: ['{"command":"true"}'],
          },
        ],
      },
      {
        type: "message",
        id: "msg_blank",
        blocks: [
          { type: "text", fragments: ["\n\n"] },
          { type: "text", fragments: ["Further."] },
          { type: "text", fragments: [] },
          {
            type: "tool_use",
            id: "toolu_3",
            name: "Bash",
            fragments: ['{"command":"true"}'],
          },
        ],
      },
      {
        type: "message",
        id: "msg_2",
        blocks: [{
          type: "tool_use",
          id: "toolu_2",
          name: "Bash",
          fragments: ['{"command":"true"}'],
        }],
      },
      textReply("msg_3", "  Done.\n"),
    ),
  });
  const executor = await lab.prepare(lab.local());
  const sink = await run(executor, "look");
  assertEquals(sink.all("output_message").map(({ payload }) => payload), [
    { id: "msg_1", status: "in_progress" },
    { id: "msg_1", status: "completed", text: "I will look. Now." },
    { id: "msg_blank", status: "in_progress" },
    { id: "msg_blank", status: "completed", text: "\n\nFurther." },
    { id: "msg_3", status: "in_progress" },
    { id: "msg_3", status: "completed", text: "  Done.\n" },
  ]);
  for (const { payload } of sink.all("delta")) assert(payload.item_id);
});

Deno.test("claude message_items: without observation deltas have no item and no message is sent", async () => {
  await using lab = await ClaudeLab.open({
    script: replies(textReply("msg_1", "plain")),
  });
  const executor = await lab.prepare(
    lab.configuration({ observeMessages: false }),
  );
  const sink = await run(executor, "hello");
  assertEquals(sink.all("delta").map(({ payload }) => payload), [
    { delta: "plain" },
  ]);
  assertEquals(sink.all("output_message"), []);
});

Deno.test("claude thinking: the model's thinking is sent in its own order", async () => {
  await using lab = await ClaudeLab.open({
    script: replies({
      type: "message",
      id: "msg_1",
      blocks: [
        { type: "thinking", fragments: ["first ", "second"] },
        { type: "text", fragments: ["answer"] },
      ],
    }),
  });
  const executor = await lab.prepare();
  const sink = await run(executor, "think");
  assertEquals(sink.all("thinking").map(({ payload }) => payload.text), [
    "first ",
    "second",
  ]);
  assertEquals(sink.all("done")[0]?.payload.content, "answer");
});

Deno.test("the shared text lifecycle holds on the real claude", async () => {
  const hold = deferred();
  await using lab = await ClaudeLab.open({
    script: (request, index) => {
      const asked = lastUserText(request);
      if (asked.includes("stay active")) {
        return textReply(`msg_${index}`, "working", hold.promise);
      }
      if (asked.includes("hurry")) {
        return textReply(`msg_${index}`, "hurrying", new Promise(() => {}));
      }
      return textReply(`msg_${index}`, "complete");
    },
  });
  const executor = await lab.prepare();
  await assertTextLifecycle({
    executor,
    completingInput: text("complete this"),
    activeInput: text("stay active"),
    steeringInput: text("hurry"),
    turnReady: async (sink) => {
      await sink.first((event) => event.type === "delta");
      hold.resolve();
    },
    nativeOwner: () => `${lab.children.at(-1)?.pid}`,
  });
});
