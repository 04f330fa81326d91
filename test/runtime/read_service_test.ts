// `workspace_read` through the router and from real files: every code, the silent cases, the four
// places, the budget, and what an unknown read does to its owner.
import { assertEquals, assertRejects } from "@std/assert";
import { deferred } from "../../src/platform/deferred.ts";
import { ShutdownUnconfirmed } from "../../src/runtime/router_shutdown.ts";
import { DescentError } from "../../src/workspace/directory.ts";
import { faultyAccess } from "../workspace/faulty_access.ts";
import { makeFifo } from "../workspace/support.ts";
import {
  base64,
  type BoundWorld,
  bytes,
  ENVIRONMENT,
  inBoundWorld,
  localPayload,
  readOnlyPayload,
  transferId,
  writeBegin,
} from "./bound_world.ts";
import { settleEvents } from "../support/virtual_clock.ts";
import { input } from "./world.ts";

const RESULT = "workspace_read_result";

/** A byte read by handle. */
function byteRead(
  handle: string,
  path: string,
  changes: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    handle,
    environment_id: ENVIRONMENT,
    path,
    max_bytes: 16,
    ...changes,
  };
}

/** A listing by handle. */
function listing(
  handle: string,
  path: string,
  changes: Record<string, unknown> = {},
): Record<string, unknown> {
  return byteRead(handle, path, {
    operation: "directory",
    max_bytes: 0,
    max_entries: 16,
    ...changes,
  });
}

let asked = 0;

/** One request under a fresh id, and its answer. */
function ask(
  world: BoundWorld,
  payload: unknown,
  id = `op-${++asked}`,
  // deno-lint-ignore no-explicit-any -- assertions look into the payload
): Promise<any> {
  world.send("workspace_read", id, payload);
  return world.reply(RESULT, id);
}

function populate(world: BoundWorld): void {
  Deno.writeTextFileSync(world.path("a.txt"), "abc");
  Deno.writeTextFileSync(world.path("empty"), "");
  Deno.mkdirSync(world.path("dir"));
  Deno.writeTextFileSync(world.path("dir", "b.bin"), "0123456789");
  Deno.symlinkSync("a.txt", world.path("link"));
  Deno.symlinkSync("dir", world.path("dirlink"));
  makeFifo(world.path("fifo"));
}

const byteRows: readonly (readonly [string, string, number, unknown])[] = [
  ["a whole file", "a.txt", 3, {
    outcome: "completed",
    data: base64(bytes("abc")),
    close_acknowledged: true,
  }],
  ["a beginning", "dir/b.bin", 4, {
    outcome: "completed",
    data: base64(bytes("0123")),
    truncated: true,
    close_acknowledged: true,
  }],
  ["an empty file", "empty", 4, {
    outcome: "completed",
    close_acknowledged: true,
  }],
  ["a missing file", "absent", 1, rejected("not_found")],
  ["a missing parent", "absent/a", 1, rejected("not_found")],
  ["a file as parent", "a.txt/b", 1, rejected("not_found")],
  ["a directory", "dir", 1, rejected("invalid_request")],
  ["a link", "link", 1, rejected("invalid_request")],
  ["a linked parent", "dirlink/b.bin", 1, rejected("invalid_request")],
  ["a FIFO", "fifo", 1, rejected("invalid_request")],
  ["a path that leaves", "../a", 1, rejected("invalid_request")],
  ["an absolute path", "/a.txt", 1, rejected("invalid_request")],
  ["the root", "", 1, rejected("invalid_request")],
  ["an over-long name", "x".repeat(256), 1, rejected("invalid_request")],
];

function rejected(code: string): unknown {
  return { outcome: "rejected", error_code: code };
}

Deno.test("a byte read answers each kind of path with its own code", () =>
  inBoundWorld(async (world) => {
    populate(world);
    const handle = await world.handle();
    for (const [what, path, max_bytes, expected] of byteRows) {
      const result = await ask(world, byteRead(handle, path, { max_bytes }));
      assertEquals(result, expected, what);
    }
    assertEquals(world.world.factory.prepares, 0);
  }));

