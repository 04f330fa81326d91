import { assert, assertEquals, assertThrows } from "@std/assert";
import type { TurnEvent } from "../../../src/harness/contract.ts";
import { deferred } from "../../../src/platform/deferred.ts";
import {
  boundedOutput,
  boundedValue,
  fitsMember,
} from "../../../adapters/claude_code/oversize.ts";
import { checkOutputFormat } from "../../../adapters/claude_code/output_schema.ts";
import {
  OutputMismatch,
  sameJson,
  StructuredOutput,
} from "../../../adapters/claude_code/structured_output.ts";
import {
  BrokenStream,
  TextItems,
} from "../../../adapters/claude_code/text_items.ts";
import { ToolObservations } from "../../../adapters/claude_code/tool_observations.ts";
import { TurnOutput } from "../../../adapters/claude_code/turn_output.ts";
import { readFrame } from "../../../adapters/claude_code/native_frames.ts";
import { settleEvents } from "../../support/virtual_clock.ts";

function recorder() {
  const events: TurnEvent[] = [];
  return { events, emit: (event: TurnEvent) => void events.push(event) };
}

type Event = Parameters<TextItems["stream"]>[0];

const start = (id: string): Event => ({
  type: "message_start",
  message: { id },
});
const block = (index: number, text = ""): Event => ({
  type: "content_block_start",
  index,
  content_block: { type: "text", text },
});
const delta = (index: number, text: string): Event => ({
  type: "content_block_delta",
  index,
  delta: { type: "text_delta", text },
});
const stop = (index: number): Event => ({ type: "content_block_stop", index });
const finished = (id: string, text: string, aborted = false) => ({
  type: "assistant" as const,
  message: { id, content: [{ type: "text" as const, text }] },
  ...(aborted ? { aborted } : {}),
});

function items(observe = true) {
  const { events, emit } = recorder();
  const text = new TextItems(observe, emit);
  const play = (...list: Event[]) => list.forEach((each) => text.stream(each));
  const messages = () =>
    events.flatMap((event) =>
      event.type === "output_message" ? [event.payload] : []
    );
  return { events, text, play, messages };
}

Deno.test("a message completes with the program's text, not with the folded deltas", () => {
  const { text, play, messages } = items();
  play(start("m"), block(0), delta(0, "draft"));
  text.finished(finished("m", "final"));
  play({ type: "message_delta" }, { type: "message_stop" });
  assertEquals(messages().at(-1), {
    id: "m",
    status: "completed",
    text: "final",
  });
  assertEquals(text.text, "final");
});

Deno.test("a synthetic stop, a missing block or an aborted block completes nothing", () => {
  const synthetic = items();
  synthetic.play(start("m"), block(0), delta(0, "half"));
  synthetic.text.finished(finished("m", "half"));
  synthetic.play({ type: "message_stop" });
  assertEquals(synthetic.messages().length, 1);
  assertEquals(synthetic.text.text, "half");

  const unfinished = items();
  unfinished.play(start("m"), block(0), delta(0, "half"));
  unfinished.play({ type: "message_delta" }, { type: "message_stop" });
  assertEquals(unfinished.messages().length, 1);

  const aborted = items();
  aborted.play(start("m"), block(0), delta(0, "half"));
  aborted.text.finished(finished("m", "half", true));
  aborted.play({ type: "message_delta" }, { type: "message_stop" });
  assertEquals(aborted.messages().length, 1);
});

Deno.test("an abandoned message leaves no text behind once it is repeated", () => {
  const { text, play } = items();
  play(start("a"), block(0), delta(0, "lost"), { type: "message_stop" });
  play(start("b"), block(0), delta(0, "kept"));
  assertEquals(text.text, "kept");
});

Deno.test("a message of thinking or tools only is no item, and empty pieces are not sent", () => {
  const { events, play } = items();
  play(
    start("m"),
    {
      type: "content_block_start",
      index: 0,
      content_block: { type: "tool_use", id: "t", name: "Bash" },
    },
    { type: "message_delta" },
    { type: "message_stop" },
    start("n"),
    block(0),
    delta(0, ""),
  );
  assertEquals(events, []);
});

