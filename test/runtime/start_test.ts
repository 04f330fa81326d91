import { assertEquals } from "@std/assert";
import { deferred } from "../../src/platform/deferred.ts";
import { frameOf } from "./fake_connection.ts";
import { declaration, ScriptedTurn } from "./scripted_harness.ts";
import { input, inWorld, prepare, type World } from "./world.ts";

const malformed: readonly (readonly [string, Record<string, unknown>])[] = [
  ["no handle", { handle: "" }],
  ["no executor", { executor_id: "" }],
  ["a blank run id", { run_id: " " }],
  ["no message", { input: [] }],
  ["an empty text", { input: input("") }],
];

for (const [what, change] of malformed) {
  Deno.test(`a start with ${what} is invalid_start and keeps the reservation`, () =>
    inWorld(async (world) => {
      await world.ready();
      world.fresh();
      const payload = { ...world.startPayload(), ...change };
      await world.send("execution_start", "prepare", payload);
      assertEquals(world.words(), ["rejected(0) invalid_start"]);
      assertEquals(world.router.status().executors[0]?.state, "ready");
    }));
}

Deno.test("an input the engine cannot take is invalid_start and keeps the reservation", () =>
  inWorld(async (world) => {
    await world.ready();
    world.fresh();
    world.factory.inputRefusal = { reason: "images are not taken" };
    const payload = world.startPayload();
    await world.send("execution_start", "prepare", payload);
    assertEquals(world.words(), ["rejected(0) invalid_start"]);
    world.factory.inputRefusal = undefined;
    await world.send("execution_start", "prepare", payload);
    assertEquals(world.words(), ["starting(3)", "started(4)"]);
  }));

const rejections: readonly (readonly [
  string,
  (world: World) => Promise<Record<string, unknown>>,
  string,
])[] = [
  [
    "an unknown handle",
    async (world) => {
      await world.ready();
      return { ...world.startPayload(), handle: "absent" };
    },
    "rejected(0) unknown_preparation",
  ],
  [
    "another executor",
    async (world) => {
      await world.ready();
      return { ...world.startPayload(), executor_id: "absent" };
    },
    "rejected(0) unknown_executor",
  ],
  [
    "other content than the first start",
    async (world) => {
      await world.running();
      return world.startPayload("run", "prepare", "other");
    },
    "rejected(0) start_conflict",
  ],
  [
    "a released handle",
    async (world) => {
      await world.ready();
      const payload = world.startPayload();
      await world.send("execution_release", "prepare", {
        handle: payload.handle,
      });
      return payload;
    },
    "rejected(0) preparation_not_ready",
  ],
  [
    "a run id in use",
    async (world) => {
      await world.running("run", "other", "other");
      await world.ready();
      return world.startPayload();
    },
    "rejected(0) run_conflict",
  ],
];

for (const [what, arrange, expected] of rejections) {
  Deno.test(`a start with ${what} is ${expected}`, () =>
    inWorld(async (world) => {
      const payload = await arrange(world);
      const starts = world.factory.executor.starts;
      world.fresh();
      await world.send("execution_start", "prepare", payload);
      assertEquals(world.words(), [expected]);
      assertEquals(world.frames.at(-1)?.payload.operation, "execution_start");
      assertEquals(world.factory.executor.starts, starts);
    }));
}

Deno.test("a start while the preparation runs is preparation_not_ready", () =>
  inWorld(async (world) => {
    world.factory.prepareGate = deferred();
    await world.send("execution_prepare", "prepare", prepare());
    await world.send("execution_start", "prepare", world.startPayload());
    assertEquals(world.words(), [
      "preparing(1)",
      "rejected(0) preparation_not_ready",
    ]);
    world.factory.prepareGate.resolve();
    await world.advance(0);
  }));

Deno.test("a repeated start runs once and repeats the status once it is published", () =>
  inWorld(async (world) => {
    await world.ready();
    const payload = world.startPayload();
    world.connection.hold(frameOf("preparation_status", "started"));
    await world.send("execution_start", "prepare", payload);
    await world.send("execution_start", "prepare", payload);
    assertEquals(world.words(), ["preparing(1)", "ready(2)", "starting(3)"]);
    world.connection.release();
    await world.send("execution_start", "prepare", payload);
    await world.send("execution_start", "prepare", payload);
    assertEquals(world.words(), ["started(4)", "started(4)"]);
    assertEquals(world.factory.executor.starts, 1);
  }));

