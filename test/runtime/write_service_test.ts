// `workspace_write` through the router and into real files: each row of its table of replies, and
// that a refused or cut write leaves nothing.
import { assertEquals, assertRejects } from "@std/assert";
import { deferred } from "../../src/platform/deferred.ts";
import { ShutdownUnconfirmed } from "../../src/runtime/router_shutdown.ts";
import { DescentError } from "../../src/workspace/directory.ts";
import { settleEvents } from "../support/virtual_clock.ts";
import { faultyAccess } from "../workspace/faulty_access.ts";
import { makeFifo } from "../workspace/support.ts";
import {
  base64,
  type BoundWorld,
  bytes,
  ENVIRONMENT,
  fileBegin,
  inBoundWorld,
  localPayload,
  transferId,
  writeBegin,
} from "./bound_world.ts";
import { frameOf } from "./fake_connection.ts";
import { input } from "./world.ts";

const FRAME = "workspace_write";
const RESULT = "workspace_write_result";
const content = bytes("hello world");
const invalid = { outcome: "rejected", error_code: "invalid_request" };
const unavailable = {
  outcome: "rejected",
  error_code: "resource_unavailable",
};
const unconfirmed = { outcome: "unknown", error_code: "write_unconfirmed" };

/** Begins a write of `content` under an id. */
async function begun(world: BoundWorld, id = transferId()): Promise<void> {
  world.send(FRAME, id, writeBegin("dir/file", content));
  assertEquals(await world.reply(RESULT, id), { outcome: "ready" });
}

function chunk(data = content, offset = 0): unknown {
  return { step: "chunk", offset, data: base64(data) };
}

Deno.test("nothing is written before the commit, and then exactly the bytes, private", () =>
  inBoundWorld(async (world) => {
    const id = transferId();
    await begun(world);
    world.send(FRAME, id, writeBegin("dir/file", content)); // a repeat is not answered
    world.send(FRAME, id, chunk(content.subarray(0, 5)));
    assertEquals(await world.reply(RESULT, id), {
      outcome: "received",
      offset: 5,
    });
    world.send(FRAME, id, chunk(content.subarray(5), 5));
    assertEquals(await world.reply(RESULT, id), {
      outcome: "received",
      offset: 11,
    });
    assertEquals(world.tree(), []);
    world.send(FRAME, id, { step: "commit" });
    assertEquals(await world.reply(RESULT, id), {
      outcome: "completed",
      size_bytes: 11,
    });
    await world.quiet();
    assertEquals(world.unread(), []);
    assertEquals(world.tree(), ["dir", "dir/file"]);
    assertEquals(Deno.readFileSync(world.path("dir", "file")), content);
    const mode = (...names: string[]) =>
      (Deno.lstatSync(world.path(...names)).mode ?? 0) & 0o777;
    assertEquals([mode("dir"), mode("dir", "file")], [0o700, 0o600]);
    const empty = await world.write("empty", bytes(""), transferId(2));
    assertEquals(empty, { outcome: "completed" });
    assertEquals(Deno.readFileSync(world.path("empty")), bytes(""));
  }));

const cuts: readonly (readonly [string, (world: BoundWorld) => unknown])[] = [
  ["a gap", (world) => world.send(FRAME, transferId(), chunk(content, 1))],
  [
    "one byte too many",
    (world) =>
      world.send(FRAME, transferId(), chunk(bytes(`${"x".repeat(12)}`))),
  ],
  [
    "an early commit",
    (world) => world.send(FRAME, transferId(), { step: "commit" }),
  ],
  ["the time", (world) => world.world.advance(120_000)],
  [
    "a malformed frame of its own",
    (world) => world.send(FRAME, transferId(), { step: "chunk", data: "!" }),
  ],
  [
    "a chunk over 64 KiB",
    (world) => world.send(FRAME, transferId(), chunk(new Uint8Array(65_537))),
  ],
  [
    "a payload over 96 KiB",
    (world) =>
      world.send(FRAME, transferId(), {
        step: "commit",
        more: "x".repeat(98_304),
      }),
  ],
];

