// `workspace_export` through the router and from real files: one answer for each request, nothing
// unasked, and a place that is free only when the producer has stopped.
import { assertEquals } from "@std/assert";
import { dirname } from "@std/path";
import { deferred } from "../../src/platform/deferred.ts";
import { settleEvents } from "../support/virtual_clock.ts";
import { faultyAccess } from "../workspace/faulty_access.ts";
import { makeFifo } from "../workspace/support.ts";
import { untar } from "../workspace/untar.ts";
import {
  type BoundWorld,
  bytes,
  ENVIRONMENT,
  inBoundWorld,
  localPayload,
  transferId,
  writeBegin,
} from "./bound_world.ts";

const FRAME = "workspace_export";
const RESULT = "workspace_export_result";
const unavailable = {
  outcome: "rejected",
  offset: 0,
  error_code: "resource_unavailable",
};

function begin(handle: string): unknown {
  return { step: "begin", handle, environment_id: ENVIRONMENT };
}

function put(world: BoundWorld, path: string, data: Uint8Array): void {
  const whole = world.path("outputs", path);
  Deno.mkdirSync(dirname(whole), { recursive: true });
  Deno.writeFileSync(whole, data);
}

/** Pulls to the end and returns the archive; throws the last result when it is no completion. */
async function pulled(
  world: BoundWorld,
  id: string,
  handle: string,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  world.send(FRAME, id, begin(handle));
  for (;;) {
    const result = await world.reply(RESULT, id);
    if (result.outcome !== "chunk") {
      assertEquals(result, { outcome: "completed", offset: size });
      break;
    }
    assertEquals(result.offset, size);
    const part = Uint8Array.fromBase64(result.data);
    parts.push(part);
    size += part.length;
    await settleEvents();
    assertEquals(world.unread(), [], "nothing is sent unasked");
    world.send(FRAME, id, { step: "next", offset: size });
  }
  const whole = new Uint8Array(size);
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

Deno.test("an export is a tar stream, pulled in chunks of up to 64 KiB, and its place is free before it is completed", () =>
  inBoundWorld(async (world) => {
    const big = new Uint8Array(131_089).map((_, index) => index % 251);
    put(world, "big.bin", big);
    put(world, "sub/small.txt", bytes("small"));
    Deno.symlinkSync("/etc/passwd", world.path("outputs", "link"));
    const handle = await world.handle();
    let free = false;
    world.world.connection.onWritten = ((before) => (frame) => {
      if (frame.payload?.outcome === "completed") {
        free = !world.world.router.status().services.export;
      }
      before(frame);
    })(world.world.connection.onWritten);
    const files = untar(await pulled(world, "export", handle));
    assertEquals(free, true);
    assertEquals([...files.keys()], [
      "outputs/big.bin",
      "outputs/sub/small.txt",
    ]);
    assertEquals(files.get("outputs/big.bin"), big);
    assertEquals(files.get("outputs/sub/small.txt"), bytes("small"));
  }));

Deno.test("a workspace without outputs is an empty archive that is closed", () =>
  inBoundWorld(async (world) => {
    const handle = await world.handle();
    const archive = await pulled(world, "export", handle);
    assertEquals(archive, new Uint8Array(1024));
  }));

Deno.test("an export needs a ready read-only handle of its Environment", () =>
  inBoundWorld(async (world) => {
    const handle = await world.handle();
    world.send("execution_prepare", "p", localPayload());
    await world.reply("preparation_status", "p");
    const ready = await world.reply("preparation_status", "p");
    const foreign = "44444444-4444-4444-8444-444444444444";
    for (
      const [id, payload] of [
        ["a", begin("absent")],
        ["b", begin(ready.handle)],
        ["c", { step: "begin", handle, environment_id: foreign }],
        ["d", { step: "next", offset: 0 }],
        ["e", { step: "cancel" }],
      ] as const
    ) {
      world.send(FRAME, id, payload);
      assertEquals(await world.reply(RESULT, id), unavailable, id);
    }
    world.send("execution_release", "read-only", { handle });
    await world.reply("preparation_status", "read-only");
    world.send(FRAME, "f", begin(handle));
    assertEquals(await world.reply(RESULT, "f"), unavailable);
  }));

const silent: readonly (readonly [string, string, unknown])[] = [
  ["an empty id", "", { step: "cancel" }],
  ["an id over 128 bytes", "x".repeat(129), { step: "cancel" }],
  ["an unknown step", "e", { step: "push" }],
  ["a begin without a handle", "e", {
    step: "begin",
    environment_id: ENVIRONMENT,
  }],
  ["a begin with an offset", "e", {
    step: "begin",
    handle: "h",
    environment_id: ENVIRONMENT,
    offset: 1,
  }],
  ["a handle over 128 bytes", "e", {
    step: "begin",
    handle: "h".repeat(129),
    environment_id: ENVIRONMENT,
  }],
  ["a next with a handle", "e", { step: "next", handle: "h" }],
  ["an offset over 528 MiB", "e", { step: "next", offset: 553_648_129 }],
  ["a negative offset", "e", { step: "next", offset: -1 }],
  ["a cancel with an offset", "e", { step: "cancel", offset: 1 }],
  ["more than 8 KiB", "e", { step: "cancel", more: "x".repeat(8_192) }],
];

Deno.test("a malformed export request is not answered and ends nothing", () =>
  inBoundWorld(async (world) => {
    put(world, "big.bin", new Uint8Array(100_000));
    const handle = await world.handle();
    world.send(FRAME, "e", begin(handle));
    await world.reply(RESULT, "e");
    for (const [, id, payload] of silent) world.send(FRAME, id, payload);
    await settleEvents();
    assertEquals(world.unread(), []);
    world.send(FRAME, "e", { step: "next", offset: 65_536 });
    assertEquals((await world.reply(RESULT, "e")).outcome, "chunk");
    world.send(FRAME, "e", { step: "cancel" });
    await world.quiet();
  }));

Deno.test("another export and a write wait for the first; a read does not", () =>
  inBoundWorld(async (world) => {
    put(world, "big.bin", new Uint8Array(100_000));
    const handle = await world.handle();
    world.send(FRAME, "e", begin(handle));
    await world.reply(RESULT, "e");
    world.send(FRAME, "f", begin(handle));
    assertEquals(await world.reply(RESULT, "f"), unavailable);
    world.send(FRAME, "f", { step: "next", offset: 65_536 });
    assertEquals(await world.reply(RESULT, "f"), unavailable);
    world.send("workspace_write", transferId(), writeBegin("a", bytes("x")));
    assertEquals(
      (await world.reply("workspace_write_result", transferId())).error_code,
      "resource_unavailable",
    );
    world.send("workspace_read", "r", {
      handle,
      environment_id: ENVIRONMENT,
      path: "outputs/big.bin",
      max_bytes: 1,
    });
    assertEquals(
      (await world.reply("workspace_read_result", "r")).outcome,
      "completed",
    );
    world.send(FRAME, "e", { step: "cancel" });
    await world.quiet();
    assertEquals(world.unread(), [], "a cancel is not answered");
    assertEquals(world.world.router.status().services.export, false);
    assertEquals((await pulled(world, "g", handle)).length > 100_000, true);
  }));

Deno.test("a wrong offset fails the export and frees its place", () =>
  inBoundWorld(async (world) => {
    put(world, "big.bin", new Uint8Array(100_000));
    const handle = await world.handle();
    world.send(FRAME, "e", begin(handle));
    await world.reply(RESULT, "e");
    world.send(FRAME, "e", { step: "next", offset: 65_535 });
    assertEquals(await world.reply(RESULT, "e"), {
      outcome: "failed",
      offset: 65_536,
      error_code: "invalid_request",
    });
    await pulled(world, "g", handle);
  }));

const spoilt: readonly (readonly [string, (world: BoundWorld) => void])[] = [
  [
    "a file that became a FIFO",
    (world) => {
      Deno.removeSync(world.path("outputs", "z"));
      makeFifo(world.path("outputs", "z"));
    },
  ],
  [
    "a file that grew",
    (world) =>
      Deno.writeFileSync(world.path("outputs", "big.bin"), bytes("more"), {
        append: true,
      }),
  ],
  [
    "a file that became shorter",
    (world) => Deno.truncateSync(world.path("outputs", "big.bin"), 10),
  ],
];

for (const [what, spoil] of spoilt) {
  Deno.test(`${what} fails an export after its first bytes, which prove nothing`, () =>
    inBoundWorld(async (world) => {
      put(world, "big.bin", new Uint8Array(300_000));
      put(world, "z", bytes("z"));
      const handle = await world.handle();
      world.send(FRAME, "e", begin(handle));
      assertEquals((await world.reply(RESULT, "e")).outcome, "chunk");
      spoil(world);
      let offset = 65_536;
      for (;;) {
        world.send(FRAME, "e", { step: "next", offset });
        const result = await world.reply(RESULT, "e");
        if (result.outcome === "chunk") {
          offset += Uint8Array.fromBase64(result.data).length;
          continue;
        }
        assertEquals(result.outcome, "failed");
        assertEquals(result.error_code, "export_failed");
        assertEquals(result.offset, offset);
        break;
      }
      assertEquals(world.world.router.status().services.export, false);
    }));
}

Deno.test("outputs that is a file or a link fails the export", async () => {
  for (const kind of ["file", "link"]) {
    await inBoundWorld(async (world) => {
      if (kind === "file") Deno.writeTextFileSync(world.path("outputs"), "");
      else Deno.symlinkSync(world.folder, world.path("outputs"));
      const handle = await world.handle();
      world.send(FRAME, "e", begin(handle));
      assertEquals(await world.reply(RESULT, "e"), {
        outcome: "failed",
        offset: 0,
        error_code: "export_failed",
      });
    });
  }
});

/** An export whose next listing waits, so that requests queue up. */
function slowExport() {
  const gate = deferred<void>();
  const access = faultyAccess({
    async *names(real) {
      await gate.promise;
      yield* real.names();
    },
  });
  return { gate, access };
}

Deno.test("one request may wait; one more ends the export without an answer", async () => {
  const { gate, access } = slowExport();
  await inBoundWorld(async (world) => {
    put(world, "a", bytes("a"));
    const handle = await world.handle();
    world.send(FRAME, "e", begin(handle));
    world.send(FRAME, "e", { step: "next", offset: 0 });
    await settleEvents();
    world.send(FRAME, "e", { step: "next", offset: 0 });
    await settleEvents();
    assertEquals(world.world.router.status().services.export, true);
    gate.resolve();
    await world.quiet();
    assertEquals(world.unread(), []);
    assertEquals(world.world.router.status().services.export, false);
  }, { access });
});

Deno.test("a cancel while the producer works frees the place only when it has stopped", async () => {
  const { gate, access } = slowExport();
  await inBoundWorld(async (world) => {
    put(world, "a", bytes("a"));
    const handle = await world.handle();
    world.send(FRAME, "e", begin(handle));
    await settleEvents();
    world.send(FRAME, "e", { step: "cancel" });
    await settleEvents();
    world.send(FRAME, "f", begin(handle));
    assertEquals(await world.reply(RESULT, "f"), unavailable);
    gate.resolve();
    await world.quiet();
    assertEquals(world.unread(), []);
    await pulled(world, "g", handle);
  }, { access });
});

Deno.test("180 seconds end an export, and a release does; a waiting request is told, then the handle is", async () => {
  for (const end of ["time", "release"] as const) {
    const { gate, access } = slowExport();
    await inBoundWorld(async (world) => {
      put(world, "a", bytes("a"));
      const handle = await world.handle();
      world.send(FRAME, "e", begin(handle));
      await settleEvents();
      if (end === "time") await world.world.advance(180_000);
      else world.send("execution_release", "read-only", { handle });
      await settleEvents();
      assertEquals(world.unread(), []);
      gate.resolve();
      assertEquals(await world.reply(RESULT, "e"), {
        outcome: "failed",
        offset: 0,
        error_code: "export_failed",
      });
      if (end === "time") return;
      const { state } = await world.reply("preparation_status", "read-only");
      assertEquals(state, "released");
    }, { access });
  }
});

Deno.test("a handle whose access did not close in time keeps its place, lends nothing, and can be released again", async () => {
  const { gate, access } = slowExport();
  await inBoundWorld(async (world) => {
    put(world, "a", bytes("a"));
    const handle = await world.handle();
    world.send(FRAME, "e", begin(handle));
    await settleEvents();
    world.send("execution_release", "read-only", { handle });
    await world.world.advance(9_999);
    assertEquals(world.unread(), []);
    await world.world.advance(1);
    const kept = await world.reply("preparation_status", "read-only");
    assertEquals([kept.state, kept.error_code], [
      "failed",
      "cleanup_unconfirmed",
    ]);
    assertEquals(world.world.router.status().owningAdmissions, 1);
    world.send("workspace_read", "r", {
      handle,
      environment_id: ENVIRONMENT,
      path: "outputs/a",
      max_bytes: 1,
    });
    assertEquals(
      (await world.reply("workspace_read_result", "r")).error_code,
      "resource_unavailable",
    );
    gate.resolve();
    assertEquals((await world.reply(RESULT, "e")).outcome, "failed");
    await world.quiet();
    world.send("execution_release", "read-only", { handle });
    const { state } = await world.reply("preparation_status", "read-only");
    assertEquals(state, "released");
    assertEquals(world.world.router.status().owningAdmissions, 0);
  }, { access });
});

Deno.test("an export that nobody pulls ends with its time, and nothing is sent", () =>
  inBoundWorld(async (world) => {
    put(world, "big.bin", new Uint8Array(100_000));
    const handle = await world.handle();
    world.send(FRAME, "e", begin(handle));
    await world.reply(RESULT, "e");
    await world.world.advance(179_999);
    assertEquals(world.world.router.status().services.export, true);
    await world.world.advance(1);
    await world.quiet();
    assertEquals(world.world.router.status().services.export, false);
    assertEquals(world.unread(), []);
    world.send(FRAME, "e", { step: "next", offset: 65_536 });
    assertEquals(await world.reply(RESULT, "e"), unavailable);
  }));

Deno.test("a shutdown ends an export and waits until its handles are closed", () =>
  inBoundWorld(async (world) => {
    put(world, "big.bin", new Uint8Array(100_000));
    const handle = await world.handle();
    world.send(FRAME, "e", begin(handle));
    await world.reply(RESULT, "e");
    world.world.connection.end();
    await world.world.router.shutdown();
    assertEquals(world.world.router.status().services.export, false);
  }));