Deno.test("output that begins before the start returns is complete and in order", () =>
  inWorld(async (world) => {
    await world.ready();
    const { executor } = world.factory;
    executor.startGate = deferred();
    executor.onTurn = async (turn) => {
      for (let index = 0; index < 96; index++) await turn.delta(String(index));
      executor.startGate?.resolve();
    };
    world.connection.hold(frameOf("delta"));
    await world.send("execution_start", "prepare", world.startPayload());
    world.connection.release();
    await world.advance(0);
    const texts = world.frames.filter(({ type }) => type === "delta")
      .map(({ payload }) => payload.delta);
    assertEquals(texts, Array.from({ length: 96 }, (_, index) => `${index}`));
    assertEquals(world.status().state, "started");
  }));

Deno.test("a done before the start returns goes out after started", () =>
  inWorld(async (world) => {
    await world.ready();
    const { executor } = world.factory;
    executor.startGate = deferred();
    executor.onTurn = (turn) => turn.finish();
    await world.send("execution_start", "prepare", world.startPayload());
    executor.startGate.resolve();
    await world.advance(0);
    assertEquals(world.words(), [
      "preparing(1)",
      "ready(2)",
      "starting(3)",
      "started(4)",
      "done",
    ]);
    assertEquals(executor.closes, 0);
  }));

Deno.test("a start that brought no Turn promises a closed Executor before it says so", () =>
  inWorld(async (world) => {
    await world.ready();
    const { executor } = world.factory;
    executor.startMode = "no_turn";
    executor.closeGate = deferred();
    world.fresh();
    await world.send("execution_start", "prepare", world.startPayload());
    assertEquals(world.words(), ["starting(3)"]);
    executor.closeGate.resolve();
    await world.advance(0);
    assertEquals(world.words(), [
      "rejected(0) executor_unavailable",
      "failed(4) executor_unavailable",
    ]);
    const { payload } = world.frames.at(-2) ?? {};
    assertEquals(payload.operation, "execution_start");
    assertEquals(typeof payload.handle, "string");
    assertEquals(typeof payload.executor_id, "string");
    assertEquals(world.router.status().executors, []);
    assertEquals(world.router.activeRuns, 0);
    await world.ready("session", "again");
    assertEquals(world.factory.prepares, 2);
  }));

Deno.test("a failed start whose close fails never promises an unavailable Executor", () =>
  inWorld(async (world) => {
    await world.ready();
    const { executor } = world.factory;
    executor.startMode = "no_turn";
    executor.onClose = "refuse";
    world.fresh();
    await world.send("execution_start", "prepare", world.startPayload());
    assertEquals(world.words(), [
      "starting(3)",
      "rejected(0) executor_cleanup_unconfirmed",
      "failed(4) executor_cleanup_unconfirmed",
    ]);
    assertEquals(world.router.activeRuns, 1);
    await world.send("execution_prepare", "again", {
      session_id: "session",
      configuration: {
        agent_kind: "contract",
        run_id: "",
        agent_state_key: "agents-api-session",
        disable_execution_environment: true,
      },
    });
    assertEquals(world.words(), ["rejected(0) preparation_capacity"]);
    executor.onClose = "confirm";
    await world.advance(1_000);
    assertEquals(world.router.activeRuns, 0);
    assertEquals(world.words(), []);
    await world.ready("session", "again");
  }));

Deno.test("a start that throws is never taken for one that submitted nothing", () =>
  inWorld(async (world) => {
    await world.ready();
    world.factory.executor.startMode = "throw";
    world.fresh();
    await world.send("execution_start", "prepare", world.startPayload());
    assertEquals(world.words(), [
      "starting(3)",
      "rejected(0) start_cancelled",
      "failed(4) start_cancelled",
    ]);
  }));

