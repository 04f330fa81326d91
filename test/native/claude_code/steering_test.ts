import { assert, assertEquals, assertRejects } from "@std/assert";
import { SteeringRefused } from "../../../src/harness/contract.ts";
import { deferred } from "../../../src/platform/deferred.ts";
import {
  replies,
  textReply,
  toolReply,
} from "../../../src/loopback/messages_provider.ts";
import {
  ClaudeLab,
  lastUserText,
  never,
  proves,
  run,
  start,
  text,
} from "./support.ts";

const WEATHER = {
  name: "get_weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } } },
};

proves("steering", async () => {
  await using lab = await ClaudeLab.open({
    script: replies(
      toolReply("msg_1", {
        id: "toolu_1",
        name: "mcp__functions__get_weather",
        input: { city: "Oslo" },
      }),
      textReply("msg_2", "answered both"),
    ),
  });
  const executor = await lab.prepare(
    lab.configuration({ functionTools: [WEATHER] }),
  );
  const { turn, sink } = await start(executor, "What is the weather?");
  await sink.next("function_call");
  const written = deferred();
  const steering = turn.steerWithReceipt(
    { inputId: "in-1", input: text("and tomorrow?") },
    () => written.resolve(),
    never,
  );
  await written.promise;
  await turn.submitFunctionResult({
    delivery_id: "d",
    call_id: "toolu_1",
    success: true,
    content: [{ type: "input_text", text: "sunny" }],
  }, never);
  await steering;
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  assertEquals(lab.provider.requests.length, 2);
  assert(lastUserText(lab.provider.requests[1]).includes("and tomorrow?"));
  assertEquals(sink.all("done").length, 1);
});

Deno.test("claude steering: without a tool boundary the input runs before the Turn is done", async () => {
  const rest = deferred();
  await using lab = await ClaudeLab.open({
    script: replies(
      textReply("msg_1", "first", rest.promise, " answer"),
      textReply("msg_2", "second answer"),
    ),
  });
  const executor = await lab.prepare();
  const { turn, sink } = await start(executor, "one");
  await sink.next("delta");
  const written = deferred();
  const steering = turn.steerWithReceipt(
    { inputId: "in-1", input: text("two") },
    () => written.resolve(),
    never,
  );
  await written.promise;
  rest.resolve();
  await steering;
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  assertEquals(
    sink.all("output_message").filter(({ payload }) =>
      payload.status === "completed"
    ).map(({ payload }) => payload.text),
    ["first answer", "second answer"],
  );
  assertEquals(sink.all("done").map(({ payload }) => payload.content), [
    "second answer",
  ]);
});

proves("durable_input_receipts", async () => {
  const hang = deferred();
  await using lab = await ClaudeLab.open({
    script: replies(
      textReply("msg_1", "first", hang.promise),
      textReply("msg_2", "next"),
    ),
  });
  const executor = await lab.prepare();
  const { turn, sink } = await start(executor, "one");
  await sink.next("delta");
  let writes = 0;
  const written = deferred();
  const steering = turn.steerWithReceipt(
    { inputId: "in-1", input: text("lost by the interrupt") },
    () => {
      writes++;
      written.resolve();
    },
    never,
  );
  await written.promise;
  const second = await assertRejects(
    () =>
      turn.steerWithReceipt(
        { inputId: "in-2", input: text("three") },
        () => {},
        never,
      ),
    SteeringRefused,
  );
  assertEquals(second.refusal, "not_ready");
  const repeated = await assertRejects(
    () =>
      turn.steerWithReceipt(
        { inputId: "in-1", input: text("other") },
        () => {},
        never,
      ),
    SteeringRefused,
  );
  assertEquals(repeated.refusal, "rejected");
  await turn.cancel(never);
  const error = await assertRejects(() => steering, Error);
  assert(!(error instanceof SteeringRefused));
  assertEquals(writes, 1);
  const late = await assertRejects(
    () =>
      turn.steerWithReceipt(
        { inputId: "in-3", input: text("late") },
        () => {},
        never,
      ),
    SteeringRefused,
  );
  assertEquals(late.refusal, "inactive");
  await run(executor, "still alive");
  assert(
    !(lab.provider.requests[1]?.text ?? "").includes("lost by the interrupt"),
  );
});

Deno.test("claude steering: input is not ready before the program has begun the Turn", async () => {
  await using lab = await ClaudeLab.open({
    script: replies(textReply("msg_1", "x")),
  });
  const executor = await lab.prepare();
  const { turn } = await start(executor, "one");
  const early = await assertRejects(
    () =>
      turn.steerWithReceipt(
        { inputId: "in-1", input: text("two") },
        () => {},
        never,
      ),
    SteeringRefused,
  );
  assertEquals(early.refusal, "not_ready");
  await turn.awaitSettlement(never);
});

Deno.test("claude steering: input waits out a broken answer and the last native turn decides", async () => {
  const cut = deferred();
  await using lab = await ClaudeLab.open({
    script: (_request, index) =>
      index === 0
        ? {
          type: "broken",
          message: {
            id: "msg_broken",
            blocks: [{ type: "text", fragments: ["half", cut.promise] }],
          },
        }
        : textReply(`msg_${index}`, `answer ${index}`),
  });
  const executor = await lab.prepare();
  const { turn, sink } = await start(executor, "one");
  await sink.next("delta");
  const steering = turn.steerWithReceipt(
    { inputId: "in-1", input: text("two") },
    () => cut.reject(new Error("cut")),
    never,
  );
  await steering;
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  assertEquals(sink.all("error"), []);
  assertEquals(sink.all("done").map(({ payload }) => payload.content), [
    `answer ${lab.provider.requests.length - 1}`,
  ]);
  assert(lab.provider.requests.at(-1)?.text.includes("two"));
});
