// What the dispatcher tells telemetry: one span from begin to proven end, one count for each receipt,
// and neither ids nor contents.
import { assert, assertEquals } from "@std/assert";
import { deferred } from "../../src/platform/deferred.ts";
import { RecordingTelemetry } from "../support/recording_telemetry.ts";
import {
  base64,
  BoundWorld,
  bytes,
  ENVIRONMENT,
  transferId,
  writeBegin,
} from "./bound_world.ts";
import { frameOf } from "./fake_connection.ts";
import { input, inWorld, prepare, type World } from "./world.ts";

const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const PROMPT = "canary-prompt-4711";
const ANSWER = "canary-answer-4712";

/** Runs `body` in a world whose telemetry is recorded. */
async function recorded(
  body: (world: World, telemetry: RecordingTelemetry) => Promise<void>,
): Promise<RecordingTelemetry> {
  const telemetry = new RecordingTelemetry();
  await inWorld((world) => body(world, telemetry), { router: { telemetry } });
  return telemetry;
}

Deno.test("a Run's span begins at its start, below Core's trace, and ends after its done was sent", async () => {
  const telemetry = await recorded(async (world, telemetry) => {
    await world.ready();
    world.receive({
      type: "execution_start",
      id: "prepare",
      payload: world.startPayload("run", "prepare", PROMPT),
      trace: TRACE,
    });
    await world.advance(0);
    world.connection.hold(frameOf("done"));
    await world.factory.executor.turn.delta(ANSWER);
    world.factory.executor.turn.finish(ANSWER);
    await world.advance(0);
    assertEquals(telemetry.ended("run"), [""]);
    world.connection.release();
    await world.advance(0);
    assertEquals(telemetry.ended("run"), ["completed"]);
  });
  const [span] = telemetry.spans.filter(({ name }) => name === "run");
  assertEquals(span?.parent, TRACE);
  assertEquals(span?.attributes, { kind: "contract" });
});

Deno.test("a delta costs telemetry nothing", async () => {
  await recorded(async (world, telemetry) => {
    await world.running();
    const before = telemetry.text;
    for (let n = 0; n < 10; n++) {
      await world.factory.executor.turn.delta("more");
    }
    await world.advance(0);
    assertEquals(telemetry.text, before);
    world.factory.executor.turn.finish();
    await world.advance(0);
  });
});

Deno.test("nothing that identifies or quotes anything gets into spans and counts", async () => {
  const telemetry = await recorded(async (world) => {
    await world.send("execution_prepare", "prepare", prepare("session"));
    await world.send(
      "execution_start",
      "prepare",
      world.startPayload("run", "prepare", PROMPT),
    );
    const { turn } = world.factory.executor;
    await world.send("prompt_steer", "run", steer("canary-input-4713"));
    turn.steers[0]?.written();
    turn.steers[0]?.result.reject(new Error("canary-native-4714"));
    await world.advance(0);
    turn.finish(ANSWER);
    await world.advance(0);
  });
  assert(telemetry.spans.length > 1 && telemetry.counts.length > 1);
  for (const word of ["canary", 'prepare"', "session", "00000000-0000"]) {
    assert(!telemetry.text.includes(word), word);
  }
});

function steer(inputId = "1"): unknown {
  return {
    input_id: inputId,
    input: input(PROMPT),
    durable_receipt: true,
  };
}

const ends: readonly (readonly [string, (world: World) => Promise<void>])[] = [
  ["cancelled", async (world) => {
    await world.running();
    await world.send("prompt_cancel", "run", { delivery_id: "cancel" });
  }],
  ["failed", async (world) => {
    await world.running();
    const { turn } = world.factory.executor;
    void turn.emit({ type: "error", payload: { error: "it broke" } });
    turn.finish();
    await world.advance(0);
  }],
  ["not_started", async (world) => {
    await world.ready();
    world.factory.executor.startMode = "no_turn";
    await world.send("execution_start", "prepare", world.startPayload());
  }],
  ["unconfirmed", async (world) => {
    await world.running();
    world.factory.executor.turn.lose();
    await world.send("prompt_cancel", "run", { delivery_id: "cancel" });
  }],
  ["observation_lost", async (world) => {
    await world.running();
    world.connection.fail(frameOf("delta"));
    await world.factory.executor.turn.delta("lost");
    await world.advance(0);
    world.connection.heal();
  }],
];

for (const [outcome, body] of ends) {
  Deno.test(`a Run that ends so is counted as ${outcome}`, async () => {
    await recorded(async (world, telemetry) => {
      await body(world);
      assertEquals(telemetry.ended("run"), [outcome]);
    });
  });
}

Deno.test("a Run that is still owned has no end", async () => {
  await recorded(async (world, telemetry) => {
    await world.running();
    const { executor } = world.factory;
    executor.turn.onCancel = "refuse";
    executor.onClose = "refuse";
    await world.send("prompt_cancel", "run", { delivery_id: "cancel" });
    assertEquals(telemetry.ended("run"), [""]);
    executor.onClose = "confirm";
    executor.turn.onCancel = "settle";
  });
});