Deno.test("a block of white space completes without a frame of its own, and takes no other's", () => {
  const { text, play, messages } = items();
  play(start("m"), block(0), delta(0, "\n\n"), stop(0), block(1));
  play(delta(1, "real"));
  text.finished(finished("m", "real"));
  play(stop(1), { type: "message_delta" }, { type: "message_stop" });
  assertEquals(messages().at(-1)?.text, "\n\nreal");

  const cut = items();
  cut.play(start("m"), block(0), delta(0, " "), { type: "message_delta" });
  cut.play({ type: "message_stop" });
  assertEquals(cut.messages().length, 1);
});

Deno.test("text without a message or a block breaks the stream", () => {
  assertThrows(() => items().play(block(0)), BrokenStream);
  const opened = items();
  opened.play(start("m"));
  assertThrows(() => opened.play(delta(0, "x")), BrokenStream);
  assertThrows(() => opened.text.finished(finished("m", "x")), BrokenStream);
});

const result = (structured_output?: unknown) =>
  ({
    type: "result",
    subtype: "success",
    is_error: false,
    session_id: "s",
    uuid: "r",
    structured_output,
  }) as const;

function structured(raw: string, input: unknown, ids = ["t"]) {
  const { events, emit } = recorder();
  const output = new StructuredOutput(emit);
  ids.forEach((id, index) => {
    output.stream({
      type: "content_block_start",
      index,
      content_block: { type: "tool_use", id, name: "StructuredOutput" },
    });
    output.stream({
      type: "content_block_delta",
      index,
      delta: { type: "input_json_delta", partial_json: raw },
    });
    output.finished(id, input);
    output.result(id, false);
  });
  return { events, output };
}

Deno.test("a structured answer is published as it was streamed", () => {
  const { events, output } = structured('{"n": 1.0}', { n: 1 });
  assertEquals(output.publish(result({ n: 1 }), "final_answer"), '{"n": 1.0}');
  assertEquals(
    events.map((event) => "payload" in event && event.payload),
    [
      {
        id: "t",
        status: "completed",
        phase: "final_answer",
        text: '{"n": 1.0}',
      },
    ],
  );
});

for (
  const [name, raw, input, value, ids] of [
    ["another input", '{"n":1}', { n: 2 }, { n: 1 }, ["t"]],
    ["another result", '{"n":1}', { n: 1 }, { n: 2 }, ["t"]],
    ["no result", '{"n":1}', { n: 1 }, undefined, ["t"]],
    ["a cut stream", '{"n":', { n: 1 }, { n: 1 }, ["t"]],
    ["two accepted calls", '{"n":1}', { n: 1 }, { n: 1 }, ["t", "u"]],
    ["no accepted call", "", {}, { n: 1 }, []],
  ] as const
) {
  Deno.test(`a structured answer with ${name} is not published`, () => {
    const { events, output } = structured(raw, input, [...ids]);
    assertThrows(
      () => output.publish(result(value), undefined),
      OutputMismatch,
    );
    assertEquals(events, []);
  });
}

Deno.test("JSON equality knows order, absence and the two zeros", () => {
  assert(
    sameJson({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 }),
  );
  assert(sameJson(-0, 0));
  assert(!sameJson([1, 2], [2, 1]));
  assert(!sameJson({ a: undefined }, { b: undefined }));
  assert(!sameJson({ a: 1 }, { a: 1, b: 1 }));
  assert(!sameJson([], {}));
  assert(!sameJson(null, {}));
});