for (const [what, cut] of cuts) {
  Deno.test(`${what} ends a write before anything is written, and frees its place`, () =>
    inBoundWorld(async (world) => {
      await begun(world);
      await cut(world);
      assertEquals(await world.reply(RESULT, transferId()), invalid);
      world.send(FRAME, transferId(), { step: "commit" });
      assertEquals(await world.reply(RESULT, transferId()), unavailable);
      assertEquals(world.tree(), []);
      const next = await world.write("dir/file", content, transferId(2));
      assertEquals(next, { outcome: "completed", size_bytes: 11 });
    }));
}

Deno.test("another digest is refused at the commit", () =>
  inBoundWorld(async (world) => {
    const id = transferId();
    world.send(FRAME, id, writeBegin("f", content, { sha256: "0".repeat(64) }));
    await world.reply(RESULT, id);
    await world.body(FRAME, id, content);
    world.send(FRAME, id, { step: "commit" });
    assertEquals(await world.reply(RESULT, id), invalid);
    assertEquals(world.tree(), []);
  }));

const malformed: readonly (readonly [string, Record<string, unknown>])[] = [
  ["an absolute path", { path: "/a" }],
  ["an empty name", { path: "a//b" }],
  ["a parent", { path: "a/../b" }],
  ["a dot", { path: "." }],
  ["a trailing slash", { path: "a/" }],
  ["a backslash", { path: "a\\b" }],
  ["a line end", { path: "a\nb" }],
  ["no path", { path: "" }],
  ["4097 bytes of path", { path: "a/".repeat(2048) + "b" }],
  ["a name over 255 bytes", { path: "x".repeat(256) }],
  ["a digest in capitals", { sha256: "A".repeat(64) }],
  ["50 MiB and a byte", { size_bytes: 52_428_801 }],
  ["data at the begin", { data: base64(content) }],
  ["an offset at the begin", { offset: 1 }],
  ["a Session that is no UUID", { session_id: "session" }],
  ["an unknown step", { step: "append" }],
];

Deno.test("a malformed begin is an invalid request; without a canonical id it is not answered", () =>
  inBoundWorld(async (world) => {
    for (const [index, [what, changes]] of malformed.entries()) {
      const id = transferId(index + 1);
      world.send(FRAME, id, writeBegin("a", content, changes));
      assertEquals(await world.reply(RESULT, id), invalid, what);
    }
    for (
      const id of ["", "write", "AAAAAAAA-AAAA-4AAA-8AAA-AAAAAAAAAAAA"]
    ) world.send(FRAME, id, writeBegin("a", content));
    await world.quiet();
    assertEquals(world.unread(), []);
    assertEquals(world.world.router.status().services.write, false);
  }));

Deno.test("a write is for the bound Environment and Session only", () =>
  inBoundWorld(async (world) => {
    const foreign = "44444444-4444-4444-8444-444444444444";
    for (const member of ["environment_id", "session_id"]) {
      world.send(
        FRAME,
        transferId(),
        writeBegin("a", content, { [member]: foreign }),
      );
      assertEquals(await world.reply(RESULT, transferId()), unavailable);
    }
  }));

const destinations: readonly (readonly [
  string,
  (world: BoundWorld) => void,
  string | undefined,
])[] = [
  [
    "a directory",
    (world) => Deno.mkdirSync(world.path("dir", "file")),
    "destination_directory",
  ],
  [
    "a file",
    (world) => Deno.writeTextFileSync(world.path("dir", "file"), "old"),
    "unsafe_destination",
  ],
  [
    "a link",
    (world) => Deno.symlinkSync("elsewhere", world.path("dir", "file")),
    "unsafe_destination",
  ],
  [
    "a FIFO",
    (world) => makeFifo(world.path("dir", "file")),
    "unsafe_destination",
  ],
  ["a file as parent", (world) => {
    Deno.removeSync(world.path("dir"));
    Deno.writeTextFileSync(world.path("dir"), "old");
  }, undefined],
  ["a linked parent", (world) => {
    Deno.removeSync(world.path("dir"));
    Deno.symlinkSync(world.folder, world.path("dir"));
  }, undefined],
];