Deno.test("a Turn beside an error is settled, never started again", () =>
  inWorld(async (world) => {
    await world.ready();
    const { executor } = world.factory;
    executor.startMode = "turn_and_error";
    world.fresh();
    await world.send("execution_start", "prepare", world.startPayload());
    assertEquals(world.words(), [
      "starting(3)",
      "started(4)",
      "error",
      "done",
    ]);
    assertEquals(world.frames.at(-2)?.payload, {
      error: "prepared execution could not start",
    });
    assertEquals(executor.starts, 1);
    assertEquals(executor.turn.cancels, 1);
    assertEquals(executor.closes, 1);
  }));

Deno.test("an undeliverable starting never reaches the engine", () =>
  inWorld(async (world) => {
    await world.ready();
    world.connection.fail(frameOf("preparation_status", "starting"));
    world.fresh();
    await world.send("execution_start", "prepare", world.startPayload());
    assertEquals(world.words(), [
      "rejected(0) start_cancelled",
      "failed(4) start_cancelled",
    ]);
    assertEquals(world.factory.executor.starts, 0);
    assertEquals(world.factory.executor.closes, 1);
  }));

Deno.test("a started that cannot be published by the deadline cancels the Turn and is never repeated", () =>
  inWorld(async (world) => {
    await world.ready();
    world.connection.hold(frameOf("preparation_status", "started"));
    await world.send("execution_start", "prepare", world.startPayload());
    const { turn } = world.factory.executor;
    await world.advance(299_999);
    assertEquals(turn.cancels, 0);
    await world.advance(1);
    assertEquals(turn.cancels, 1);
    world.connection.release();
    world.fresh();
    await world.send("execution_start", "prepare", world.startPayload());
    assertEquals(world.factory.executor.starts, 1);
    assertEquals(
      world.words().filter((word) => word.startsWith("started")),
      [],
    );
  }));

Deno.test("a start after the deadline expires the handle without a rejection", () =>
  inWorld(async (world) => {
    await world.ready();
    const payload = world.startPayload();
    world.fresh();
    await world.advance(300_000);
    await world.send("execution_start", "prepare", payload);
    assertEquals(world.words(), [
      "expired(3)",
      "rejected(0) preparation_not_ready",
    ]);
  }));

Deno.test("an old deadline does not end a running Run", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    await world.advance(600_000);
    assertEquals(world.words(), []);
    world.factory.executor.turn.finish();
    await world.advance(0);
    assertEquals(world.words(), ["done"]);
  }));

Deno.test("every frame of a Run carries the trace of its start", () =>
  inWorld(async (world) => {
    await world.ready();
    const trace = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    world.receive({
      type: "execution_start",
      id: "prepare",
      payload: world.startPayload(),
      trace,
    });
    await world.advance(0);
    world.fresh();
    const { turn } = world.factory.executor;
    await turn.delta("x");
    await turn.emit({ type: "thinking", payload: { text: "t" } });
    turn.finish();
    await world.advance(0);
    assertEquals(world.fresh().map((frame) => frame.trace), [
      trace,
      trace,
      trace,
    ]);
  }));

Deno.test("deltas and thinking are counted apart, each from one", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { turn } = world.factory.executor;
    await turn.delta("a");
    await turn.emit({ type: "thinking", payload: { text: "t" } });
    await turn.delta("b");
    await turn.emit({ type: "thinking", payload: { text: "u" } });
    await turn.emit({
      type: "thinking",
      payload: { text: "tu" },
      unsequenced: true,
    });
    await world.advance(0);
    assertEquals(world.fresh().map(({ payload }) => payload.sequence), [
      1,
      1,
      2,
      2,
      undefined,
    ]);
    turn.finish();
  }));

Deno.test("output after done is dropped, and its Executor is not used again", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { executor } = world.factory;
    const { turn } = executor;
    await turn.emit({ type: "done", payload: { content: "answer" } });
    await turn.delta("late");
    await world.advance(0);
    turn.settle();
    await world.advance(0);
    assertEquals(world.words(), ["error", "done"]);
    assertEquals(world.frames.at(-2)?.payload, {
      error: "output crossed the Turn boundary",
    });
    assertEquals(executor.closes, 1);
  }));

