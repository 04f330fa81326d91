// `runtime_prepare` through the router: each row of its table of replies, the outcome classes, and
// who keeps the place.
import { assertEquals, assertRejects } from "@std/assert";
import { type Deferred, deferred } from "../../src/platform/deferred.ts";
import { ShutdownUnconfirmed } from "../../src/runtime/router_shutdown.ts";
import type { ApplyStep } from "../../src/runtime/runtime_preparations.ts";
import { settleEvents } from "../support/virtual_clock.ts";
import {
  base64,
  type BoundWorld,
  bytes,
  ENVIRONMENT,
  fileBegin,
  inBoundWorld,
  initializeBegin,
  localPayload,
  SESSION,
  transferId,
  writeBegin,
} from "./bound_world.ts";
import { frameOf } from "./fake_connection.ts";

const FRAME = "runtime_prepare";
const RESULT = "runtime_prepare_result";
const PATH = "/workspace/dir/file";
const content = bytes("hello world");
const invalid = { outcome: "rejected", error_code: "invalid_request" };
const unavailable = {
  outcome: "rejected",
  error_code: "resource_unavailable",
};
const failed = {
  outcome: "failed",
  error_code: "runtime_preparation_failed",
};
const unconfirmed = {
  outcome: "unknown",
  error_code: "runtime_preparation_unconfirmed",
};

async function begun(world: BoundWorld, id = transferId()): Promise<void> {
  world.send(FRAME, id, fileBegin(PATH, content));
  assertEquals(await world.reply(RESULT, id), { outcome: "ready" });
}

/** A whole exchange; the terminal result. */
async function step(
  world: BoundWorld,
  begin: unknown,
  id: string,
  data?: Uint8Array,
  // deno-lint-ignore no-explicit-any -- assertions look into the payload
): Promise<any> {
  world.send(FRAME, id, begin);
  const ready = await world.reply(RESULT, id);
  if (ready.outcome !== "ready") return ready;
  if (data !== undefined) await world.body(FRAME, id, data);
  world.send(FRAME, id, { step: "commit" });
  return await world.reply(RESULT, id);
}

function chunk(data = content, offset = 0): unknown {
  return { step: "chunk", offset, data: base64(data) };
}

Deno.test("an initial file stands only after the commit, and takes the place of an older one", () =>
  inBoundWorld(async (world) => {
    Deno.mkdirSync(world.path("dir"));
    Deno.writeTextFileSync(world.path("dir", "file"), "old");
    const id = transferId();
    await begun(world);
    world.send(FRAME, transferId(), fileBegin(PATH, content)); // a repeat is not answered
    world.send(FRAME, id, fileBegin(PATH, content)); // a repeat is not answered
    await world.body(FRAME, id, content);
    assertEquals(Deno.readTextFileSync(world.path("dir", "file")), "old");
    world.send(FRAME, id, { step: "commit" });
    assertEquals(await world.reply(RESULT, id), {
      outcome: "completed",
      size_bytes: 11,
    });
    await world.quiet();
    assertEquals(world.unread(), []);
    assertEquals(world.tree(), ["dir", "dir/file"]);
    assertEquals(Deno.readFileSync(world.path("dir", "file")), content);
    const empty = bytes("");
    assertEquals(
      await step(world, fileBegin("/workspace/e", empty), transferId(2), empty),
      { outcome: "completed" },
    );
  }));

const cuts: readonly (readonly [string, (world: BoundWorld) => unknown])[] = [
  ["a gap", (world) => world.send(FRAME, transferId(), chunk(content, 1))],
  [
    "one byte too many",
    (world) => world.send(FRAME, transferId(), chunk(bytes("x".repeat(12)))),
  ],
  [
    "an early commit",
    (world) => world.send(FRAME, transferId(), { step: "commit" }),
  ],
  ["the time", (world) => world.world.advance(120_000)],
  [
    "a malformed frame of its own",
    (world) => world.send(FRAME, transferId(), { step: "chunk" }),
  ],
  [
    "a chunk over 64 KiB",
    (world) => world.send(FRAME, transferId(), chunk(new Uint8Array(65_537))),
  ],
  [
    "a payload over 1 MiB",
    (world) =>
      world.send(FRAME, transferId(), {
        step: "commit",
        more: "x".repeat(1_048_576),
      }),
  ],
];