const listRows: readonly (readonly [string, string, unknown])[] = [
  ["a directory", "dir", {
    outcome: "completed",
    close_acknowledged: true,
    directory: {
      entries: [{ name: "b.bin", kind: "file", size_bytes: 10 }],
      truncated: false,
    },
  }],
  ["a missing one", "absent", rejected("not_directory")],
  ["a file", "a.txt", rejected("not_directory")],
  ["a link", "dirlink", rejected("not_directory")],
  ["a linked parent", "dirlink/x", rejected("not_directory")],
  ["a path that leaves", "../x", rejected("invalid_request")],
  ["a dot", ".", rejected("invalid_request")],
];

Deno.test("a listing answers each kind of path with its own code", () =>
  inBoundWorld(async (world) => {
    populate(world);
    const handle = await world.handle();
    for (const [what, path, expected] of listRows) {
      assertEquals(await ask(world, listing(handle, path)), expected, what);
    }
    const root = await ask(world, listing(handle, "", { max_entries: 2 }));
    assertEquals(root.directory.entries.length, 2);
    assertEquals(root.directory.truncated, true);
    const whole = await ask(world, listing(handle, ""));
    assertEquals(
      whole.directory.entries.map((entry: { name: string; kind: string }) =>
        `${entry.name} ${entry.kind}`
      ),
      [
        "a.txt file",
        "dir directory",
        "dirlink symlink",
        "empty file",
        "fifo other",
        "link symlink",
      ],
    );
  }));

Deno.test("a name that the wire cannot carry refuses the whole listing", () =>
  inBoundWorld(async (world) => {
    const handle = await world.handle();
    Deno.writeTextFileSync(world.path("line\nbreak"), "");
    assertEquals(
      await ask(world, listing(handle, "")),
      rejected("invalid_request"),
    );
  }));

Deno.test("a read needs its Environment and an owner that is open", () =>
  inBoundWorld(async (world) => {
    populate(world);
    const handle = await world.handle();
    const foreign = "44444444-4444-4444-8444-444444444444";
    for (
      const payload of [
        byteRead("absent", "a.txt"),
        byteRead(handle, "a.txt", { environment_id: foreign }),
        {
          run_id: "absent",
          environment_id: ENVIRONMENT,
          path: "a.txt",
          max_bytes: 1,
        },
      ]
    ) assertEquals(await ask(world, payload), rejected("resource_unavailable"));
    world.send("execution_release", "read-only", { handle });
    await world.reply("preparation_status", "read-only");
    assertEquals(
      await ask(world, byteRead(handle, "a.txt")),
      rejected("resource_unavailable"),
    );
  }));

const malformed: readonly (readonly [string, Record<string, unknown>])[] = [
  ["two targets", { run_id: "run" }],
  ["no target", { handle: null }],
  ["an empty Environment", { environment_id: "" }],
  ["no bytes", { max_bytes: 0 }],
  ["too many bytes", { max_bytes: 1_048_577 }],
  ["entries of a byte read", { max_entries: 1 }],
  ["an unknown operation", { operation: "list" }],
  ["bytes of a listing", { operation: "directory", max_entries: 1 }],
  ["no entries", { operation: "directory", max_bytes: 0, max_entries: 0 }],
  ["too many entries", {
    operation: "directory",
    max_bytes: 0,
    max_entries: 1025,
  }],
  ["8 KiB and more", { path: "x".repeat(8_192) }],
];

Deno.test("a malformed read is an invalid request, and an id over 128 bytes gets no answer", () =>
  inBoundWorld(async (world) => {
    populate(world);
    const handle = await world.handle();
    for (const [what, changes] of malformed) {
      const result = await ask(world, byteRead(handle, "a.txt", changes));
      assertEquals(result, rejected("invalid_request"), what);
    }
    world.send("workspace_read", " ", byteRead(handle, "a.txt"));
    assertEquals(await world.reply(RESULT, " "), rejected("invalid_request"));
    world.send("workspace_read", "x".repeat(129), byteRead(handle, "a.txt"));
    await world.quiet();
    assertEquals(world.unread(), []);
    const longest = "x".repeat(128);
    assertEquals(
      (await ask(world, byteRead(handle, "a.txt"), longest)).outcome,
      "completed",
    );
  }));