Deno.test("a Turn that ends without a result is an error with what was observed", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { turn } = world.factory.executor;
    turn.outcome = {
      content: "partial",
      metadata: { agent_session_id: "native" },
    };
    turn.settle();
    await world.advance(0);
    assertEquals(world.fresh().map(({ type, payload }) => [type, payload]), [
      ["error", { error: "the Turn ended without a terminal result" }],
      ["done", { content: "", metadata: { agent_session_id: "native" } }],
    ]);
    assertEquals(world.factory.executor.closes, 1);
  }));

Deno.test("a lost settlement ends in error and done only after the Executor is closed", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { executor } = world.factory;
    executor.closeGate = deferred();
    await executor.turn.delta("x");
    executor.turn.lose();
    await world.advance(5_000);
    assertEquals(world.words(), ["delta 1"]);
    assertEquals(executor.closes, 0); // nothing claimed the Run yet: its output is open
    await executor.turn.emit({ type: "done", payload: { content: "" } });
    await world.advance(0);
    assertEquals(executor.closes, 1);
    assertEquals(world.words(), []);
    executor.closeGate.resolve();
    await world.advance(0);
    assertEquals(world.words(), ["error", "done"]);
    assertEquals(world.router.status().executors, []);
  }));

Deno.test("an engine's error keeps its class and is followed by done, without a second error", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { turn } = world.factory.executor;
    await turn.emit({
      type: "error",
      payload: {
        error: "line\none",
        code: "connection_failed",
        http_status: 503,
      },
    });
    await turn.emit({ type: "done", payload: { content: "" } });
    turn.lose();
    await world.advance(0);
    assertEquals(world.fresh().map(({ type, payload }) => [type, payload]), [
      ["error", {
        error: "line one",
        code: "connection_failed",
        http_status: 503,
      }],
      ["done", { content: "" }],
    ]);
    assertEquals(turn instanceof ScriptedTurn, true);
  }));

Deno.test("a native start that outlasts its reservation is ended at the deadline", () =>
  inWorld(async (world) => {
    await world.ready();
    const { executor } = world.factory;
    executor.startMode = "hang_until_close";
    world.fresh();
    await world.send("execution_start", "prepare", world.startPayload());
    await world.advance(299_999);
    assertEquals(world.words(), ["starting(3)"]);
    await world.advance(1);
    assertEquals(world.words(), [
      "rejected(0) executor_unavailable",
      "failed(4) executor_unavailable",
    ]);
    assertEquals(executor.closes, 1);
  }));

Deno.test("a Run that ends at once stays owned until its started went out", () =>
  inWorld(async (world) => {
    await world.ready();
    world.connection.hold(frameOf("preparation_status", "started"));
    await world.send("execution_start", "prepare", world.startPayload());
    world.factory.executor.turn.finish();
    await world.advance(0);
    assertEquals(world.router.activeRuns, 1);
    world.connection.release();
    await world.advance(0);
    assertEquals(world.router.activeRuns, 0);
    assertEquals(world.words().slice(-2), ["started(4)", "done"]);
  }));

Deno.test("images need their capability, for a start and for an active input", () =>
  inWorld(async (world) => {
    const image = [{
      content: [{
        type: "input_image",
        image_url: "data:image/png;base64,AA==",
      }],
    }];
    await world.ready();
    const payload = world.startPayload();
    world.fresh();
    await world.send("execution_start", "prepare", {
      ...payload,
      input: image,
    });
    await world.send("execution_start", "prepare", payload);
    await world.send("prompt_steer", "run", {
      input_id: "1",
      input: image,
      durable_receipt: true,
    });
    await world.send("function_result", "run", {
      delivery_id: "d",
      call_id: "c",
      success: true,
      content: image[0]?.content,
    });
    assertEquals(world.words(), [
      "rejected(0) invalid_start",
      "starting(3)",
      "started(4)",
      "input rejected",
      "ack unsupported",
    ]);
  }, {
    harness: {
      declaration: declaration({
        message_images: "unsupported",
        function_result_images: "unsupported",
      }),
    },
  }));