for (const [what, occupy, reason] of destinations) {
  Deno.test(`${what} in the way refuses a write, changes nothing and frees its place`, () =>
    inBoundWorld(async (world) => {
      Deno.mkdirSync(world.path("dir"));
      occupy(world);
      const before = world.tree();
      const outside = [...Deno.readDirSync(world.folder)].length;
      assertEquals(await world.write("dir/file", content), {
        outcome: "rejected",
        error_code: "write_rejected",
        ...(reason === undefined ? {} : { reason }),
      });
      assertEquals(world.tree(), before);
      assertEquals([...Deno.readDirSync(world.folder)].length, outside);
      const next = await world.write("other", content, transferId(2));
      assertEquals(next.outcome, "completed");
    }));
}

Deno.test("an exchanged workspace is unavailable, and untouched", () =>
  inBoundWorld(async (world) => {
    Deno.renameSync(world.workspace, `${world.workspace}-old`);
    Deno.mkdirSync(world.workspace);
    assertEquals(await world.write("a", content), unavailable);
    assertEquals(world.tree(), []);
  }));

Deno.test("one write at a time; frames of another id have none", () =>
  inBoundWorld(async (world) => {
    await begun(world);
    world.send(FRAME, transferId(2), writeBegin("b", content));
    assertEquals(await world.reply(RESULT, transferId(2)), {
      outcome: "rejected",
      error_code: "write_capacity",
    });
    world.send(FRAME, transferId(2), chunk());
    assertEquals(await world.reply(RESULT, transferId(2)), unavailable);
    world.send(FRAME, transferId(2), { step: "begin" });
    assertEquals(await world.reply(RESULT, transferId(2)), invalid);
    await world.body(FRAME, transferId(), content);
    world.send(FRAME, transferId(), { step: "commit" });
    const { outcome } = await world.reply(RESULT, transferId());
    assertEquals(outcome, "completed");
  }));

Deno.test("the writer of the process takes one write of all connections", async () => {
  const gate = deferred<void>();
  await inBoundWorld(async (first) => {
    await begun(first);
    await first.body(FRAME, transferId(), content);
    first.send(FRAME, transferId(), { step: "commit" });
    await inBoundWorld(async (second) => {
      assertEquals(await second.write("b", content), {
        outcome: "rejected",
        error_code: "write_capacity",
      });
    }, { parts: () => ({ writer: first.parts.writer }) });
    gate.resolve();
    const { outcome } = await first.reply(RESULT, transferId());
    assertEquals(outcome, "completed");
  }, {
    access: faultyAccess({
      async sync(real) {
        await gate.promise;
        await real.sync();
      },
    }),
  });
});

Deno.test("the writer runs without a limit, and late frames of its write are not answered", async () => {
  const gate = deferred<void>();
  await inBoundWorld(async (world) => {
    await begun(world);
    await world.body(FRAME, transferId(), content);
    world.send(FRAME, transferId(), { step: "commit" });
    await world.world.advance(600_000);
    world.send(FRAME, transferId(), { step: "commit" });
    world.send(FRAME, transferId(), chunk());
    world.send(FRAME, transferId(), { step: "chunk", data: "!" });
    await settleEvents();
    assertEquals(world.unread(), []);
    gate.resolve();
    assertEquals(await world.reply(RESULT, transferId()), {
      outcome: "completed",
      size_bytes: 11,
    });
  }, {
    access: faultyAccess({
      async sync(real) {
        await gate.promise;
        await real.sync();
      },
    }),
  });
});