Deno.test("a trace is repeated up to 256 bytes and never beyond", () =>
  inBoundWorld(async (world) => {
    populate(world);
    const handle = await world.handle();
    for (const [length, repeated] of [[256, true], [257, false]] as const) {
      const trace = "t".repeat(length);
      world.world.receive({
        type: "workspace_read",
        id: `t${length}`,
        trace,
        payload: byteRead(handle, "a.txt"),
      });
      await world.reply(RESULT, `t${length}`);
      const frame = world.world.frames.at(-1);
      assertEquals(frame?.trace, repeated ? trace : undefined);
    }
  }));

Deno.test("what the system denies is denied, and a read that fails is unknown", () =>
  inBoundWorld(async (world) => {
    populate(world);
    const handle = await world.handle();
    assertEquals(
      await ask(world, byteRead(handle, "a.txt")),
      rejected("permission_denied"),
    );
    assertEquals(
      await ask(world, listing(handle, "dir")),
      rejected("permission_denied"),
    );
    assertEquals(
      await ask(world, listing(handle, "")),
      { outcome: "unknown", error_code: "read_unconfirmed" },
    );
    assertEquals(
      await ask(world, byteRead(handle, "a.txt")),
      rejected("resource_unavailable"),
    );
  }, {
    access: faultyAccess({
      openRegular: () => {
        throw new DescentError("denied");
      },
      child: () => {
        throw new DescentError("denied");
      },
      names: () => {
        throw new DescentError("failed");
      },
    }),
  }));

Deno.test("an exchanged workspace is unavailable to reads, and to a new handle", () =>
  inBoundWorld(async (world) => {
    const handle = await world.handle();
    Deno.renameSync(world.workspace, `${world.workspace}-old`);
    Deno.mkdirSync(world.workspace);
    assertEquals(
      await ask(world, byteRead(handle, "a.txt")),
      rejected("resource_unavailable"),
    );
    assertEquals(
      await ask(world, listing(handle, "")),
      rejected("resource_unavailable"),
    );
    world.send("execution_prepare", "second", readOnlyPayload());
    await world.reply("preparation_status", "second");
    const failed = await world.reply("preparation_status", "second");
    assertEquals(
      [failed.state, failed.error_code],
      ["failed", "preparation_failed"],
    );
  }));

Deno.test("the executable handle lends reads until it is started, then the Run does", () =>
  inBoundWorld(async (world) => {
    populate(world);
    world.send("execution_prepare", "prepare", localPayload());
    await world.reply("preparation_status", "prepare");
    const ready = await world.reply("preparation_status", "prepare");
    const { handle, executor_id } = ready;
    assertEquals(
      (await ask(world, byteRead(handle, "a.txt"))).outcome,
      "completed",
    );
    world.send("execution_start", "prepare", {
      executor_id,
      handle,
      run_id: "run",
      input: input(),
    });
    await world.reply("preparation_status", "prepare");
    await world.reply("preparation_status", "prepare");
    await settleEvents();
    assertEquals(
      await ask(world, byteRead(handle, "a.txt")),
      rejected("resource_unavailable"),
    );
    const { handle: _handle, ...byRun } = byteRead(handle, "a.txt");
    const result = await ask(world, { ...byRun, run_id: "run" });
    assertEquals(result.outcome, "completed");
    world.world.factory.executor.turn.finish();
    await world.reply("done", "run");
    await world.quiet();
    assertEquals(
      await ask(world, { ...byRun, run_id: "run" }),
      rejected("resource_unavailable"),
    );
  }));

/** Listings that wait for a gate, as on a dead network file system. */
function slowListings() {
  const gate = deferred<void>();
  const access = faultyAccess({
    async *names(real) {
      await gate.promise;
      yield* real.names();
    },
  });
  return { gate, access };
}

