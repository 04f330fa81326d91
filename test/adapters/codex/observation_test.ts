/** Native items as observations: every kind, every status, and values too large for a frame. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  incompleteCall,
  InvalidObservation,
  observeItem,
} from "../../../adapters/codex/items.ts";
import {
  boundOutput,
  boundText,
  boundValue,
} from "../../../adapters/codex/oversize.ts";
import { nativeInput } from "../../../adapters/codex/input.ts";
import { encodeEnvelope } from "../../../src/protocol/envelope.ts";
import { runtimeFrame } from "../../../src/protocol/frames.ts";
import { MAX_FRAME_BYTES } from "../../../src/protocol/limits.ts";

const command = {
  type: "commandExecution",
  id: "c",
  command: "pwd",
  cwd: "/w",
  status: "completed",
  exitCode: 0,
  durationMs: 12,
  aggregatedOutput: "/w\n",
};

Deno.test("a command keeps its exit code of zero and its output", () => {
  assertEquals(observeItem(command, "after")?.observation, {
    kind: "command",
    status: "completed",
    command: "pwd",
    cwd: "/w",
    exit_code: 0,
    duration_ms: 12,
    output: "/w\n",
  });
  assertEquals(
    observeItem(command, "before")?.observation?.status,
    "in_progress",
  );
});

const STATUSES = [
  ["completed", "completed"],
  [undefined, "completed"],
  ["failed", "failed"],
  ["declined", "failed"],
  ["inProgress", "incomplete"],
  ["futureStatus", "incomplete"],
] as const;

for (const [native, wire] of STATUSES) {
  Deno.test(`the native status ${native} after the call is ${wire}`, () => {
    const observed = observeItem({ ...command, status: native }, "after");
    assertEquals(observed?.observation?.status, wire);
  });
}

Deno.test("the other kinds have their names and members", () => {
  const at = (item: Record<string, unknown>) =>
    observeItem({ id: "i", type: "", status: "completed", ...item }, "after");
  const mcp = at({ type: "mcpToolCall", server: "s", tool: "t" });
  assertEquals([mcp?.name, mcp?.observation?.output, mcp?.observation?.error], [
    "mcp__s__t",
    null,
    null,
  ]);
  const spaced = at({ type: "dynamicToolCall", tool: "t", namespace: "n" });
  assertEquals(spaced?.observation?.name, "n::t");
  const failed = at({ type: "dynamicToolCall", tool: "t", success: false });
  assertEquals(failed?.observation?.status, "failed");
  const edit = at({ type: "fileChange" });
  assertEquals([edit?.name, edit?.observation?.arguments], ["Edit", {
    changes: null,
  }]);
  const search = at({
    type: "webSearch",
    action: { type: "findInPage", url: "u", pattern: "p" },
  });
  assertEquals(search?.observation?.action, {
    type: "find_in_page",
    url: "u",
    pattern: "p",
  });
  assertEquals(at({ type: "plan" }), undefined);
});

Deno.test("a tool without what identifies it cannot be observed", () => {
  for (
    const item of [
      { type: "commandExecution" },
      { type: "mcpToolCall", tool: "t" },
      { type: "dynamicToolCall" },
      { type: "webSearch", action: { type: "teleport" } },
    ]
  ) {
    assertThrows(
      () => observeItem({ id: "i", ...item }, "after"),
      InvalidObservation,
    );
  }
});

Deno.test("an open call ends incomplete with what was known", () => {
  const before = observeItem(command, "before");
  assert(before);
  const after = incompleteCall(before);
  assertEquals([after.stage, after.observation?.status], [
    "after",
    "incomplete",
  ]);
  assertEquals(after.args, undefined);
});

const worst = ["x", "\u0001", "\u2028", "é", "😀", '"\n'];

for (const character of worst) {
  Deno.test(`an output of 3 million ${JSON.stringify(character)} fits one frame, both ends kept`, () => {
    const text = `head${character.repeat(3_000_000 / character.length)}tail`;
    const output = boundOutput(text);
    assert(output.startsWith("head") && output.endsWith("tail"));
    const [, omitted] = /\[… (\d+) bytes omitted …\]/.exec(output) ?? [];
    assert(Number(omitted) > 0);
    assert(!output.includes("\uFFFD"));
    const call = observeItem({ ...command, aggregatedOutput: text }, "after");
    assert(call);
    const frame = encodeEnvelope(runtimeFrame("tool_call", "run", call));
    assert(new TextEncoder().encode(frame).length <= MAX_FRAME_BYTES);
  });
}

Deno.test("what fits is not touched", () => {
  const text = "y".repeat(2 * 1024 * 1024 - 2);
  assertEquals(boundOutput(text), text);
  const message = "z".repeat(3 * 1024 * 1024);
  assertEquals(boundText(message), message);
  assert(boundText("z".repeat(4 * 1024 * 1024)).includes("omitted"));
  const value = { a: 1 };
  assertEquals(boundValue(value), value);
  assert(String(boundValue({ a: "z".repeat(3_000_000) })).includes("omitted"));
});

Deno.test("messages keep their order, with a blank line between them", () => {
  const text = (value: string) => ({
    type: "input_text" as const,
    text: value,
  });
  const input = [{ content: [text("a"), text("b")] }, { content: [text("c")] }];
  assertEquals(
    nativeInput(input).map((item) => item.type === "text" ? item.text : ""),
    ["a", "b", "\n\n", "c"],
  );
});
