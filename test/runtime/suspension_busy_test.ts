// The row of the exclusion matrix about a quiesce: each kind of present work, on real files.
import { assertEquals } from "@std/assert";
import { deferred } from "../../src/platform/deferred.ts";
import { settleEvents } from "../support/virtual_clock.ts";
import { faultyAccess } from "../workspace/faulty_access.ts";
import {
  type BoundWorld,
  bytes,
  ENVIRONMENT,
  fileBegin,
  inBoundWorld,
  localPayload,
  transferId,
  writeBegin,
} from "./bound_world.ts";
import {
  accepted,
  idleExecutor,
  RecordingControl,
  refused,
  suspension,
} from "./suspension_world.ts";
import { input } from "./world.ts";

const content = bytes("hello");

/** Begins work; returns how it ends. */
type Present = (world: BoundWorld) => Promise<() => Promise<void> | void>;

/** Prepares the bound Session up to `ready`. */
// deno-lint-ignore no-explicit-any -- the status frame's payload
async function ready(world: BoundWorld): Promise<any> {
  world.send("execution_prepare", "p", localPayload());
  await world.reply("preparation_status", "p");
  return await world.reply("preparation_status", "p");
}

async function running(world: BoundWorld): Promise<() => void> {
  const { handle, executor_id } = await ready(world);
  const start = { handle, executor_id, run_id: "run", input: input() };
  world.send("execution_start", "p", start);
  await world.reply("preparation_status", "p");
  await world.reply("preparation_status", "p");
  await settleEvents();
  return () => world.world.factory.executor.turn.finish();
}

/** Releases a handle and waits for the word about it. */
async function release(world: BoundWorld, id: string, handle: string) {
  world.send("execution_release", id, { handle });
  await world.reply("preparation_status", id);
}

const present: Readonly<Record<string, Present>> = {
  async "a transfer"(world) {
    const id = transferId(90);
    world.send("runtime_prepare", id, fileBegin("/workspace/t", content));
    await world.reply("runtime_prepare_result", id);
    return async () => {
      world.send("runtime_prepare", id, { step: "commit" });
      await world.reply("runtime_prepare_result", id);
    };
  },
  async "a write"(world) {
    const id = transferId(91);
    world.send("workspace_write", id, writeBegin("w", content));
    await world.reply("workspace_write_result", id);
    return async () => {
      world.send("workspace_write", id, { step: "commit" });
      await world.reply("workspace_write_result", id);
    };
  },
  async "a Run"(world) {
    return await running(world);
  },
  async "an open permission"(world) {
    const end = await running(world);
    const { turn } = world.world.factory.executor;
    await turn.emit({
      type: "permission_request",
      payload: { request_id: "ask", tool: "Bash", title: "run it" },
    });
    return end;
  },
  async "a preparation"(world) {
    const gate = deferred<void>();
    const { factory } = world.world;
    factory.prepareGate = gate;
    world.send("execution_prepare", "p", localPayload());
    const { handle } = await world.reply("preparation_status", "p");
    return async () => {
      gate.resolve();
      await world.reply("preparation_status", "p");
      await release(world, "p", handle);
    };
  },
  async "an admitted Executor"(world) {
    const { handle } = await ready(world);
    return () => release(world, "p", handle);
  },
  async "a read-only handle"(world) {
    const handle = await world.handle("lent");
    return () => release(world, "lent", handle);
  },
};

async function quiesce(world: BoundWorld, id: string): Promise<unknown> {
  world.send("environment_quiesce", id, suspension());
  return await world.reply("environment_quiesced", id);
}

for (const [what, begin] of Object.entries(present)) {
  Deno.test(`a quiesce beside ${what} is resource_busy, and accepted after its end`, () =>
    inBoundWorld(async (world) => {
      const end = await begin(world);
      assertEquals(await quiesce(world, "q"), refused("resource_busy"));
      assertEquals(world.world.router.status().phase, "open");
      await end();
      await world.quiet();
      assertEquals(await quiesce(world, "later"), accepted);
    }, { suspension: new RecordingControl() }));
}

for (const what of ["read", "export"] as const) {
  Deno.test(`a quiesce beside ${what === "read" ? "a read" : "an export"} is resource_busy, and accepted after its end`, async () => {
    const gate = deferred<void>();
    const access = faultyAccess({
      async *names(real) {
        await gate.promise;
        yield* real.names();
      },
    });
    await inBoundWorld(async (world) => {
      Deno.mkdirSync(world.path("outputs"));
      const handle = await world.handle("lent");
      const target = { handle, environment_id: ENVIRONMENT };
      world.send(
        `workspace_${what}`,
        what,
        what === "export" ? { step: "begin", ...target } : {
          operation: "directory",
          ...target,
          path: "",
          max_bytes: 0,
          max_entries: 1,
        },
      );
      await settleEvents();
      assertEquals(await quiesce(world, "q"), refused("resource_busy"));
      gate.resolve();
      world.send("execution_release", "lent", { handle });
      await world.quiet();
      assertEquals(await quiesce(world, "later"), accepted);
    }, { access, suspension: new RecordingControl() });
  });
}

Deno.test("a quiesce beside an idle Executor of the Environment is accepted; beside one that died it is not", async () => {
  await inBoundWorld(async (world) => {
    await idleExecutor(world);
    assertEquals(await quiesce(world, "q"), accepted);
  }, { suspension: new RecordingControl() });
  await inBoundWorld(async (world) => {
    await idleExecutor(world);
    const { executor } = world.world.factory;
    executor.onClose = "refuse";
    executor.retire();
    await settleEvents();
    assertEquals(await quiesce(world, "q"), refused("resource_busy"));
    executor.onClose = "confirm";
  }, { suspension: new RecordingControl() });
});