Deno.test("four reads may be pending; a fifth is refused and a repeated id starts nothing", async () => {
  const slow = slowListings();
  await inBoundWorld(async (world) => {
    const handle = await world.handle();
    for (const id of ["1", "2", "3", "4"]) {
      world.send("workspace_read", id, listing(handle, ""));
    }
    assertEquals(
      await ask(world, listing(handle, ""), "5"),
      rejected("read_capacity"),
    );
    world.send("workspace_read", "4", listing(handle, ""));
    assertEquals(world.world.router.status().services.reads, 4);
    slow.gate.resolve();
    for (const id of ["1", "2", "3", "4"]) {
      assertEquals((await world.reply(RESULT, id)).outcome, "completed");
    }
    await world.quiet();
    assertEquals(world.unread(), []);
    assertEquals(
      (await ask(world, listing(handle, ""), "4")).outcome,
      "completed",
    );
  }, { access: slow.access });
});

Deno.test("a read over 12 seconds is unknown, blocks its owner, and stays owned until it returns", async () => {
  const slow = slowListings();
  await inBoundWorld(async (world) => {
    populate(world);
    const handle = await world.handle();
    const other = await world.handle("other");
    world.send("workspace_read", "op", listing(handle, ""));
    await world.world.advance(11_999);
    assertEquals(world.unread(), []);
    await world.world.advance(1);
    assertEquals(await world.reply(RESULT, "op"), {
      outcome: "unknown",
      error_code: "read_unconfirmed",
    });
    assertEquals(
      await ask(world, byteRead(handle, "a.txt"), "later"),
      rejected("resource_unavailable"),
    );
    assertEquals(
      (await ask(world, byteRead(other, "a.txt"), "beside")).outcome,
      "completed",
    );
    await settleEvents();
    const status = world.world.router.status();
    assertEquals(status.services.reads, 1);
    assertEquals(status.unknownOwners.map(({ owner }) => owner), [
      "workspace read",
    ]);
    world.send("execution_release", "read-only", { handle });
    await world.world.advance(10_000);
    const kept = await world.reply("preparation_status", "read-only");
    assertEquals([kept.state, kept.error_code], [
      "failed",
      "cleanup_unconfirmed",
    ]);
    slow.gate.resolve();
    await world.quiet();
    assertEquals(world.world.router.status().unknownOwners, []);
    world.send("execution_release", "read-only", { handle });
    assertEquals(
      (await world.reply("preparation_status", "read-only")).state,
      "released",
    );
  }, { access: slow.access });
});

Deno.test("released is said only when the reads of the handle have closed, and their results are still sent", async () => {
  const slow = slowListings();
  await inBoundWorld(async (world) => {
    const handle = await world.handle();
    world.send("workspace_read", "op", listing(handle, ""));
    world.send("execution_release", "read-only", { handle });
    await world.world.advance(1_000);
    assertEquals(world.unread(), []);
    slow.gate.resolve();
    assertEquals((await world.reply(RESULT, "op")).outcome, "completed");
    assertEquals(
      (await world.reply("preparation_status", "read-only")).state,
      "released",
    );
  }, { access: slow.access });
});

Deno.test("a shutdown waits for a read that the system does not return", async () => {
  const slow = slowListings();
  await inBoundWorld(async (world) => {
    const handle = await world.handle();
    world.send("workspace_read", "op", listing(handle, ""));
    world.world.connection.end();
    let ended = false;
    const shutdown = assertRejects(
      () => world.world.router.shutdown(),
      ShutdownUnconfirmed,
    ).finally(() => (ended = true));
    await world.world.advance(60_000);
    assertEquals(ended, false);
    slow.gate.resolve();
    await shutdown;
  }, { access: slow.access });
});

Deno.test("a read-only handle serves no start, and leaves a write waiting", () =>
  inBoundWorld(async (world) => {
    await world.handle();
    world.send("workspace_write", transferId(), writeBegin("a", bytes("x")));
    assertEquals(
      await world.reply("workspace_write_result", transferId()),
      rejected("resource_unavailable"),
    );
  }));
