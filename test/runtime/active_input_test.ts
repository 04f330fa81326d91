import { assertEquals } from "@std/assert";
import {
  SteeringRefused,
  UnsupportedOperation,
} from "../../src/harness/contract.ts";
import { frameOf } from "./fake_connection.ts";
import { declaration } from "./scripted_harness.ts";
import { input, inWorld, type World } from "./world.ts";

function steer(inputId = "1", text = "more", durable = true): unknown {
  return { input_id: inputId, input: input(text), durable_receipt: durable };
}

/** A running Run whose frames so far were looked at. */
async function running(world: World) {
  await world.running();
  world.fresh();
  return world.factory.executor.turn;
}

const malformed: readonly (readonly [string, unknown, string])[] = [
  ["no payload", undefined, ""],
  ["an undecodable payload", { input_id: 1 }, ""],
  ["a blank id", steer(" "), " "],
  ["an id of 257 bytes", steer("x".repeat(257)), ""],
  ["an empty text", steer("1", ""), "1"],
  ["no message", { input_id: "1", input: [] }, "1"],
];

for (const [what, payload, inputId] of malformed) {
  Deno.test(`an active input with ${what} is invalid_input`, () =>
    inWorld(async (world) => {
      const turn = await running(world);
      await world.send("prompt_steer", "run", payload);
      assertEquals(world.words(), ["input invalid_input"]);
      assertEquals(world.frames.at(-1)?.payload.input_id, inputId);
      assertEquals(turn.steers.length, 0);
    }));
}

Deno.test("an input is written, then accepted however long that takes, then the Run may end", () =>
  inWorld(async (world) => {
    const turn = await running(world);
    await world.send("prompt_steer", "run", steer("1", " "));
    assertEquals(turn.steers[0]?.steer, { inputId: "1", input: input(" ") });
    turn.steers[0]?.written();
    turn.steers[0]?.written();
    await world.advance(3_600_000);
    assertEquals(world.words(), ["written"]);
    await world.send("prompt_steer", "run", steer("1", " "));
    assertEquals(world.words(), ["written"]);
    turn.steers[0]?.result.resolve();
    turn.finish();
    await world.advance(0);
    assertEquals(world.words(), ["accepted", "done"]);
    assertEquals(world.frames.at(-2)?.payload, {
      input_id: "1",
      accepted: true,
    });
    assertEquals(turn.steers.length, 1);
  }));

Deno.test("a native write that takes ten seconds is cut off and its outcome is unknown", () =>
  inWorld(async (world) => {
    const turn = await running(world);
    await world.send("prompt_steer", "run", steer());
    await world.advance(9_999);
    assertEquals(turn.steers[0]?.signal.aborted, false);
    await world.advance(1);
    assertEquals(turn.steers[0]?.signal.aborted, true);
    assertEquals(world.words(), ["input outcome_unknown"]);
    turn.steers[0]?.written();
    turn.steers[0]?.result.resolve();
    await world.advance(0);
    assertEquals(world.words(), []);
    await world.send("prompt_steer", "run", steer());
    assertEquals(world.words(), ["input outcome_unknown"]);
    assertEquals(turn.steers.length, 1);
  }));

const native: readonly (readonly [string, Error, string])[] = [
  ["not ready", new SteeringRefused("not_ready", ""), "not_ready"],
  ["inactive", new SteeringRefused("inactive", ""), "run_inactive"],
  ["a refusal", new SteeringRefused("rejected", ""), "rejected"],
  ["unsupported", new UnsupportedOperation(""), "contract_violation"],
  ["any other failure", new Error("pipe closed"), "outcome_unknown"],
];

for (const [what, error, code] of native) {
  Deno.test(`${what} of the engine is ${code} and its text stays local`, () =>
    inWorld(async (world) => {
      const turn = await running(world);
      await world.send("prompt_steer", "run", steer());
      turn.steers[0]?.result.reject(error);
      await world.advance(0);
      assertEquals(world.words(), [`input ${code}`]);
      assertEquals(world.frames.at(-1)?.payload, {
        input_id: "1",
        accepted: false,
        error_code: code,
      });
      await world.send("prompt_steer", "run", steer());
      const retried = code === "not_ready";
      assertEquals(turn.steers.length, retried ? 2 : 1);
      turn.steers[1]?.result.resolve();
    }));
}

Deno.test("an id is bound to its content and its receipt mode, also before a retryable answer", () =>
  inWorld(async (world) => {
    await world.ready();
    world.connection.hold(frameOf("preparation_status", "started"));
    await world.send("execution_start", "prepare", world.startPayload());
    await world.send("prompt_steer", "run", steer());
    await world.send("prompt_steer", "run", steer("1", "other"));
    await world.send("prompt_steer", "run", steer("1", "more", false));
    world.connection.release();
    await world.advance(0);
    world.connection.frames.length = 0;
    const { turn } = world.factory.executor;
    await world.send("prompt_steer", "run", steer("1", "other"));
    await world.send("prompt_steer", "run", steer());
    assertEquals(turn.steers.length, 1);
    assertEquals(world.frames.map(({ payload }) => payload.error_code), [
      "input_conflict",
    ]);
    turn.steers[0]?.result.resolve();
  }));

Deno.test("before started is published an input is not_ready and may come again", () =>
  inWorld(async (world) => {
    await world.ready();
    world.connection.hold(frameOf("preparation_status", "started"));
    world.fresh();
    await world.send("execution_start", "prepare", world.startPayload());
    await world.send("prompt_steer", "run", steer());
    world.connection.release();
    await world.advance(0);
    assertEquals(world.words(), [
      "starting(3)",
      "started(4)",
      "input not_ready",
    ]);
    await world.send("prompt_steer", "run", steer());
    const { turn } = world.factory.executor;
    assertEquals(turn.steers.length, 1);
    turn.steers[0]?.result.resolve();
  }));

