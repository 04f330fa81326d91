import { assert, assertEquals, assertRejects } from "@std/assert";
import { UnknownInteraction } from "../../../src/harness/contract.ts";
import { settleEvents } from "../../support/virtual_clock.ts";
import { FakeClaude, idle, never, result } from "./fake_claude.ts";

const QUESTION = {
  question: "Which?",
  options: [{ label: "A" }, { label: "B", description: "b" }],
};

async function asked(tool: string, input: unknown, asks = true) {
  const claude = new FakeClaude({ asks });
  const running = await claude.begin();
  claude.child.say({
    type: "control_request",
    request_id: "ask-1",
    request: {
      subtype: "can_use_tool",
      tool_name: tool,
      input,
      tool_use_id: "toolu_1",
    },
  });
  await settleEvents();
  return { claude, ...running };
}

function settledTool(): unknown {
  return {
    type: "user",
    message: {
      content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "x" }],
    },
  };
}

function replyOf(claude: FakeClaude): Record<string, unknown> | undefined {
  const line = claude.child.written.find(({ response }) =>
    response?.["request_id"] === "ask-1"
  );
  return line?.response?.["response"] as Record<string, unknown> | undefined;
}

Deno.test("a decision is applied by the tool's result, never by its write, and written once", async () => {
  const { claude, turn, sink, uuid } = await asked("AskUserQuestion", {
    questions: [QUESTION, { ...QUESTION, question: "Else?" }],
  });
  const choice = await sink.next("prompt_for_user_choice");
  const [first, second] = choice.payload.questions;
  assert(first && second && first.id !== second.id);
  const decision = {
    delivery_id: "d",
    question_answers: [
      { question_id: first.id, answers: ["A, or so"] },
      { question_id: second.id, answers: [] },
    ],
  };
  let applied = false;
  const submitted = turn.submitUserChoice(
    choice.payload.ask_id,
    decision,
    never,
  ).then(() => applied = true);
  await settleEvents();
  assertEquals(applied, false);
  await assertRejects(
    () => turn.submitUserChoice(choice.payload.ask_id, decision, never),
    UnknownInteraction,
  );
  assertEquals(replyOf(claude)?.["updatedInput"], {
    questions: [QUESTION, { ...QUESTION, question: "Else?" }],
    answers: { "Which?": "A, or so" },
    annotations: { "Else?": { unanswered: "skipped" } },
  });
  claude.child.say(settledTool());
  await submitted;
  claude.child.say(result([uuid]), idle());
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
});

Deno.test("a decision without proof within ten seconds fails and is not written again", async () => {
  const { claude, turn, sink } = await asked("AskUserQuestion", {
    questions: [QUESTION],
  });
  const choice = await sink.next("prompt_for_user_choice");
  const decision = { delivery_id: "d", cancelled: true };
  const failed = assertRejects(() =>
    turn.submitUserChoice(choice.payload.ask_id, decision, never)
  );
  await claude.clock.advance(10_000);
  await failed;
  await assertRejects(
    () => turn.submitUserChoice(choice.payload.ask_id, decision, never),
    UnknownInteraction,
  );
  assertEquals(replyOf(claude)?.["behavior"], "deny");
  assertEquals(sink.closes, 0);
});

Deno.test("an answer to a foreign question is refused and the question stays open", async () => {
  const { claude, turn, sink } = await asked("AskUserQuestion", {
    questions: [QUESTION],
  });
  const choice = await sink.next("prompt_for_user_choice");
  await assertRejects(
    () =>
      turn.submitUserChoice(choice.payload.ask_id, {
        delivery_id: "d",
        question_answers: [{ question_id: "foreign", answers: ["A"] }],
      }, never),
    UnknownInteraction,
  );
  assertEquals(replyOf(claude), undefined);
  const submitted = turn.submitUserChoice(choice.payload.ask_id, {
    delivery_id: "d2",
    cancelled: true,
  }, never);
  await settleEvents();
  claude.child.say(settledTool());
  await submitted;
});

Deno.test("a question withdrawn by the program is withdrawn at Core", async () => {
  const { claude, turn, sink } = await asked("AskUserQuestion", {
    questions: [QUESTION],
  });
  const choice = await sink.next("prompt_for_user_choice");
  claude.child.say({ type: "control_cancel_request", request_id: "ask-1" });
  const cancelled = await sink.next("permission_cancel");
  assertEquals(cancelled.requestId, choice.payload.ask_id);
  await assertRejects(
    () =>
      turn.submitUserChoice(choice.payload.ask_id, {
        delivery_id: "d",
        cancelled: true,
      }, never),
    UnknownInteraction,
  );
});

Deno.test("a permission id decides no question and the reverse", async () => {
  const { turn, sink } = await asked("AskUserQuestion", {
    questions: [QUESTION],
  });
  const choice = await sink.next("prompt_for_user_choice");
  await assertRejects(
    () =>
      turn.submitPermission(choice.payload.ask_id, {
        delivery_id: "d",
        approved: true,
      }, never),
    UnknownInteraction,
  );
});

Deno.test("questions of equal text, malformed ones and unoffered tools are denied at once", async () => {
  for (
    const [tool, input, asks] of [
      ["AskUserQuestion", { questions: [QUESTION, QUESTION] }, true],
      ["AskUserQuestion", { questions: [] }, true],
      ["AskUserQuestion", {}, true],
      ["AskUserQuestion", { questions: [QUESTION] }, false],
      ["Bash", { command: "x" }, true],
      ["WebSearch", { query: "x" }, false],
    ] as const
  ) {
    const { claude, sink } = await asked(tool, input, asks);
    assertEquals(replyOf(claude)?.["behavior"], "deny");
    assertEquals(sink.all("prompt_for_user_choice"), []);
    assertEquals(sink.all("permission_request"), []);
  }
});
