import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { UnknownInteraction } from "../../../src/harness/contract.ts";
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
  toolNames,
} from "./support.ts";

const QUESTIONS = [
  {
    question: "Which db?",
    header: "DB",
    multiSelect: false,
    options: [
      { label: "Postgres", description: "p" },
      { label: "SQLite", description: "s" },
    ],
  },
  {
    question: "Which langs?",
    header: "Langs",
    multiSelect: true,
    options: [
      { label: "Go", description: "g" },
      { label: "TS", description: "t" },
    ],
  },
];

proves("permissions", async () => {
  await using lab = await ClaudeLab.open({
    bound: true,
    permissions: "ask",
    script: replies(
      toolReply("msg_1", {
        id: "toolu_1",
        name: "Bash",
        input: { command: "touch allowed", description: "x" },
      }),
      toolReply("msg_2", {
        id: "toolu_2",
        name: "Bash",
        input: { command: "touch denied", description: "x" },
      }),
      toolReply("msg_3", {
        id: "toolu_3",
        name: "AskUserQuestion",
        input: { questions: QUESTIONS },
      }),
      textReply("msg_4", "thanks"),
    ),
  });
  assertEquals(lab.harness.declaration.permissions, "supported");
  const executor = await lab.prepare(lab.local());
  const { turn, sink } = await start(executor, "do it");
  const asked = (command: string) =>
  (event: {
    payload: { payload?: { readonly [member: string]: unknown } };
  }) => JSON.stringify(event.payload.payload).includes(command);
  const first = await sink.next("permission_request", asked("touch allowed"));
  assertEquals(first.payload.tool, "Bash");
  await turn.submitPermission(first.payload.request_id, {
    delivery_id: "d1",
    approved: true,
  }, never);
  assert((await Deno.stat(join(lab.workspace, "allowed"))).isFile);
  const second = await sink.next("permission_request", asked("touch denied"));
  await turn.submitPermission(second.payload.request_id, {
    delivery_id: "d2",
    approved: false,
    message: "Not this one",
  }, never);
  await assertRejects(
    () =>
      turn.submitPermission(second.payload.request_id, {
        delivery_id: "d3",
        approved: true,
      }, never),
    UnknownInteraction,
  );
  assert(lastUserText(await lab.provider.request(2)).includes("Not this one"));
  await assertRejects(() => Deno.stat(join(lab.workspace, "denied")));
  const choice = await sink.next("prompt_for_user_choice");
  const [db, langs] = choice.payload.questions;
  assertEquals(db?.options.map(({ label }) => label), ["Postgres", "SQLite"]);
  assertEquals(langs?.multi_select, true);
  await turn.submitUserChoice(choice.payload.ask_id, {
    delivery_id: "d4",
    question_answers: [
      { question_id: langs?.id ?? "", answers: ["Go", "TS"] },
      { question_id: db?.id ?? "", answers: ["Postgres"] },
    ],
  }, never);
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  const answered = lastUserText(lab.provider.requests[3]);
  assert(answered.includes("Postgres") && answered.includes("Go, TS"));
});

Deno.test("claude permissions: unattended asks nothing and does not offer the asking tool", async () => {
  await using lab = await ClaudeLab.open({
    bound: true,
    script: replies(
      toolReply("msg_1", {
        id: "toolu_1",
        name: "Bash",
        input: { command: "touch made", description: "x" },
      }),
      textReply("msg_2", "done"),
    ),
  });
  assertEquals(lab.harness.declaration.permissions, "unsupported");
  const executor = await lab.prepare(lab.local());
  const sink = await run(executor, "do it");
  assert((await Deno.stat(join(lab.workspace, "made"))).isFile);
  assertEquals(sink.all("permission_request"), []);
  assert(!toolNames(lab.provider.requests[0]).includes("AskUserQuestion"));
});

Deno.test("claude permissions: an open question is withdrawn by the cancel", async () => {
  await using lab = await ClaudeLab.open({
    permissions: "ask",
    script: replies(
      toolReply("msg_1", {
        id: "toolu_1",
        name: "AskUserQuestion",
        input: { questions: QUESTIONS },
      }),
      textReply("msg_2", "next"),
    ),
  });
  const executor = await lab.prepare();
  const { turn, sink } = await start(executor, "ask me");
  const choice = await sink.next("prompt_for_user_choice");
  await turn.cancel(never);
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  assertEquals(
    sink.all("permission_cancel").map(({ requestId }) => requestId),
    [
      choice.payload.ask_id,
    ],
  );
  await assertRejects(
    () =>
      turn.submitUserChoice(choice.payload.ask_id, {
        delivery_id: "d",
        cancelled: true,
      }, never),
    UnknownInteraction,
  );
  await run(executor, "again");
});

Deno.test("claude permissions: a cancelled choice and duplicate questions are answered, the Turn goes on", async () => {
  await using lab = await ClaudeLab.open({
    permissions: "ask",
    script: replies(
      toolReply("msg_1", {
        id: "toolu_1",
        name: "AskUserQuestion",
        input: { questions: QUESTIONS },
      }),
      toolReply("msg_2", {
        id: "toolu_2",
        name: "AskUserQuestion",
        input: { questions: [QUESTIONS[0], QUESTIONS[0]] },
      }),
      textReply("msg_3", "fine"),
    ),
  });
  const executor = await lab.prepare();
  const { turn, sink } = await start(executor, "ask me");
  const choice = await sink.next("prompt_for_user_choice");
  await turn.submitUserChoice(choice.payload.ask_id, {
    delivery_id: "d",
    cancelled: true,
  }, never);
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  assertEquals(sink.all("prompt_for_user_choice").length, 1);
});