Deno.test("one input at a time: the next is busy and may come again", () =>
  inWorld(async (world) => {
    const turn = await running(world);
    await world.send("prompt_steer", "run", steer("1"));
    await world.send("prompt_steer", "run", steer("2"));
    await world.send("prompt_steer", "run", steer("1"));
    assertEquals(world.words(), ["input busy", "input in_flight"]);
    turn.steers[0]?.result.resolve();
    await world.advance(0);
    await world.send("prompt_steer", "run", steer("2"));
    assertEquals(turn.steers.map(({ steer }) => steer.inputId), ["1", "2"]);
    turn.steers[1]?.result.resolve();
  }));

Deno.test("256 ids are kept for the life of the Run and the next is input_limit", () =>
  inWorld(async (world) => {
    const turn = await running(world);
    for (let index = 0; index < 256; index++) {
      await world.send("prompt_steer", "run", steer(`${index}`));
      turn.steers[index]?.result.resolve();
      await world.advance(0);
    }
    world.fresh();
    await world.send("prompt_steer", "run", steer("256"));
    await world.send("prompt_steer", "run", steer("0"));
    assertEquals(world.words(), ["input input_limit", "accepted"]);
    assertEquals(turn.steers.length, 256);
  }));

Deno.test("what is not declared is unsupported without a native call", async () => {
  const options = {
    harness: {
      declaration: declaration({ durable_input_receipts: "unsupported" }),
    },
  };
  await inWorld(async (world) => {
    const turn = await running(world);
    await world.send("prompt_steer", "run", steer());
    assertEquals(world.words(), ["input unsupported"]);
    assertEquals(turn.steers.length, 0);
  }, options);
});

Deno.test("an input the engine cannot take unchanged is rejected before it reaches the engine", () =>
  inWorld(async (world) => {
    const turn = await running(world);
    world.factory.inputRefusal = { reason: "blank" };
    await world.send("prompt_steer", "run", steer());
    await world.send("prompt_steer", "run", steer());
    assertEquals(world.words(), ["input rejected", "input rejected"]);
    assertEquals(turn.steers.length, 0);
    assertEquals(world.factory.executor.closes, 0);
  }));

Deno.test("a claimed Run admits no new input and repeats old receipts", () =>
  inWorld(async (world) => {
    const turn = await running(world);
    await world.send("prompt_steer", "run", steer("1"));
    turn.steers[0]?.result.resolve();
    await world.advance(0);
    await turn.emit({ type: "done", payload: { content: "" } });
    await world.advance(0);
    world.fresh();
    await world.send("prompt_steer", "run", steer("2"));
    await world.send("prompt_steer", "run", steer("1"));
    assertEquals(world.words(), ["input run_inactive", "accepted"]);
    turn.settle();
  }));

Deno.test("done waits for the receipt that is being sent, and no longer than its five seconds", () =>
  inWorld(async (world) => {
    const turn = await running(world);
    await world.send("prompt_steer", "run", steer());
    world.connection.hold(frameOf("prompt_steer_ack"));
    turn.steers[0]?.result.resolve();
    turn.finish();
    await world.advance(4_999);
    assertEquals(world.router.status().runs[0]?.owedReceipts, 1);
    await world.advance(1);
    assertEquals(world.router.activeRuns, 0);
    world.connection.release();
    await world.advance(0);
    assertEquals(world.words(), ["accepted", "done"]);
  }));

Deno.test("a receipt that was lost is repeated from the record, never from the engine", () =>
  inWorld(async (world) => {
    const turn = await running(world);
    await world.send("prompt_steer", "run", steer());
    world.connection.fail(frameOf("prompt_steer_ack"));
    turn.steers[0]?.result.resolve();
    await world.advance(0);
    world.connection.heal();
    assertEquals(world.words(), []);
    await world.send("prompt_steer", "run", steer());
    assertEquals(world.words(), ["accepted"]);
    assertEquals(turn.steers.length, 1);
  }));

Deno.test("a written receipt that cannot be sent cancels the native wait", () =>
  inWorld(async (world) => {
    const turn = await running(world);
    await world.send("prompt_steer", "run", steer());
    world.connection.fail(frameOf("prompt_steer_ack"));
    turn.steers[0]?.written();
    await world.advance(0);
    assertEquals(turn.steers[0]?.signal.aborted, true);
  }));

Deno.test("a blocked input keeps neither another Run nor its own cancel waiting", () =>
  inWorld(async (world) => {
    await world.running("run", "one", "one");
    await world.running("run 2", "two", "two");
    world.fresh();
    await world.send("prompt_steer", "run", steer());
    await world.send("prompt_cancel", "run 2", { delivery_id: "d" });
    assertEquals(world.words(), ["done", "applied"]);
    await world.send("prompt_cancel", "run");
    assertEquals(world.factory.executors[0]?.turn.cancels, 1);
  }));

Deno.test("the receipt mode belongs to the id, and a claimed Run repeats busy", () =>
  inWorld(async (world) => {
    const turn = await running(world);
    turn.onCancel = "accept";
    await world.send("prompt_steer", "run", steer("1"));
    await world.send("prompt_steer", "run", steer("1", "more", false));
    await world.send("prompt_steer", "run", steer("2"));
    await world.send("prompt_cancel", "run");
    await world.send("prompt_steer", "run", steer("2"));
    assertEquals(world.words(), [
      "input input_conflict",
      "input busy",
      "input busy",
    ]);
    turn.steers[0]?.result.resolve();
    turn.settle();
  }));
