import { assertEquals } from "@std/assert";
import { inWorld } from "./world.ts";

Deno.test("a Run goes from prepare to done, and its Executor is idle before done is visible", () =>
  inWorld(async (world) => {
    await world.running();
    assertEquals(world.words(), [
      "preparing(1)",
      "ready(2)",
      "starting(3)",
      "started(4)",
    ]);
    const { turn } = world.factory.executor;
    await turn.delta("he");
    await turn.delta("llo");
    turn.finish();
    await world.advance(0);
    assertEquals(world.words(), ["delta 1", "delta 2", "done"]);
    assertEquals(world.frames.at(-1)?.id, "run");
    assertEquals(world.frames.at(-1)?.payload, { content: "answer" });
    assertEquals(world.router.status().executors[0]?.state, "idle");
    assertEquals(world.router.activeRuns, 0);
    assertEquals(turn.cancels, 0);
  }));

Deno.test("a cancellation is applied only after the native settlement, and after done", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { turn } = world.factory.executor;
    turn.onCancel = "accept";
    turn.outcome = {
      content: "partial",
      metadata: { agent_session_id: "native-session" },
    };
    await world.send("prompt_cancel", "run", { delivery_id: "cancel" });
    assertEquals(turn.cancels, 1);
    assertEquals(world.words(), []);
    turn.settle();
    await world.advance(0);
    assertEquals(world.words(), ["done", "applied"]);
    assertEquals(world.frames.at(-2)?.payload, { content: "" });
    assertEquals(world.frames.at(-1)?.payload, {
      delivery_id: "cancel",
      applied: true,
      outcome: {
        content: "partial",
        metadata: { agent_session_id: "native-session" },
      },
    });
  }));
