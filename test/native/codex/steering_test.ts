/** Active input on the real program: what is written, what is accepted, what stays unknown. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { SteeringRefused } from "../../../src/harness/contract.ts";
import {
  answers,
  callAnswer,
  textAnswer,
} from "../../../src/loopback/responses_provider.ts";
import { deferred } from "../../../src/platform/deferred.ts";
import { CodexRig, textInput, unbounded } from "../../support/responses_rig.ts";

Deno.test("active input reaches a request of the same Turn", async () => {
  await using rig = await CodexRig.start({
    script: answers(
      callAnswer("call-1", "look_up", {}),
      textAnswer("m1", "end"),
    ),
  });
  const executor = await rig.prepare(rig.configuration({
    functionTools: [{
      name: "look_up",
      description: "Looks up.",
      parameters: { type: "object", properties: {} },
    }],
  }));
  const { turn, sink } = await rig.start(executor, "go");
  await sink.next("function_call");
  const written = deferred();
  let writes = 0;
  const steered = turn.steerWithReceipt(
    { inputId: "in-1", input: textInput("steer canary") },
    () => {
      writes++;
      written.resolve();
    },
    unbounded,
  );
  await written.promise;
  // The result goes down the same pipe behind the input, so the Turn cannot end before it.
  await turn.submitFunctionResult({
    delivery_id: "delivery-1",
    call_id: "call-1",
    success: true,
    content: [{ type: "input_text", text: "found" }],
  }, unbounded);
  await steered;
  assertEquals(await turn.awaitSettlement(unbounded), { reusable: true });
  assertEquals(writes, 1);
  const second = rig.provider.requests[1];
  assert(second?.text.includes("steer canary"));
  assertEquals(sink.all("done").length, 1);
  assertEquals(sink.all("done")[0]?.payload.content, "end");
});

Deno.test("an input that an interrupt loses is written and never accepted", async () => {
  const never = deferred();
  await using rig = await CodexRig.start({
    script: answers(
      textAnswer("m1", "first", never.promise),
      textAnswer("m2", "next"),
    ),
  });
  const executor = await rig.prepare();
  const { turn, sink } = await rig.start(executor, "go");
  await sink.next("delta");
  const written = deferred();
  const steered = turn.steerWithReceipt(
    { inputId: "in-1", input: textInput("lost canary") },
    () => written.resolve(),
    unbounded,
  );
  const outcome = assertRejects(() => steered, Error);
  await written.promise;
  await turn.cancel(unbounded);
  assert(!(await outcome instanceof SteeringRefused), "it stays unknown");
  await turn.awaitSettlement(unbounded);
  await rig.run(executor, "after", "run-2");
  assert(!rig.provider.requests[1]?.text.includes("lost canary"));
  never.resolve();
});

Deno.test("a second input beside a pending one and one after the end are refused", async () => {
  const gate = deferred();
  await using rig = await CodexRig.start({
    script: answers(
      textAnswer("m1", "first", gate.promise),
      textAnswer("m2", "x"),
    ),
  });
  const executor = await rig.prepare();
  const { turn, sink } = await rig.start(executor, "go");
  await sink.next("delta");
  const first = turn.steerWithReceipt(
    { inputId: "in-1", input: textInput("one") },
    () => {},
    unbounded,
  );
  const second = await assertRejects(
    () =>
      turn.steerWithReceipt(
        { inputId: "in-2", input: textInput("two") },
        () => {},
        unbounded,
      ),
    SteeringRefused,
  );
  assertEquals(second.refusal, "rejected");
  gate.resolve();
  await first;
  await turn.awaitSettlement(unbounded);
  const late = await assertRejects(
    () =>
      turn.steerWithReceipt(
        { inputId: "in-3", input: textInput("three") },
        () => {},
        unbounded,
      ),
    SteeringRefused,
  );
  assertEquals(late.refusal, "inactive");
});

Deno.test("an input the engine cannot take is refused before the write", async () => {
  const gate = deferred();
  await using rig = await CodexRig.start({
    script: answers(textAnswer("m1", "first", gate.promise)),
  });
  const executor = await rig.prepare();
  const { turn, sink } = await rig.start(executor, "go");
  await sink.next("delta");
  let writes = 0;
  const remote = [{
    content: [{
      type: "input_image" as const,
      image_url: "https://example.test/x.png",
    }],
  }];
  const refused = await assertRejects(
    () =>
      turn.steerWithReceipt(
        { inputId: "in-1", input: remote },
        () => writes++,
        unbounded,
      ),
    SteeringRefused,
  );
  assertEquals([refused.refusal, writes], ["rejected", 0]);
  gate.resolve();
  await turn.awaitSettlement(unbounded);
});
