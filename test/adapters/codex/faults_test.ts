/** Turns against an engine that answers late, wrongly or not at all: orders, drift, refusals. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Executor, Turn } from "../../../src/harness/contract.ts";
import { CollectingSink } from "../../support/collecting_sink.ts";
import {
  FakeCodex,
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

Deno.test(
  "active input is never a second start, and a phantom Turn never becomes current",
  withFake(async (fake, directory) => {
    const executor = await fake.prepare(directory);
    const { turn } = await start(executor);
    const steer = turn.steerWithReceipt(
      { inputId: "i", input },
      () => {},
      never,
    );
    const line = await fake.line(({ method }) => method === "turn/steer");
    fake.say("item/completed", {
      turnId: "turn-1",
      item: {
        type: "userMessage",
        id: "u",
        clientId: line.params.clientUserMessageId,
      },
    });
    await steer;
    assertEquals(fake.count("turn/start"), 1);
    fake.say("turn/started", ended("phantom", "inProgress"));
    assertEquals(await executor.retired, "executor_invalidated");
    await executor.close(never);
  }),
);

Deno.test(
  "a Turn event without a required member retires the Executor and invents no end",
  withFake(async (fake, directory) => {
    const executor = await fake.prepare(directory);
    const { turn, sink } = await start(executor);
    fake.say("turn/completed", { turn: { status: "completed" } });
    await sink.closed;
    assertEquals(sink.all("error").length, 1);
    assertEquals(sink.all("done").length, 1);
    await assertRejects(() => turn.awaitSettlement(never));
    assertEquals(await executor.retired, "executor_invalidated");
    await executor.close(never);
  }),
);

Deno.test(
  "late events of an ended Turn reach nobody and keep the Executor",
  withFake(async (fake, directory) => {
    let turns = 0;
    fake.on(
      "turn/start",
      () => ({ result: { turn: { id: `turn-${++turns}` } } }),
    );
    const executor = await fake.prepare(directory);
    const first = await start(executor, "run-1");
    fake.say("turn/completed", ended("turn-1"));
    await first.turn.awaitSettlement(never);
    const second = await start(executor, "run-2");
    fake.say("item/completed", {
      turnId: "turn-1",
      item: { type: "agentMessage", id: "late", text: "late" },
    });
    fake.say("turn/completed", ended("turn-1"));
    await fake.dispatched();
    assertEquals(second.sink.events, []);
    await first.turn.cancel(never);
    assertEquals(fake.count("turn/interrupt"), 0);
    fake.say("turn/completed", ended("turn-2"));
    assertEquals(await second.turn.awaitSettlement(never), { reusable: true });
    await executor.close(never);
  }),
);

Deno.test(
  "an item that ends after its Turn was told is not told again",
  withFake(async (fake, directory) => {
    fake.on("thread/backgroundTerminals/list", () => "silence");
    const executor = await fake.prepare(directory);
    const { turn, sink } = await start(executor);
    const item = { type: "commandExecution", id: "c", command: "sleep" };
    fake.say("turn/started", ended("turn-1", "inProgress"));
    fake.say("item/started", { turnId: "turn-1", item });
    await sink.next("tool_call");
    const cancelled = turn.cancel(never);
    await fake.line(({ method }) => method === "turn/interrupt");
    fake.say("turn/completed", ended("turn-1", "interrupted"));
    const list = await fake.line(({ method }) =>
      method === "thread/backgroundTerminals/list"
    );
    fake.say("item/completed", {
      turnId: "turn-1",
      item: { ...item, status: "failed" },
    });
    await fake.dispatched();
    fake.send({ id: list.id, result: { data: [] } });
    await cancelled;
    await turn.awaitSettlement(never);
    assertEquals(
      sink.all("tool_call").map(({ payload }) => payload.observation?.status),
      ["in_progress", "incomplete"],
    );
    await executor.close(never);
  }),
);
