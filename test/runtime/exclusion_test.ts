// The exclusion matrix: what each new request is answered beside each kind of present work.
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
  readOnlyPayload,
  transferId,
  writeBegin,
} from "./bound_world.ts";
import { input } from "./world.ts";

const content = bytes("hello");

/** Present work; returns how it ends. */
type Present = (world: BoundWorld) => Promise<void>;

/** Prepares the bound Session up to `ready`. */
// deno-lint-ignore no-explicit-any -- the status frame's payload
async function ready(world: BoundWorld): Promise<any> {
  world.send("execution_prepare", "p", localPayload());
  await world.reply("preparation_status", "p");
  return await world.reply("preparation_status", "p");
}

async function running(world: BoundWorld): Promise<void> {
  const { handle, executor_id } = await ready(world);
  world.send("execution_start", "p", {
    handle,
    executor_id,
    run_id: "run",
    input: input(),
  });
  await world.reply("preparation_status", "p");
  await world.reply("preparation_status", "p");
  await settleEvents();
}

const present: Readonly<Record<string, Present>> = {
  nothing: () => Promise.resolve(),
  async transfer(world) {
    const id = transferId(90);
    world.send("runtime_prepare", id, fileBegin("/workspace/t", content));
    await world.reply("runtime_prepare_result", id);
  },
  async write(world) {
    const id = transferId(91);
    world.send("workspace_write", id, writeBegin("w", content));
    await world.reply("workspace_write_result", id);
  },
  async export(world) {
    const handle = await world.handle("for-export");
    world.send("workspace_export", "export", {
      step: "begin",
      handle,
      environment_id: ENVIRONMENT,
    });
    await settleEvents();
  },
  async read(world) {
    const handle = await world.handle("for-read");
    world.send("workspace_read", "read", {
      operation: "directory",
      handle,
      environment_id: ENVIRONMENT,
      path: "",
      max_bytes: 0,
      max_entries: 1,
    });
    await settleEvents();
  },
  run: running,
  async preparing(world) {
    await ready(world);
  },
  async idle(world) {
    const { handle } = await ready(world);
    world.send("execution_release", "p", { handle });
    await world.reply("preparation_status", "p");
    await settleEvents();
  },
  async read_only(world) {
    await world.handle("other");
  },
};

/** A new request; the decisive word of its answer. */
const requests: Readonly<
  Record<string, (world: BoundWorld) => Promise<string>>
> = {
  async runtime_prepare(world) {
    const id = transferId(1);
    world.send("runtime_prepare", id, fileBegin("/workspace/n", content));
    const reply = await world.reply("runtime_prepare_result", id);
    return reply.error_code ?? reply.outcome;
  },
  async workspace_write(world) {
    const id = transferId(2);
    world.send("workspace_write", id, writeBegin("n", content));
    const reply = await world.reply("workspace_write_result", id);
    return reply.error_code ?? reply.outcome;
  },
  async execution_prepare(world) {
    world.send("execution_prepare", "new", localPayload());
    const first = await world.reply("preparation_status", "new");
    return first.error_code ?? first.state;
  },
  async read_only_prepare(world) {
    world.send("execution_prepare", "new-reading", readOnlyPayload());
    const first = await world.reply("preparation_status", "new-reading");
    return first.error_code ?? first.state;
  },
};

const RU = "resource_unavailable";
/** Columns in the order of `present`. */
const matrix: Readonly<Record<string, readonly string[]>> = {
  runtime_prepare: [
    "ready",
    "runtime_preparation_capacity",
    RU,
    RU,
    RU,
    RU,
    RU,
    RU,
    RU,
  ],
  workspace_write: [
    "ready",
    RU,
    "write_capacity",
    RU,
    RU,
    RU,
    RU,
    "ready",
    RU,
  ],
  execution_prepare: [
    "preparing",
    RU,
    RU,
    RU,
    "preparing",
    RU,
    RU,
    "ready",
    "preparing",
  ],
  read_only_prepare: [
    "preparing",
    RU,
    "preparing",
    "preparing",
    "preparing",
    "preparing",
    "preparing",
    "preparing",
    "preparing",
  ],
};

for (const [request, answers] of Object.entries(matrix)) {
  for (const [column, expected] of answers.entries()) {
    const [work = "", begin] = Object.entries(present)[column] ?? [];
    Deno.test(`${request} beside ${work}: ${expected}`, async () => {
      const gate = deferred<void>();
      const access = faultyAccess({
        async *names(real) {
          await gate.promise;
          yield* real.names();
        },
      });
      await inBoundWorld(async (world) => {
        Deno.mkdirSync(world.path("outputs"));
        await begin?.(world);
        assertEquals(await requests[request]?.(world), expected);
        gate.resolve();
        world.world.factory.executors.at(-1)?.turns.at(-1)?.finish();
        await settleEvents();
      }, { access });
    });
  }
}