for (const [what, cut] of cuts) {
  Deno.test(`${what} ends a preparation step before it is applied, and frees its place`, () =>
    inBoundWorld(async (world) => {
      await begun(world);
      await cut(world);
      assertEquals(await world.reply(RESULT, transferId()), invalid);
      world.send(FRAME, transferId(), { step: "commit" });
      assertEquals(await world.reply(RESULT, transferId()), unavailable);
      await world.quiet();
      assertEquals(world.unread(), []);
      assertEquals(world.tree(), []);
      const next = fileBegin(PATH, content);
      assertEquals(
        (await step(world, next, transferId(2), content)).outcome,
        "completed",
      );
    }));
}

Deno.test("a begin is for the bound Environment and Session, well formed, with a canonical id", () =>
  inBoundWorld(async (world) => {
    const foreign = "44444444-4444-4444-8444-444444444444";
    const rows: readonly (readonly [Record<string, unknown>, unknown])[] = [
      [{ environment_id: foreign }, unavailable],
      [{ session_id: foreign }, unavailable],
      [{ session_id: "session" }, invalid],
      [{ action: "remove" }, invalid],
      [{ size_bytes: 52_428_801 }, invalid],
      [{ sha256: "A".repeat(64) }, invalid],
      [{ slot: 1 }, invalid],
      [{ offset: 1 }, invalid],
      [{ file: { path: "/workspace/../x" } }, invalid],
      [{ budget_ms: 0 }, invalid],
      [{ budget_ms: 1_800_001 }, invalid],
    ];
    for (const [index, [changes, expected]] of rows.entries()) {
      const id = transferId(index + 1);
      world.send(FRAME, id, fileBegin(PATH, content, changes));
      assertEquals(await world.reply(RESULT, id), expected);
    }
    for (const id of ["", "step", "00000000-0000-0000-0000-000000000000"]) {
      world.send(FRAME, id, fileBegin(PATH, content));
    }
    await world.quiet();
    assertEquals(world.unread(), []);
    assertEquals(world.world.router.status().services.transfer, false);
  }));

Deno.test("one step at a time; a malformed frame of another id does not touch it", () =>
  inBoundWorld(async (world) => {
    await begun(world);
    world.send(FRAME, transferId(2), fileBegin("/workspace/b", content));
    assertEquals(await world.reply(RESULT, transferId(2)), {
      outcome: "rejected",
      error_code: "runtime_preparation_capacity",
    });
    world.send(FRAME, transferId(2), { step: "commit" });
    assertEquals(await world.reply(RESULT, transferId(2)), unavailable);
    world.send(FRAME, transferId(2), { step: "begin" });
    assertEquals(await world.reply(RESULT, transferId(2)), invalid);
    await world.body(FRAME, transferId(), content);
    world.send(FRAME, transferId(), { step: "commit" });
    const { outcome } = await world.reply(RESULT, transferId());
    assertEquals(outcome, "completed");
  }));

Deno.test("a budget of its own replaces the 120 seconds", () =>
  inBoundWorld(async (world) => {
    const begin = fileBegin(PATH, content, { budget_ms: 300_000 });
    world.send(FRAME, transferId(), begin);
    await world.reply(RESULT, transferId());
    await world.world.advance(299_999);
    assertEquals(world.unread(), []);
    await world.world.advance(1);
    assertEquals(await world.reply(RESULT, transferId()), invalid);
  }));

Deno.test("a ready or received that is lost ends the step", async () => {
  for (const lost of ["ready", "received"]) {
    await inBoundWorld(async (world) => {
      const { connection } = world.world;
      if (lost === "received") await begun(world);
      connection.fail(frameOf(RESULT));
      if (lost === "ready") {
        world.send(FRAME, transferId(), fileBegin(PATH, content));
      } else world.send(FRAME, transferId(), chunk());
      await settleEvents();
      connection.heal();
      world.send(FRAME, transferId(), { step: "commit" });
      assertEquals(await world.reply(RESULT, transferId()), unavailable);
      assertEquals(world.tree(), []);
      assertEquals(world.world.router.status().services.transfer, false);
    });
  }
});

