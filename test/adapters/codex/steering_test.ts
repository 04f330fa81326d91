/** Active input: what the engine's replies prove, and what they do not. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { SteeringRefused } from "../../../src/harness/contract.ts";
import { settleEvents } from "../../support/virtual_clock.ts";
import {
  type FakeCodex,
  fakeCodex,
  never,
  type RunningTurn,
  terminal,
  TURN,
  type WrittenLine,
} from "./fake_app_server.ts";

const INPUT = [{
  content: [{ type: "input_text" as const, text: "more" }],
}];

interface Steered {
  readonly running: RunningTurn;
  readonly request: WrittenLine;
  /** `undefined` while pending. */
  readonly outcome: () => "accepted" | Error | undefined;
  readonly written: () => number;
  readonly ended: Promise<void>;
}

async function steer(codex: FakeCodex): Promise<Steered> {
  const running = await codex.begin();
  let written = 0;
  let outcome: "accepted" | Error | undefined;
  const ended = running.turn.steerWithReceipt(
    { inputId: "input", input: INPUT },
    () => written += 1,
    never,
  ).then(() => {
    outcome = "accepted";
  }, (error) => {
    outcome = error;
  });
  const request = await codex.child.request("turn/steer");
  await settleEvents();
  return {
    running,
    request,
    ended,
    outcome: () => outcome,
    written: () => written,
  };
}

/** Ends the Turn and checks that the input was written once and by no other method. */
async function finish(codex: FakeCodex, running: RunningTurn): Promise<void> {
  codex.child.notify("turn/completed", terminal("completed"));
  assertEquals(await running.turn.awaitSettlement(never), { reusable: true });
  assertEquals(codex.child.methods, ["turn/start", "turn/steer"]);
}

function userMessage(clientId: unknown): object {
  return { item: { type: "userMessage", id: "u1", clientId } };
}

Deno.test("the reply proves queueing, the engine's own user message acceptance", async () => {
  await using codex = await fakeCodex();
  const steered = await steer(codex);
  assertEquals([steered.written(), steered.outcome()], [1, undefined]);
  await codex.child.reply("turn/steer", { turnId: TURN });
  codex.child.notify("item/completed", userMessage("of another input"));
  codex.child.notify(
    "item/started",
    userMessage(
      steered.request.params?.clientUserMessageId,
    ),
  );
  await settleEvents();
  assertEquals(steered.outcome(), undefined);
  codex.child.notify(
    "item/completed",
    userMessage(
      steered.request.params?.clientUserMessageId,
    ),
  );
  await steered.ended;
  assertEquals([steered.written(), steered.outcome()], [1, "accepted"]);
  await finish(codex, steered.running);
});

Deno.test("the user message is proof also before the reply", async () => {
  await using codex = await fakeCodex();
  const steered = await steer(codex);
  codex.child.notify(
    "item/completed",
    userMessage(
      steered.request.params?.clientUserMessageId,
    ),
  );
  await steered.ended;
  assertEquals(steered.outcome(), "accepted");
  await codex.child.reply("turn/steer", { turnId: TURN });
  await finish(codex, steered.running);
});

for (
  const [code, message] of [
    [-32600, "no active turn to steer"],
    [-32600, "expected active turn id `a` but found `b`"],
    [-32600, "cannot steer a review turn"],
    [-32602, "invalid params"],
    [-32603, "anything else"],
  ] as const
) {
  Deno.test(`an input the engine answers with ${code} "${message}" is rejected, never sent again`, async () => {
    await using codex = await fakeCodex();
    const steered = await steer(codex);
    codex.child.say({ id: steered.request.id, error: { code, message } });
    await steered.ended;
    const outcome = steered.outcome();
    assert(outcome instanceof SteeringRefused);
    assertEquals(outcome.refusal, "rejected");
    assert(!outcome.message.includes(message));
    await finish(codex, steered.running);
  });
}

for (
  const [name, reply] of [
    ["without a Turn id", {}],
    ["with another Turn id", { turnId: "phantom" }],
    ["that is no object", null],
  ] as const
) {
  Deno.test(`a success ${name} leaves the input unknown, never sent again`, async () => {
    await using codex = await fakeCodex();
    const steered = await steer(codex);
    await codex.child.reply("turn/steer", reply);
    await steered.ended;
    const outcome = steered.outcome();
    assert(outcome instanceof Error);
    assert(!(outcome instanceof SteeringRefused));
    assertEquals(steered.written(), 1);
    // The phantom has not become the current Turn.
    await finish(codex, steered.running);
  });
}

Deno.test("an input without any reply stays unknown at the end of the Turn", async () => {
  await using codex = await fakeCodex();
  const steered = await steer(codex);
  await assertRejects(
    () =>
      steered.running.turn.steerWithReceipt(
        { inputId: "second", input: INPUT },
        () => {},
        never,
      ),
    SteeringRefused,
  );
  await finish(codex, steered.running);
  await steered.ended;
  const outcome = steered.outcome();
  assert(outcome instanceof Error && !(outcome instanceof SteeringRefused));
});
