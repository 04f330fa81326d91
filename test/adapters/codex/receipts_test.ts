/** Receipts of active input and of function results, against an engine that lies about them. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  type Executor,
  SteeringRefused,
  type Turn,
  UnknownInteraction,
} from "../../../src/harness/contract.ts";
import { CollectingSink } from "../../support/collecting_sink.ts";
import {
  FakeCodex,
  ROOT,
  withDirectory,
} from "../../support/responses_fake_codex.ts";

const never = new AbortController().signal;
const input = [{ content: [{ type: "input_text" as const, text: "go" }] }];
const ended = (id: string, status = "completed") => ({
  turn: { id, status, error: null },
});

interface Running {
  readonly turn: Turn;
  readonly sink: CollectingSink;
}

async function start(executor: Executor, runId = "run"): Promise<Running> {
  const sink = new CollectingSink();
  const started = await executor.startTurn({
    runId,
    input,
    sink,
    signal: never,
  });
  assertEquals(started.error, undefined);
  assert(started.turn);
  return { turn: started.turn, sink };
}

const withFake = (
  use: (fake: FakeCodex, directory: string) => Promise<void>,
) =>
() => withDirectory((directory) => use(new FakeCodex(), directory));

const STEERS = [
  ["no active turn", { error: { code: -32600, message: "no" } }, "rejected"],
  ["internal error", { error: { code: -32603, message: "x" } }, "rejected"],
  ["no turn id", { result: {} }, "unknown"],
  ["another turn id", { result: { turnId: "other" } }, "unknown"],
] as const;

for (const [name, answer, outcome] of STEERS) {
  Deno.test(
    `a steer answered by ${name} is ${outcome} and not sent again`,
    withFake(async (fake, directory) => {
      fake.on("turn/steer", () => answer);
      const executor = await fake.prepare(directory);
      const { turn } = await start(executor);
      const error = await assertRejects(() =>
        turn.steerWithReceipt({ inputId: "i", input }, () => {}, never)
      );
      assertEquals(error instanceof SteeringRefused, outcome === "rejected");
      assertEquals(fake.count("turn/steer"), 1);
      assertEquals(fake.count("turn/start"), 1);
      fake.say("turn/completed", ended("turn-1"));
      await turn.awaitSettlement(never);
      await executor.close(never);
    }),
  );
}

Deno.test(
  "the answer to a steer alone accepts nothing; a Turn end leaves it unknown",
  withFake(async (fake, directory) => {
    const executor = await fake.prepare(directory);
    const { turn } = await start(executor);
    const steer = turn.steerWithReceipt(
      { inputId: "i", input },
      () => {},
      never,
    );
    const outcome = assertRejects(() => steer);
    await fake.line(({ method }) => method === "turn/steer");
    await fake.dispatched();
    fake.say("turn/completed", ended("turn-1"));
    assert(!(await outcome instanceof SteeringRefused));
    await turn.awaitSettlement(never);
    await executor.close(never);
  }),
);

Deno.test(
  "a receipt counts although the observer takes nothing",
  withFake(async (fake, directory) => {
    const tool = { name: "f", description: "", parameters: {} };
    const executor = await fake.prepare(directory, { functionTools: [tool] });
    const blocked = Promise.withResolvers<void>();
    const sink = new CollectingSink();
    const started = await executor.startTurn({
      runId: "run",
      input,
      signal: never,
      sink: {
        send: (event) => sink.send(event).then(() => blocked.promise),
        close: () => sink.close(),
      },
    });
    assert(started.turn);
    const { turn } = started;
    const about = { threadId: ROOT, turnId: "turn-1", callId: "c", tool: "f" };
    fake.send({
      id: 7,
      method: "item/tool/call",
      params: { ...about, arguments: {} },
    });
    await sink.next("function_call");
    const submitted = turn.submitFunctionResult({
      delivery_id: "d",
      call_id: "c",
      success: true,
      content: [{ type: "input_text", text: "value" }],
    }, never);
    await fake.line(({ id, result }) => id === 7 && result !== undefined);
    const item = {
      type: "dynamicToolCall",
      id: "c",
      tool: "f",
      status: "completed",
      success: true,
      contentItems: [{ type: "inputText", text: "value" }],
    };
    fake.say("item/completed", {
      turnId: "turn-1",
      item: { ...item, id: "foreign" },
    });
    fake.say("item/completed", { turnId: "turn-1", item });
    await submitted;
    blocked.resolve();
    fake.say("turn/completed", ended("turn-1"));
    assertEquals(await turn.awaitSettlement(never), { reusable: true });
    await executor.close(never);
  }),
);

const MISMATCHES: readonly [string, object][] = [
  ["another tool", { tool: "g" }],
  ["success changed", { success: false }],
  ["success missing", { success: undefined }],
  ["no terminal status", { status: "inProgress" }],
  ["content missing", { contentItems: null }],
  ["content changed", { contentItems: [{ type: "inputText", text: "x" }] }],
];

for (const [name, change] of MISMATCHES) {
  Deno.test(
    `a function item with ${name} is no receipt`,
    withFake(async (fake, directory) => {
      const tool = { name: "f", description: "", parameters: {} };
      const executor = await fake.prepare(directory, { functionTools: [tool] });
      const { turn, sink } = await start(executor);
      fake.send({
        id: 7,
        method: "item/tool/call",
        params: {
          threadId: ROOT,
          turnId: "turn-1",
          callId: "c",
          tool: "f",
          arguments: {},
        },
      });
      await sink.next("function_call");
      const submitted = turn.submitFunctionResult({
        delivery_id: "d",
        call_id: "c",
        success: true,
        content: [],
      }, never);
      const outcome = assertRejects(() => submitted);
      await fake.line(({ id, result }) => id === 7 && result !== undefined);
      fake.say("item/completed", {
        turnId: "turn-1",
        item: {
          type: "dynamicToolCall",
          id: "c",
          tool: "f",
          status: "completed",
          success: true,
          contentItems: [],
          ...change,
        },
      });
      assert(!(await outcome instanceof UnknownInteraction));
      fake.say("turn/completed", ended("turn-1"));
      await turn.awaitSettlement(never);
      await executor.close(never);
    }),
  );
}
