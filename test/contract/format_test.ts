import { assert, assertEquals, assertThrows } from "@std/assert";
import { Binding, compare } from "./binding.ts";
import { Inbox } from "./frame_inbox.ts";
import { loadScenarios, parseScenario } from "./scenario.ts";

function status(revision: number, members: Readonly<Record<string, unknown>>) {
  return {
    type: "preparation_status",
    id: "prepare",
    payload: { revision, state: "ready", ...members },
  };
}

const placeholders = {
  executor_id: "executor",
  handle: "handle",
  expires_at: 18e11,
};
const sentOnce = { executor_id: "e-1", handle: "h-1", expires_at: 1 };

Deno.test("a frame that differs elsewhere binds nothing", () => {
  const binding = new Binding();
  assert(binding.match(status(2, placeholders), status(3, sentOnce)));
  const second = { executor_id: "e-2", handle: "h-2", expires_at: 2 };
  assertEquals(
    binding.match(status(2, placeholders), status(2, second)),
    undefined,
  );
});

Deno.test("a bound value must be repeated", () => {
  const binding = new Binding();
  const expected = status(2, placeholders);
  assertEquals(binding.match(expected, status(2, sentOnce)), undefined);
  assert(binding.match(expected, status(2, { ...sentOnce, handle: "h-2" })));
  assertEquals(binding.match(expected, status(2, sentOnce)), undefined);
});

for (const name of ["executor_id", "handle", "expires_at"]) {
  for (const value of [undefined, null, "", 0]) {
    Deno.test(`${name} ${JSON.stringify(value)} is no Runtime-assigned value`, () => {
      const sent = { ...sentOnce, [name]: value };
      assertEquals(
        new Binding().match(status(2, placeholders), status(2, sent)),
        `lacks the Runtime-assigned field ${name}`,
      );
    });
  }
}

Deno.test("two placeholders of one member never bind to the same handle", () => {
  const binding = new Binding();
  binding.match(status(2, placeholders), status(2, sentOnce));
  const other = { ...placeholders, handle: "handle-2" };
  assert(binding.match(status(2, other), status(2, sentOnce)));
});

Deno.test("a Core frame gets the bound values and keeps everything else", () => {
  const binding = new Binding();
  const start = {
    type: "execution_start",
    id: "prepare",
    payload: { executor_id: "executor", handle: "handle", run_id: "run" },
  };
  assertEquals(binding.resolve(start), start);
  binding.match(status(2, placeholders), status(2, sentOnce));
  assertEquals(binding.resolve(start).payload, {
    executor_id: "e-1",
    handle: "h-1",
    run_id: "run",
  });
});

Deno.test("a plain comparison knows no placeholders", () => {
  assert(compare(status(2, placeholders), status(2, sentOnce)));
});

Deno.test("member order and trace do not count; ids and free texts of receipts do and do not", () => {
  const ack = {
    type: "prompt_steer_ack",
    id: "run",
    payload: { input_id: "1", accepted: false, error_code: "busy" },
  };
  const reordered = {
    ...ack,
    trace: "00-0-0-00",
    payload: { error_code: "busy", accepted: false, input_id: "1", error: "x" },
  };
  assertEquals(compare(ack, reordered), undefined);
  assert(compare(ack, { ...reordered, id: "other" }));
  assert(compare(ack, { ...reordered, payload: { input_id: "1" } }));
  const error = { type: "error", id: "run", payload: { error: "x" } };
  assert(compare(error, { ...error, payload: { error: "y" } }));
});

const broken: readonly (readonly [string, (whole: Whole) => void])[] = [
  ["an unknown step", (whole) => whole.steps.push({ step: "pause" })],
  [
    "a step with a foreign member",
    (whole) => whole.steps.push({ step: "reconnect", run: "run" }),
  ],
  [
    "a sender that is neither side",
    (whole) => whole.steps.push({ step: "silence", from: "harness" }),
  ],
  [
    "an unknown native effect",
    (whole) => whole.steps.push({ step: "native", do: "explode" }),
  ],
  [
    "a frame without a type",
    (whole) =>
      whole.steps.push({ step: "send", from: "core", frame: { type: "" } }),
  ],
  ["an unknown member", (whole) => whole["more"] = 1],
  ["an unknown beginning", (whole) => whole["begin"] = "middle"],
  ["no claim", (whole) => whole["proves"] = ""],
  [
    "time that runs backwards",
    (whole) => whole.steps.push({ step: "elapse", milliseconds: -1 }),
  ],
];

interface Whole {
  steps: unknown[];
  [member: string]: unknown;
}

for (const [name, break_] of broken) {
  Deno.test(`a scenario with ${name} is refused`, () => {
    const whole: Whole = { name: "a", proves: "b", steps: [] };
    parseScenario(JSON.stringify(whole));
    break_(whole);
    assertThrows(() => parseScenario(JSON.stringify(whole)));
  });
}

Deno.test("silence is broken by whatever comes, and is proven only by its window", async () => {
  const inbox = new Inbox<string>();
  assertEquals(await inbox.silence(), undefined);
  const broken = inbox.silence();
  inbox.put("frame");
  assertEquals(await broken, "frame");
});

Deno.test("the scenarios cover what the protocol names", async () => {
  const scenarios = await loadScenarios();
  const names = scenarios.map(({ name }) => name);
  for (
    const name of [
      "cancellation_waits_for_settlement",
      "preparation_failure_cleans_up_without_run_completion",
      "disconnect_is_unknown_and_reconnect_does_not_replay",
    ]
  ) assert(names.includes(name), name);
  assert(scenarios.length >= 23, `${scenarios.length} scenarios`);
  const sent = new Set(
    scenarios.flatMap(({ steps }) =>
      steps.flatMap((step) => step.step === "send" ? [step.frame.type] : [])
    ),
  );
  for (const type of ["prompt_cancel", "prompt_steer", "function_result"]) {
    assert(sent.has(type), type);
  }
});
