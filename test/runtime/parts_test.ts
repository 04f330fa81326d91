// The small parts that decide without time or connection.
import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
} from "@std/assert";
import { silentLog } from "../../src/platform/log.ts";
import { errorText } from "../../src/runtime/error_text.ts";
import {
  decisionFingerprint,
  executorFingerprint,
  fingerprint,
  prepareFingerprint,
  resultFingerprint,
} from "../../src/runtime/fingerprint.ts";
import {
  decisionKey,
  RememberedDecisions,
  resultKey,
} from "../../src/runtime/remembered_decisions.ts";
import { TaskSet } from "../../src/runtime/tasks.ts";
import { TurnOutput } from "../../src/runtime/turn_output.ts";
import {
  OperationCounter,
  untilAborted,
  WaitAborted,
} from "../../src/runtime/waiting.ts";
import { utf8Bytes } from "../../src/protocol/text.ts";
import { settleEvents, VirtualClock } from "../support/virtual_clock.ts";

Deno.test("a fingerprint ignores the order of members and absent ones, nothing else", () => {
  assertEquals(
    fingerprint({ a: 1, b: [1, 2], c: undefined }),
    fingerprint({ b: [1, 2], a: 1 }),
  );
  for (const other of [{ a: 1, b: [2, 1] }, { a: "1", b: [1, 2] }, { a: 1 }]) {
    assertNotEquals(fingerprint({ a: 1, b: [1, 2] }), fingerprint(other));
  }
  assertNotEquals(fingerprint(["a", "b"]), fingerprint(["a,b"]));
});

Deno.test("an Executor's fingerprint leaves out the Run and the assertions about history", () => {
  const configuration = { agent_kind: "k", run_id: "" };
  const same = executorFingerprint(configuration, "r");
  assertEquals(
    executorFingerprint({
      ...configuration,
      agent_session_id: "n",
      require_existing_native_session: true,
    }, "r"),
    same,
  );
  assertNotEquals(executorFingerprint(configuration, "other"), same);
  assertNotEquals(
    executorFingerprint({ ...configuration, mcp_http_servers: [] }, "r"),
    same,
  );
  assertNotEquals(
    prepareFingerprint({ session_id: "s", configuration }),
    prepareFingerprint({
      session_id: "s",
      configuration: { ...configuration, agent_session_id: "n" },
    }),
  );
});

Deno.test("decisions and results are the same without their delivery id, and only then", () => {
  assertEquals(
    decisionFingerprint({ delivery_id: "a" }),
    decisionFingerprint({ delivery_id: "b" }),
  );
  const result = { delivery_id: "a", call_id: "c", success: true, content: [] };
  assertEquals(
    resultFingerprint(result),
    resultFingerprint({ ...result, delivery_id: "b" }),
  );
  const text = (text: string) => ({ type: "input_text" as const, text });
  const base = { ...result, content: [text("a"), text("b")] };
  const changes = [
    { ...base, content: [text("b"), text("a")] },
    { ...base, success: false },
    {
      ...base,
      content: [text("a"), { type: "input_image" as const, image_url: "b" }],
    },
  ];
  for (const change of changes) {
    assertNotEquals(resultFingerprint(base), resultFingerprint(change));
  }
});

Deno.test("keys of remembered decisions do not run into one another", () => {
  assertNotEquals(resultKey("a", "b"), resultKey("ab", ""));
  assertNotEquals(
    decisionKey("permission", "x"),
    decisionKey("user_choice", "x"),
  );
});

Deno.test("1024 decisions are remembered; the old ones go first", () => {
  const clock = new VirtualClock();
  const memory = new RememberedDecisions(clock);
  for (let index = 0; index < 1_024; index++) memory.remember(`${index}`, "f");
  assertEquals(memory.recall("0", "f"), "same");
  assertEquals(memory.recall("0", "g"), "conflict");
  memory.remember("1024", "f");
  assertEquals(memory.recall("0", "f"), "unknown");
  assertEquals(memory.recall("1", "f"), "same");
  return clock.advance(3_600_000).then(() => {
    memory.remember("fresh", "f");
    assertEquals(memory.recall("1", "f"), "unknown");
    assertEquals(memory.recall("1024", "f"), "unknown");
    assertEquals(memory.recall("fresh", "f"), "same");
  });
});

Deno.test("an error text is one line of at most 1 KiB", () => {
  assertEquals(errorText("a\r\n\tb\u001b[0m"), "a b [0m");
  assertEquals(errorText(" \n "), "unknown error");
  for (const text of ["x".repeat(5_000), "\u{1f600}".repeat(1_000)]) {
    const bounded = errorText(text);
    assert(utf8Bytes(bounded) <= 1_024);
    assert(bounded.endsWith("…"));
    assert(bounded.isWellFormed());
  }
  assertEquals(errorText("é".repeat(512)), "é".repeat(512));
});

Deno.test("the output queue takes 64 events and then makes the Turn wait", async () => {
  const output = new TurnOutput();
  const event = { type: "delta", payload: { delta: "x" } } as const;
  for (let index = 0; index < 64; index++) await output.send(event);
  let taken = false;
  output.send(event).then(() => (taken = true));
  await settleEvents();
  assertEquals(taken, false);
  await output.next();
  await settleEvents();
  assertEquals(taken, true);
  output.close();
  await output.send(event);
  let count = 0;
  while (await output.next() !== undefined) count++;
  assertEquals(count, 64);
});

Deno.test("a reader that waits gets the event or the end", async () => {
  const output = new TurnOutput();
  const first = output.next();
  await output.send({ type: "delta", payload: { delta: "x" } });
  assertEquals((await first)?.type, "delta");
  const end = output.next();
  output.close();
  output.close();
  assertEquals(await end, undefined);
});

Deno.test("an aborted wait ends, the work goes on and its rejection is handled", async () => {
  const controller = new AbortController();
  const { promise, reject } = Promise.withResolvers<void>();
  const wait = untilAborted(controller.signal, promise);
  controller.abort();
  await assertRejects(() => wait, WaitAborted);
  reject(new Error("late"));
  await settleEvents();
  await assertRejects(
    () => untilAborted(controller.signal, Promise.resolve()),
    WaitAborted,
  );
});

Deno.test("operations are idle when the last one ended, each counted once", async () => {
  const operations = new OperationCounter();
  const one = operations.begin();
  const two = operations.begin();
  let idle = false;
  operations.idle().then(() => (idle = true));
  one();
  one();
  await settleEvents();
  assertEquals(idle, false);
  two();
  await settleEvents();
  assertEquals(idle, true);
  await operations.idle();
});

Deno.test("tasks are named while they run and a failing one is only logged", async () => {
  const tasks = new TaskSet(silentLog);
  const { promise, resolve } = Promise.withResolvers<void>();
  let idles = 0;
  tasks.onIdle(() => idles++);
  tasks.run("waits", () => promise);
  tasks.run("fails", () => {
    throw new Error("bug");
  });
  await settleEvents();
  assertEquals(tasks.names, ["waits"]);
  resolve();
  await tasks.idle();
  assertEquals([tasks.names, idles], [[], 1]);
});