Deno.test("a write without a proof is unknown, keeps its place and says what to do", () => {
  let faults = 1;
  const disk = faultyAccess({
    sync: (real) =>
      faults-- > 0 ? Promise.reject(new DescentError("failed")) : real.sync(),
  });
  return inBoundWorld(async (world) => {
    assertEquals(await world.write("dir/file", content), unconfirmed);
    const { services, unknownOwners } = world.world.router.status();
    assertEquals(services.write, true);
    assertEquals(unknownOwners.map(({ owner }) => owner), ["workspace write"]);
    assertEquals(unknownOwners[0]?.remedy.includes("restart"), true);
    world.send(FRAME, transferId(2), writeBegin("b", content));
    assertEquals(
      (await world.reply(RESULT, transferId(2))).error_code,
      "write_capacity",
    );
    world.send(
      "runtime_prepare",
      transferId(3),
      fileBegin("/workspace/c", content),
    );
    assertEquals(
      await world.reply("runtime_prepare_result", transferId(3)),
      unavailable,
    );
    world.send("execution_prepare", "p", localPayload());
    assertEquals(
      (await world.reply("preparation_status", "p")).error_code,
      "resource_unavailable",
    );
    await inBoundWorld(async (later) => {
      assertEquals(
        await later.write("b", content),
        unconfirmed,
        "a later connection of the process",
      );
      await assertRejects(
        () => later.world.router.shutdown(),
        ShutdownUnconfirmed,
      );
      throw new Expected();
    }, { parts: () => ({ writer: world.parts.writer }) }).catch(expected);
    await assertRejects(
      () => world.world.router.shutdown(),
      ShutdownUnconfirmed,
    );
    throw new Expected();
  }, { access: disk }).catch(expected);
});

/** Ends a world whose shutdown can never be confirmed. */
class Expected extends Error {}

function expected(error: unknown): void {
  if (!(error instanceof Expected)) throw error;
}

Deno.test("a receipt that is lost does not end a write; the terminal result finds a free place", () =>
  inBoundWorld(async (world) => {
    const { connection } = world.world;
    connection.fail(frameOf(RESULT));
    world.send(FRAME, transferId(), writeBegin("dir/file", content));
    await settleEvents();
    world.send(FRAME, transferId(), chunk());
    await settleEvents();
    connection.heal();
    const held = deferred<void>();
    connection.hold((envelope) => {
      held.resolve();
      return envelope.type === RESULT;
    });
    world.send(FRAME, transferId(), { step: "commit" });
    await held.promise;
    assertEquals(world.world.router.status().services.write, false);
    connection.release();
    const { outcome } = await world.reply(RESULT, transferId());
    assertEquals(outcome, "completed");
  }));

Deno.test("a shutdown ends a body that was not committed, and waits for a writer that runs", async () => {
  await inBoundWorld(async (world) => {
    await begun(world);
    await world.body(FRAME, transferId(), content);
    world.world.connection.end();
    await world.world.router.shutdown();
    assertEquals(world.tree(), []);
  });
  const gate = deferred<void>();
  await inBoundWorld(async (world) => {
    await begun(world);
    await world.body(FRAME, transferId(), content);
    world.send(FRAME, transferId(), { step: "commit" });
    world.world.connection.end();
    let ended = false;
    const shutdown = world.world.router.shutdown().then(() => (ended = true));
    await world.world.advance(600_000);
    assertEquals(ended, false);
    gate.resolve();
    await shutdown;
    assertEquals(world.tree(), ["dir", "dir/file"]);
  }, {
    access: faultyAccess({
      async sync(real) {
        await gate.promise;
        await real.sync();
      },
    }),
  });
});

Deno.test("an idle Executor lets a write begin, and then no Turn starts before its end", () =>
  inBoundWorld(async (world) => {
    world.send("execution_prepare", "p", localPayload());
    await world.reply("preparation_status", "p");
    const ready = await world.reply("preparation_status", "p");
    world.send("execution_release", "p", { handle: ready.handle });
    await world.reply("preparation_status", "p");
    await settleEvents();
    await begun(world);
    world.send("execution_prepare", "q", localPayload());
    assertEquals(
      (await world.reply("preparation_status", "q")).error_code,
      "resource_unavailable",
    );
    world.send("execution_start", "p", {
      executor_id: ready.executor_id,
      handle: ready.handle,
      run_id: "run",
      input: input(),
    });
    assertEquals(
      (await world.reply("preparation_status", "p")).state,
      "rejected",
    );
    await world.handle(); // the read-only profile is not excluded
    await world.body(FRAME, transferId(), content);
    world.send(FRAME, transferId(), { step: "commit" });
    await world.reply(RESULT, transferId());
    world.send("execution_prepare", "q", localPayload());
    assertEquals((await world.reply("preparation_status", "q")).state, "ready");
    assertEquals(world.world.factory.prepares, 1);
    assertEquals(ENVIRONMENT.length, 36);
  }));