for (
  const [schema, expected] of [
    [{ type: "object" }, true],
    [{ type: "object", const: 0.1 }, true],
    [{ type: "object", const: 1e3 }, true],
    [{ type: "object", enum: [{ n: -0.0 }] }, true],
    [{ type: "object", const: 9007199254740991 }, true],
    [{ type: "object", properties: { n: { const: 2 ** 53 } } }, true],
    [{ type: "array" }, false],
    [{}, false],
    [null, false],
    [[], false],
  ] as const
) {
  Deno.test(`the output schema ${JSON.stringify(schema)} is ${expected}`, () => {
    assertEquals(checkOutputFormat({ type: "json_schema", schema }), expected);
  });
}

Deno.test("another output format than a JSON schema is refused", () => {
  assertEquals(
    checkOutputFormat({ type: "json_object", schema: { type: "object" } }),
    false,
  );
});

Deno.test("an interrupted command is incomplete, an unknown tool is not observed", () => {
  const { events, emit } = recorder();
  const tools = new ToolObservations(emit, () => undefined);
  tools.began({ id: "a", name: "Bash", input: { command: "x" } });
  tools.began({ id: "a", name: "Bash", input: { command: "x" } });
  tools.began({ id: "b", name: "Read", input: {} });
  tools.began({ id: "c", name: "Bash", input: { command: "" } });
  tools.ended("a", {
    isError: false,
    content: "y",
    structured: { interrupted: true },
  }, false);
  tools.ended("a", { isError: false, content: "y", structured: {} }, false);
  assertEquals(
    events.map((event) =>
      event.type === "tool_call" && event.payload.observation?.status
    ),
    ["in_progress", "incomplete"],
  );
});

Deno.test("a slow sink holds the reader at a bound and loses nothing", async () => {
  const taken: TurnEvent[] = [];
  const gate = deferred();
  let closes = 0;
  const output = new TurnOutput({
    async send(event) {
      await gate.promise;
      taken.push(event);
    },
    close: () => void closes++,
  });
  for (let index = 0; index < 300; index++) {
    output.emit({ type: "delta", payload: { delta: String(index) } });
  }
  let room = false;
  const waiting = output.room().then(() => room = true);
  await settleEvents();
  assertEquals(room, false);
  output.end({ type: "done", payload: { content: "" } });
  output.end({ type: "done", payload: { content: "twice" } });
  output.emit({ type: "delta", payload: { delta: "late" } });
  assertEquals(closes, 0);
  gate.resolve();
  await waiting;
  await output.closed;
  assertEquals(taken.length, 301);
  assertEquals(taken.at(-1), { type: "done", payload: { content: "" } });
  assertEquals(closes, 1);
});

Deno.test("frames that nobody needs are skipped, whatever they look like", () => {
  for (
    const value of [null, 1, "x", [], {}, { type: 1 }, { type: "keep_alive" }]
  ) {
    assertEquals(readFrame(value), undefined);
  }
  assertEquals(readFrame({ type: "toString" }), undefined);
});

Deno.test("an oversize output keeps both ends and says what is missing", () => {
  const output = "a".repeat(3_000_000) + "é".repeat(1_000_000) + "z";
  const bounded = boundedOutput(output);
  assert(bounded.startsWith("aaa") && bounded.endsWith("ééz"));
  const omitted = Number(/\[(\d+) bytes omitted\]/.exec(bounded)?.[1]);
  const kept = new TextEncoder().encode(
    bounded.replace(/\[\d+ bytes omitted\]/, ""),
  ).length;
  const all = new TextEncoder().encode(output).length;
  assert(Math.abs(all - kept - omitted) <= 2); // a divided character is dropped
  assert(!bounded.includes("\ufffd"));
  assert(fitsMember(bounded));
  assertEquals(boundedOutput("short"), "short");
});

Deno.test("an output of escapes is halved until its encoded form fits", () => {
  const bounded = boundedOutput("\u0001".repeat(2_500_000));
  assert(fitsMember(bounded) && bounded.includes("bytes omitted"));
});

Deno.test("another oversize value is replaced by a marker", () => {
  assertEquals(boundedValue({ a: 1 }), { a: 1 });
  assertEquals(boundedValue("x".repeat(5_000_000)), "[5000002 bytes omitted]");
});