Deno.test("a peer that sends chunks and reads no receipts loses the step, not the daemon's memory", () =>
  inBoundWorld(async (world) => {
    const { connection } = world.world;
    const data = new Uint8Array(1_000);
    world.send(FRAME, transferId(), fileBegin(PATH, data));
    await world.reply(RESULT, transferId());
    await settleEvents();
    connection.hold(frameOf(RESULT));
    for (let offset = 0; offset < 300; offset++) {
      world.send(FRAME, transferId(), chunk(data.subarray(0, 1), offset));
    }
    assertEquals(connection.waiting <= 257, true);
    connection.release();
    for (let offset = 1; offset <= 256; offset++) {
      assertEquals((await world.reply(RESULT, transferId())).offset, offset);
    }
    assertEquals(await world.reply(RESULT, transferId()), invalid);
  }));

Deno.test("refusals to a peer that does not read are dropped, not piled up", () =>
  inBoundWorld(async (world) => {
    const { connection } = world.world;
    connection.hold(frameOf(RESULT));
    for (let number = 0; number < 600; number++) {
      world.send(FRAME, transferId(number), { step: "commit" });
    }
    await settleEvents();
    assertEquals(connection.waiting <= 256, true);
    connection.release();
  }));

type Outcome = Awaited<ReturnType<ApplyStep>>;

/** A step whose application a test settles. */
function gated() {
  const results: Deferred<Outcome>[] = [];
  const signals: AbortSignal[] = [];
  const applyStep: ApplyStep = (_begin, _body, signal) => {
    const result = deferred<Outcome>();
    results.push(result);
    signals.push(signal);
    return result.promise;
  };
  return { results, signals, options: { parts: () => ({ applyStep }) } };
}

const outcomes: readonly (readonly [string, Outcome, boolean, unknown])[] = [
  ["done", { outcome: "completed", value: undefined }, false, {
    outcome: "completed",
  }],
  ["a failure", { outcome: "refused", value: {} }, false, failed],
  ["exit code 1", { outcome: "refused", value: { exitCode: 1 } }, false, {
    ...failed,
    exit_code: 1,
  }],
  ["exit code 255", { outcome: "refused", value: { exitCode: 255 } }, false, {
    ...failed,
    exit_code: 255,
  }],
  [
    "done in spite of a cancellation",
    { outcome: "completed", value: undefined },
    true,
    { outcome: "completed" },
  ],
];

for (const [what, outcome, cancelled, expected] of outcomes) {
  Deno.test(`${what}: the application's outcome goes out as it is, and the place is free`, () => {
    const gate = gated();
    return inBoundWorld(async (world) => {
      const setup = { action: "setup", command: "true" };
      world.send(FRAME, transferId(), initializeBegin(setup));
      await world.reply(RESULT, transferId());
      world.send(FRAME, transferId(), { step: "commit" });
      if (cancelled) {
        await world.world.advance(120_000);
        assertEquals(gate.signals[0]?.aborted, true);
        assertEquals(world.unread(), [], "it is owned until it returned");
      }
      gate.results[0]?.resolve(outcome);
      assertEquals(await world.reply(RESULT, transferId()), expected);
      assertEquals(world.world.router.status().services.transfer, false);
    }, gate.options);
  });
}

const uncertain: readonly (readonly [
  string,
  boolean,
  (result: Deferred<Outcome>) => void,
])[] = [
  ["an unknown outcome", false, (r) => r.resolve({ outcome: "unknown" })],
  ["an unexpected error", false, (r) => r.reject(new Error("bug"))],
  [
    "a failure beside a cancellation",
    true,
    (r) => r.resolve({ outcome: "refused", value: { exitCode: 1 } }),
  ],
];

