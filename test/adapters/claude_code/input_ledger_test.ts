import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  InputLedger,
  UnknownConsumption,
} from "../../../adapters/claude_code/input_ledger.ts";
import {
  aborted,
  FakeClaude,
  idle,
  lifecycle,
  messageStart,
  never,
  result,
  stream,
} from "./fake_claude.ts";
import { settleEvents } from "../../support/virtual_clock.ts";

/** Whether a promise has settled, and how, without waiting for it. */
async function stateOf(work: Promise<void>): Promise<string> {
  let state = "pending";
  work.then(() => state = "accepted", () => state = "unknown");
  await settleEvents();
  return state;
}

type Step = (ledger: InputLedger) => unknown;

const started: Step = (ledger) => ledger.lifecycle("u", "started");
const ROWS: readonly (readonly [string, readonly Step[], string])[] = [
  ["nothing", [], "pending"],
  ["queued", [(l) => l.lifecycle("u", "queued")], "pending"],
  ["started alone", [started], "pending"],
  ["an answer before it was started", [(l) => l.answerBegan()], "pending"],
  [
    "a frame naming it before it was started",
    [(l) => l.named(["u"])],
    "pending",
  ],
  ["started, then an answer", [started, (l) => l.answerBegan()], "accepted"],
  ["started, then named", [started, (l) => l.named(["x", "u"])], "accepted"],
  ["started, then another named", [started, (l) => l.named(["x"])], "pending"],
  [
    "started, then completed",
    [started, (l) => l.lifecycle("u", "completed")],
    "accepted",
  ],
  [
    "completed without being started",
    [(l) => l.lifecycle("u", "completed")],
    "pending",
  ],
  ...["cancelled", "discarded", "refused"].map((state) =>
    [
      `started, then ${state}`,
      [started, (l: InputLedger) => l.lifecycle("u", state)],
      "pending",
    ] as const
  ),
  [
    "cancelled, then the end of the Turn",
    [started, (l) => l.lifecycle("u", "cancelled"), (l) => l.close()],
    "unknown",
  ],
  ["the end of the Turn", [started, (l) => l.close()], "unknown"],
];

for (const [name, steps, expected] of ROWS) {
  Deno.test(`active input after ${name} is ${expected}`, async () => {
    const ledger = new InputLedger();
    const consumed = ledger.add("u");
    for (const step of steps) step(ledger);
    assertEquals(await stateOf(consumed), expected);
  });
}

Deno.test("a message is terminal by a result or by its lifecycle, and only then", () => {
  const ledger = new InputLedger();
  for (const uuid of ["a", "b", "c"]) void ledger.add(uuid).catch(() => {});
  ledger.lifecycle("a", "completed");
  assertEquals(ledger.ended(["b", "foreign"]), true);
  assertEquals(ledger.ended(["foreign"]), false);
  assertEquals(ledger.allTerminal, false);
  ledger.lifecycle("c", "started");
  assertEquals(ledger.allTerminal, false);
  ledger.lifecycle("c", "refused");
  assertEquals(ledger.allTerminal, true);
});

Deno.test("a message that was never written is forgotten", async () => {
  const ledger = new InputLedger();
  const consumed = ledger.add("u");
  ledger.remove("u");
  assertEquals(ledger.allTerminal, true);
  await assertRejects(() => consumed, UnknownConsumption);
});

/** Frames after active input was started that must not count as its consumption. */
const NO_PROOF: readonly (readonly [string, (uuid: string) => unknown])[] = [
  ["a replay", (uuid) => ({
    type: "user",
    uuid,
    isReplay: true,
    message: { content: "x" },
    user_message_uuids: [uuid],
  })],
  ["an answer of a child", (uuid) => ({
    type: "stream_event",
    parent_tool_use_id: "toolu_parent",
    user_message_uuids: [uuid],
    event: { type: "message_start", message: { id: "m" } },
  })],
  ["a synthetic message", (uuid) => ({
    type: "assistant",
    user_message_uuids: [uuid],
    message: { id: "m", model: "<synthetic>", content: [] },
  })],
  ["a notice of a coming request", (uuid) => ({
    type: "system",
    subtype: "status",
    status: "requesting",
    user_message_uuids: [uuid],
  })],
  ["an interrupted result", (uuid) => aborted([uuid])],
];

for (const [name, frame] of NO_PROOF) {
  Deno.test(`${name} is no proof of consumption`, async () => {
    const claude = new FakeClaude();
    const { turn, uuid } = await claude.begin();
    await settleEvents();
    const steering = turn.steerWithReceipt(
      {
        inputId: "i",
        input: [{ content: [{ type: "input_text", text: "x" }] }],
      },
      () => {},
      never,
    );
    const rejected = assertRejects(() => steering, UnknownConsumption);
    const own = claude.lastUuid;
    const cancelled = turn.cancel(never);
    await claude.answer("interrupt", { still_queued: [] });
    claude.child.say(
      lifecycle(own, "queued"),
      lifecycle(own, "started"),
      frame(own),
      lifecycle(own, "cancelled"),
      aborted([uuid]),
      idle(),
    );
    await cancelled;
    await rejected;
    assert(await turn.awaitSettlement(never));
  });
}

Deno.test("a failed result after a request is proof, and the Turn reports the failure", async () => {
  const claude = new FakeClaude();
  const { turn, sink, uuid } = await claude.begin();
  await settleEvents();
  const steering = turn.steerWithReceipt(
    { inputId: "i", input: [{ content: [{ type: "input_text", text: "x" }] }] },
    () => {},
    never,
  );
  const own = claude.lastUuid;
  claude.child.say(
    messageStart("msg_1"),
    stream({ type: "message_stop" }),
    lifecycle(own, "started"),
    result([uuid, own], {
      is_error: true,
      terminal_reason: "api_error",
      api_error_status: 503,
    }),
    idle(),
  );
  await steering;
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  assertEquals(sink.all("error")[0]?.payload.code, "server_error");
});

Deno.test("more than 64 inputs of one Turn are each proven by their lifecycle", async () => {
  const claude = new FakeClaude();
  const { turn, uuid } = await claude.begin();
  await settleEvents();
  for (let index = 0; index < 100; index++) {
    const steering = turn.steerWithReceipt(
      {
        inputId: `i${index}`,
        input: [{ content: [{ type: "input_text", text: "x" }] }],
      },
      () => {},
      never,
    );
    const own = claude.lastUuid;
    claude.child.say(
      lifecycle(own, "queued"),
      lifecycle(own, "started"),
      messageStart(`msg_${index}`),
      lifecycle(own, "completed"),
    );
    await steering;
    await settleEvents();
  }
  claude.child.say(result([uuid]), idle());
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
});
