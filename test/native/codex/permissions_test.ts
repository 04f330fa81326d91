/** Questions of the real program: put and answered under `ask`, never asked otherwise. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { UnknownInteraction } from "../../../src/harness/contract.ts";
import {
  answers,
  callAnswer,
  textAnswer,
} from "../../../src/loopback/responses_provider.ts";
import { offeredTools } from "../../support/responses_inspection.ts";
import {
  CodexRig,
  TEST_LIMITS,
  unbounded,
} from "../../support/responses_rig.ts";

const touch = (id: string) =>
  callAnswer(id, "exec_command", { cmd: `touch ${id}` });

const question = callAnswer("ask-1", "request_user_input", {
  questions: [{
    id: "color",
    header: "Color",
    question: "Which color?",
    options: [
      { label: "Red", description: "warm" },
      { label: "Blue", description: "cold" },
    ],
  }],
});

Deno.test("a decision reaches the engine and is applied", async () => {
  await using rig = await CodexRig.start({
    bound: true,
    permissions: "ask",
    script: answers(
      touch("allowed"),
      touch("denied"),
      question,
      textAnswer("m1", "done"),
    ),
  });
  assertEquals(rig.harness.declaration.permissions, "supported");
  const executor = await rig.prepare(rig.local());
  const { turn, sink } = await rig.start(executor, "go");
  for (const name of ["allowed", "denied"]) {
    const { payload } = await sink.next(
      "permission_request",
      (event) => event.payload.title.includes(name),
    );
    assertEquals(payload.tool, "command_execution");
    const decision = { delivery_id: "d", approved: name === "allowed" };
    await turn.submitPermission(payload.request_id, decision, unbounded);
    await assertRejects(
      () => turn.submitPermission(payload.request_id, decision, unbounded),
      UnknownInteraction,
    );
  }
  const { payload: asked } = await sink.next("prompt_for_user_choice");
  assertEquals(asked.questions[0]?.id, "color");
  await assertRejects(() =>
    turn.submitUserChoice(asked.ask_id, {
      delivery_id: "d",
      question_answers: [{ question_id: "foreign", answers: [] }],
    }, unbounded)
  );
  await turn.submitUserChoice(asked.ask_id, {
    delivery_id: "d",
    question_answers: [{ question_id: "color", answers: ["Blue"] }],
  }, unbounded);
  assertEquals(await turn.awaitSettlement(unbounded), { reusable: true });
  const exists = (name: string) =>
    Deno.stat(join(rig.workspace, name)).then(() => true, () => false);
  assertEquals([await exists("allowed"), await exists("denied")], [
    true,
    false,
  ]);
  const last = rig.provider.requests.at(-1)?.text ?? "";
  assert(last.includes("Blue") && last.includes("rejected by user"));
  assertEquals(sink.all("permission_cancel"), []);
});

Deno.test("a cancel withdraws what waits for a decision", async () => {
  await using rig = await CodexRig.start({
    bound: true,
    permissions: "ask",
    script: answers(touch("never")),
  });
  const executor = await rig.prepare(rig.local());
  const { turn, sink } = await rig.start(executor, "go");
  const { payload } = await sink.next("permission_request");
  await turn.cancel(unbounded);
  assertEquals(await turn.awaitSettlement(unbounded), { reusable: true });
  assertEquals(sink.all("permission_cancel"), [{
    type: "permission_cancel",
    requestId: payload.request_id,
  }]);
  await assertRejects(
    () =>
      turn.submitPermission(payload.request_id, {
        delivery_id: "d",
        approved: true,
      }, unbounded),
    UnknownInteraction,
  );
});

Deno.test("a question nobody answers is declined after its time", async () => {
  await using rig = await CodexRig.start({
    bound: true,
    permissions: "ask",
    limits: { ...TEST_LIMITS, question: 50 },
    script: answers(touch("late"), textAnswer("m1", "done")),
  });
  const executor = await rig.prepare(rig.local());
  const sink = await rig.run(executor, "go");
  assertEquals(sink.all("permission_cancel").length, 1);
  assert(rig.provider.requests[1]?.text.includes("rejected by user"));
});

Deno.test("unattended nothing is asked and no asking tool is offered", async () => {
  await using rig = await CodexRig.start({
    bound: true,
    script: answers(touch("made"), question, textAnswer("m1", "done")),
  });
  assertEquals(rig.harness.declaration.permissions, "unsupported");
  const executor = await rig.prepare(rig.local());
  const sink = await rig.run(executor, "go");
  assertEquals(sink.all("permission_request"), []);
  assertEquals(sink.all("prompt_for_user_choice"), []);
  const offered = offeredTools(rig.provider.requests[0]);
  assert(!offered.includes("request_user_input"));
  await Deno.stat(join(rig.workspace, "made"));
});