const preparations: readonly (readonly [
  string,
  (world: World) => Promise<void>,
])[] = [
  ["ready", (world) => world.ready()],
  ["preparation_failed", async (world) => {
    world.factory.prepareMode = "fail";
    await world.send("execution_prepare", "prepare", prepare());
  }],
  ["executor_cleanup_unconfirmed", async (world) => {
    world.factory.prepareMode = "fail_retained";
    world.factory.onExecutor = (executor) => executor.onClose = "refuse";
    await world.send("execution_prepare", "prepare", prepare());
    world.factory.executor.onClose = "confirm";
  }],
  ["released", async (world) => {
    world.factory.prepareGate = deferred();
    await world.send("execution_prepare", "prepare", prepare());
    await world.send("execution_release", "prepare", {
      handle: world.status().handle,
    });
    world.factory.prepareGate.resolve();
    await world.advance(0);
  }],
];

for (const [outcome, body] of preparations) {
  Deno.test(`a preparation that ends so is counted as ${outcome}`, async () => {
    await recorded(async (world, telemetry) => {
      await body(world);
      assertEquals(telemetry.ended("preparation"), [outcome]);
      const [span] = telemetry.spans;
      assertEquals(span?.attributes, { kind: "contract" });
    });
  });
}

Deno.test("each receipt is counted by its frame, its word and what its sending proved", async () => {
  await recorded(async (world, telemetry) => {
    await world.running();
    const { turn } = world.factory.executor;
    await world.send("prompt_steer", "run", steer());
    turn.steers[0]?.written();
    turn.steers[0]?.result.resolve();
    await world.advance(0);
    await world.send("prompt_steer", "other", steer());
    world.connection.fail(frameOf("interaction_decision_ack"));
    await world.send("prompt_cancel", "gone", { delivery_id: "one" });
    world.connection.heal();
    await world.send("prompt_cancel", "run", { delivery_id: "two" });
    assertEquals(telemetry.counted("receipts"), [
      "prompt_steer_ack written delivered 1",
      "prompt_steer_ack accepted delivered 1",
      "prompt_steer_ack run_inactive delivered 1",
      "interaction_decision_ack run_inactive unknown 1",
      "interaction_decision_ack applied delivered 1",
    ]);
  });
});

/** Runs `body` in a bound world whose telemetry is recorded. */
async function recordedTransfers(
  body: (world: BoundWorld) => Promise<void>,
): Promise<RecordingTelemetry> {
  const telemetry = new RecordingTelemetry();
  const world = new BoundWorld({ telemetry });
  try {
    await body(world);
    await world.quiet();
    await world.close();
  } finally {
    world.remove();
  }
  return telemetry;
}

Deno.test("a transfer has one span below the trace of its begin, and its bytes are counted", async () => {
  const data = bytes("canary-content-4715");
  const telemetry = await recordedTransfers(async (world) => {
    const id = transferId();
    const payload = writeBegin("canary-name-4716", data);
    world.world.receive({ type: "workspace_write", id, payload, trace: TRACE });
    await world.reply("workspace_write_result", id);
    await world.body("workspace_write", id, data);
    world.send("workspace_write", id, { step: "commit" });
    await world.reply("workspace_write_result", id);
    // Refused after its first bytes.
    const second = transferId(2);
    world.send("workspace_write", second, writeBegin("other", data));
    await world.reply("workspace_write_result", second);
    const part = base64(data.subarray(0, 5));
    world.send("workspace_write", second, {
      step: "chunk",
      offset: 0,
      data: part,
    });
    await world.reply("workspace_write_result", second);
    world.send("workspace_write", second, { step: "commit" });
    await world.reply("workspace_write_result", second);
  });
  assertEquals(telemetry.ended("transfer"), ["completed", "invalid"]);
  assertEquals(telemetry.counted("transfer_bytes"), [
    `workspace_write ${data.length}`,
    "workspace_write 5",
  ]);
  assertEquals(telemetry.spans[0]?.parent, TRACE);
  assertEquals(telemetry.spans[0]?.attributes, { family: "workspace_write" });
  assert(!telemetry.text.includes("canary"));
});

Deno.test("an export is a transfer too; a withdrawn one ends as stopped", async () => {
  const telemetry = await recordedTransfers(async (world) => {
    Deno.mkdirSync(world.path("outputs"));
    Deno.writeTextFileSync(world.path("outputs", "file"), "content");
    const handle = await world.handle();
    const begin = { step: "begin", handle, environment_id: ENVIRONMENT };
    const result = async (id: string) =>
      await world.reply("workspace_export_result", id);
    const first = transferId();
    world.send("workspace_export", first, begin);
    for (;;) {
      const { outcome, offset, data = "" } = await result(first);
      if (outcome !== "chunk") break;
      world.send("workspace_export", first, {
        step: "next",
        offset: offset + Uint8Array.fromBase64(data).length,
      });
    }
    await world.quiet();
    const second = transferId(2);
    world.send("workspace_export", second, begin);
    await result(second);
    world.send("workspace_export", second, { step: "cancel" });
  });
  const transfers = telemetry.ended("transfer");
  assertEquals(transfers, ["completed", "stopped"]);
  const [whole] = telemetry.counts.filter(({ name }) =>
    name === "transfer_bytes"
  );
  assert((whole?.by ?? 0) > "content".length, String(whole?.by));
});
