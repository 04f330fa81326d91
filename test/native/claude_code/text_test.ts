import { assert, assertEquals } from "@std/assert";
import { deferred } from "../../../src/platform/deferred.ts";
import { replies, textReply } from "../../../src/loopback/messages_provider.ts";
import { ClaudeLab, never, run, start } from "./support.ts";

Deno.test("claude streaming: deltas arrive in order before their message completes", async () => {
  const rest = deferred();
  await using lab = await ClaudeLab.open({
    script: replies(textReply("msg_a", "Hel", rest.promise, "lo", " you")),
  });
  const executor = await lab.prepare();
  const { turn, sink } = await start(executor, "Say hello");
  await sink.first("delta", ({ payload }) => payload.delta === "Hel");
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

Deno.test("claude preparation: ready without any provider request or input", async () => {
  await using lab = await ClaudeLab.open();
  const executor = await lab.prepare();
  assertEquals(lab.provider.requests.length, 0);
  assertEquals(lab.provider.strays.length, 0);
  await executor.close(never);
  assertEquals(lab.provider.requests.length, 0);
});

Deno.test("claude durable_turns: two Turns share one process and history", async () => {
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