for (const [what, cancelled, settle] of uncertain) {
  Deno.test(`${what} is unknown and keeps the place: nothing new begins and no shutdown is confirmed`, () => {
    const gate = gated();
    return inBoundWorld(async (world) => {
      const setup = { action: "setup", command: "true" };
      world.send(FRAME, transferId(), initializeBegin(setup));
      await world.reply(RESULT, transferId());
      world.send(FRAME, transferId(), { step: "commit" });
      if (cancelled) await world.world.advance(120_000);
      const [result] = gate.results;
      if (result !== undefined) settle(result);
      assertEquals(await world.reply(RESULT, transferId()), unconfirmed);
      await settleEvents();
      const { unknownOwners } = world.world.router.status();
      assertEquals(unknownOwners.map(({ owner }) => owner), [
        "runtime preparation",
      ]);
      world.send(FRAME, transferId(2), fileBegin(PATH, content));
      assertEquals(
        (await world.reply(RESULT, transferId(2))).error_code,
        "runtime_preparation_capacity",
      );
      world.send("workspace_write", transferId(3), writeBegin("a", content));
      assertEquals(
        await world.reply("workspace_write_result", transferId(3)),
        unavailable,
      );
      world.send("execution_prepare", "p", localPayload());
      assertEquals(
        (await world.reply("preparation_status", "p")).error_code,
        "resource_unavailable",
      );
      await assertRejects(
        () => world.world.router.shutdown(),
        ShutdownUnconfirmed,
      );
      throw new Expected();
    }, gate.options).catch((error) => {
      if (!(error instanceof Expected)) throw error;
    });
  });
}

/** Ends a world whose shutdown can never be confirmed. */
class Expected extends Error {}

Deno.test("a shutdown drops a body that was not committed, and waits for an application", async () => {
  await inBoundWorld(async (world) => {
    await begun(world);
    await world.body(FRAME, transferId(), content);
    world.world.connection.end();
    await world.world.router.shutdown();
    assertEquals(world.tree(), []);
  });
  const gate = gated();
  await inBoundWorld(async (world) => {
    await begun(world);
    await world.body(FRAME, transferId(), content);
    world.send(FRAME, transferId(), { step: "commit" });
    world.world.connection.end();
    let ended = false;
    const shutdown = world.world.router.shutdown().then(() => (ended = true));
    await settleEvents();
    assertEquals([ended, gate.signals[0]?.aborted], [false, true]);
    gate.results[0]?.resolve({ outcome: "completed", value: undefined });
    await shutdown;
  }, gate.options);
});

Deno.test("the whole initialization ends with a seal; after it every step fails and a repeat does not", () =>
  inBoundWorld(async (world) => {
    const finalize = {
      step: "begin",
      environment_id: ENVIRONMENT,
      session_id: SESSION,
      action: "finalize",
      sources: {},
    };
    const configure = { action: "configure", env: { GREETING: "hi" } };
    const write = { action: "setup", command: 'printf %s "$GREETING" > made' };
    assertEquals(
      await step(world, initializeBegin(configure), transferId(1)),
      { outcome: "completed" },
    );
    assertEquals(await step(world, initializeBegin(write), transferId(2)), {
      outcome: "completed",
    });
    assertEquals(Deno.readTextFileSync(world.path("made")), "hi");
    const exit = { action: "setup", command: "exit 7" };
    assertEquals(await step(world, initializeBegin(exit), transferId(3)), {
      ...failed,
      exit_code: 7,
    });
    assertEquals(
      await step(world, initializeBegin(configure), transferId(4)),
      failed,
      "variables are configured once",
    );
    assertEquals(await step(world, finalize, transferId(5)), {
      outcome: "completed",
    });
    assertEquals(
      await step(world, initializeBegin(write), transferId(6)),
      failed,
    );
    assertEquals(
      await step(world, fileBegin(PATH, content), transferId(7), content),
      failed,
    );
    assertEquals(await step(world, finalize, transferId(8)), {
      outcome: "completed",
    });
    const other = { ...finalize, sources: { directories: ["/workspace/x"] } };
    assertEquals(await step(world, other, transferId(9)), failed);
    world.send("execution_prepare", "p", localPayload());
    await world.reply("preparation_status", "p");
    assertEquals((await world.reply("preparation_status", "p")).state, "ready");
    const { environment } = world.world.factory.executor.configuration;
    assertEquals(
      environment.kind === "local" &&
        environment.toolEnvironment["GREETING"],
      "hi",
    );
  }));
