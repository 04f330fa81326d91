/** Decisions: written once, applied only by the engine's word, withdrawn when they can no longer be. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  type Executor,
  type Turn,
  UnknownInteraction,
} from "../../../src/harness/contract.ts";
import { CollectingSink } from "../../support/collecting_sink.ts";
import {
  FakeCodex,
  ROOT,
  withDirectory,
} from "../../support/responses_fake_codex.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

const never = new AbortController().signal;
const about = { threadId: ROOT, turnId: "turn-1" };
const approve = { delivery_id: "d", approved: true };

interface Asked {
  readonly fake: FakeCodex;
  readonly clock: VirtualClock;
  readonly executor: Executor;
  readonly turn: Turn;
  readonly sink: CollectingSink;
}

/** A Turn that runs, on virtual time. */
function withTurn(use: (asked: Asked) => Promise<void>): Promise<void> {
  return withDirectory(async (directory) => {
    const fake = new FakeCodex();
    const clock = new VirtualClock();
    const executor = await fake.prepare(directory, {}, { clock });
    const sink = new CollectingSink();
    const { turn } = await executor.startTurn({
      runId: "run",
      input: [{ content: [{ type: "input_text", text: "go" }] }],
      sink,
      signal: never,
    });
    assert(turn);
    await use({ fake, clock, executor, turn, sink });
    fake.say("turn/completed", { turn: { id: "turn-1", status: "completed" } });
    await sink.closed;
    await executor.close(never);
    assertEquals(clock.pendingTimers, 0);
  });
}

const ask = (fake: FakeCodex, method: string, params: object, id = 7) =>
  fake.send({ id, method, params: { ...about, ...params } });

const COMMAND = "item/commandExecution/requestApproval";

Deno.test("a reply alone applies nothing; the engine's word does", () =>
  withTurn(async ({ fake, turn, sink }) => {
    ask(fake, COMMAND, { command: "rm", reason: "why" });
    const { payload } = await sink.next("permission_request");
    assertEquals([payload.title, payload.detail], ["rm", "why"]);
    let applied = false;
    const decided = turn.submitPermission(payload.request_id, approve, never)
      .then(() => {
        applied = true;
      });
    const reply = await fake.line(({ id, result }) => id === 7 && !!result);
    assertEquals(reply.result, { decision: "accept" });
    await fake.dispatched();
    assertEquals(applied, false);
    await assertRejects(
      () => turn.submitPermission(payload.request_id, approve, never),
      UnknownInteraction,
    );
    fake.say("serverRequest/resolved", { requestId: 7 });
    await decided;
    assertEquals(fake.lines.filter(({ id }) => id === 7).length, 1);
    assertEquals(sink.all("permission_cancel"), []);
  }));

Deno.test("a decision the engine never settles fails after ten seconds and is not written again", () =>
  withTurn(async ({ fake, clock, turn, sink }) => {
    ask(fake, COMMAND, {});
    const { payload } = await sink.next("permission_request");
    const decided = assertRejects(() =>
      turn.submitPermission(payload.request_id, approve, never)
    );
    await fake.line(({ id, result }) => id === 7 && !!result);
    await clock.advance(10_000);
    await decided;
    assertEquals(fake.lines.filter(({ id }) => id === 7).length, 1);
  }));

Deno.test("a request the engine settles by itself is withdrawn", () =>
  withTurn(async ({ fake, turn, sink }) => {
    ask(fake, COMMAND, {});
    const { payload } = await sink.next("permission_request");
    fake.say("serverRequest/resolved", { requestId: 7 });
    await sink.next("permission_cancel");
    await assertRejects(
      () => turn.submitPermission(payload.request_id, approve, never),
      UnknownInteraction,
    );
    assertEquals(fake.lines.filter(({ id }) => id === 7), []);
  }));

Deno.test("a question is withdrawn and declined after its own time", () =>
  withTurn(async ({ fake, clock, sink }) => {
    ask(fake, "item/tool/requestUserInput", {
      autoResolutionMs: 2_000,
      questions: [{ id: "", question: "What?" }, { question: "And?" }],
    });
    const { payload } = await sink.next("prompt_for_user_choice");
    const ids = payload.questions.map(({ id }) => id);
    assert(ids.every((id) => id !== "") && new Set(ids).size === 2);
    assertEquals(payload.auto_resolution_ms, 2_000);
    await clock.advance(2_000);
    await sink.next("permission_cancel");
    const reply = await fake.line(({ id, result }) => id === 7 && !!result);
    assertEquals(reply.result, { answers: {} });
  }));

Deno.test("omitted questions stay out of the answer, an empty list is one", () =>
  withTurn(async ({ fake, turn, sink }) => {
    ask(fake, "item/tool/requestUserInput", {
      questions: ["a", "b", "c"].map((id) => ({ id, question: id })),
    });
    const { payload } = await sink.next("prompt_for_user_choice");
    const decided = turn.submitUserChoice(payload.ask_id, {
      delivery_id: "d",
      question_answers: [
        { question_id: "b", answers: ["one", "two,three"] },
        { question_id: "a", answers: [] },
      ],
    }, never);
    const reply = await fake.line(({ id, result }) => id === 7 && !!result);
    assertEquals(reply.result.answers, {
      b: { answers: ["one", "two,three"] },
      a: { answers: [] },
    });
    fake.say("serverRequest/resolved", { requestId: 7 });
    await decided;
  }));

const REPLIES: readonly [string, object, object, object][] = [
  ["item/fileChange/requestApproval", {}, { decision: "accept" }, {
    decision: "decline",
  }],
  ["item/permissions/requestApproval", { permissions: { network: true } }, {
    permissions: { network: true },
    scope: "turn",
  }, { permissions: {}, scope: "turn" }],
  [
    "mcpServer/elicitation/request",
    {
      serverName: "lab",
      mode: "form",
      message: "Sure?",
      requestedSchema: { type: "object", properties: {} },
    },
    { action: "accept", content: {}, _meta: null },
    {
      action: "decline",
      content: null,
      _meta: null,
    },
  ],
];

for (const [method, params, accepted, declined] of REPLIES) {
  Deno.test(`${method} is answered in its own words`, () =>
    withTurn(async ({ fake, turn, sink }) => {
      for (const [id, approved] of [[1, true], [2, false]] as const) {
        ask(fake, method, params, id);
        const { payload } = await sink.next(
          "permission_request",
          () => sink.all("permission_request").length === id,
        );
        const request = sink.all("permission_request").at(-1)?.payload ??
          payload;
        const decided = turn.submitPermission(request.request_id, {
          delivery_id: "d",
          approved,
        }, never);
        const reply = await fake.line((line) =>
          line.id === id && !!line.result
        );
        assertEquals(reply.result, approved ? accepted : declined);
        fake.say("serverRequest/resolved", { requestId: id });
        await decided;
      }
    }));
}

Deno.test("a form with fields and a changed tool input cannot be put", () =>
  withTurn(async ({ fake, turn, sink }) => {
    ask(fake, "mcpServer/elicitation/request", {
      serverName: "lab",
      mode: "form",
      message: "Name?",
      requestedSchema: { type: "object", properties: { name: {} } },
    }, 41);
    assert((await fake.line(({ id }) => id === 41)).error);
    ask(fake, COMMAND, {}, 42);
    const { payload } = await sink.next("permission_request");
    await assertRejects(() =>
      turn.submitPermission(payload.request_id, {
        ...approve,
        updated_input: { command: "other" },
      }, never)
    );
    assertEquals(fake.lines.filter(({ id }) => id === 42), []);
  }));
