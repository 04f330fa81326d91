// Sending on one connection: order, bounds, deadlines and aborts.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { Connection } from "../../src/transport/connection.ts";
import type { ConnectionEnd } from "../../src/transport/connection_end.ts";
import {
  ConnectionEnded,
  FrameTooLarge,
} from "../../src/transport/send_error.ts";
import { RecordingLog } from "../support/recording_log.ts";
import { settleEvents, VirtualClock } from "../support/virtual_clock.ts";
import { FakeSocket, type FakeSocketOptions } from "./fake_socket.ts";

function connect(options: FakeSocketOptions = {}, heartbeatInterval = 15_000) {
  const clock = new VirtualClock();
  const log = new RecordingLog();
  const socket = new FakeSocket({ clock, ...options });
  const connection = new Connection(socket, { clock, log, heartbeatInterval });
  return { clock, log, socket, connection };
}

const frame = (n: number) => ({ type: `n${n}` });

/** A frame whose encoding has exactly `bytes` bytes. */
function frameOf(bytes: number, filler = "x") {
  const empty = JSON.stringify({ type: "big", payload: "" }).length;
  const width = new TextEncoder().encode(filler).length;
  const count = Math.floor((bytes - empty) / width);
  const rest = "x".repeat(bytes - empty - count * width);
  return { type: "big", payload: filler.repeat(count) + rest };
}

Deno.test("frames leave in the order of the calls, and send resolves after the write only", async () => {
  const { connection, socket } = connect({ writes: "hold" });
  const done: number[] = [];
  for (let n = 0; n < 5; n++) {
    connection.send(frame(n)).then(() => done.push(n));
  }
  await settleEvents();
  assertEquals(socket.types, ["n0", "n1", "n2", "n3", "n4"]);
  assertEquals(done, []);
  socket.finishWrites(2);
  await settleEvents();
  assertEquals(done, [0, 1]);
  socket.finishWrites();
  await settleEvents();
  assertEquals(done, [0, 1, 2, 3, 4]);
  await connection.close();
});

Deno.test("64 frames are accepted, the others wait unencoded for a slot and keep their order", async () => {
  const { connection, socket } = connect({ writes: "hold" });
  const encoded: number[] = [];
  const done: number[] = [];
  for (let n = 0; n < 70; n++) {
    const payload = {
      toJSON: () => {
        encoded.push(n);
        return n;
      },
    };
    connection.send({ type: "x", payload }).then(() => done.push(n));
  }
  assertEquals(encoded.length, 64);
  socket.finishWrites(1);
  assertEquals(encoded.length, 65);
  for (let turn = 0; turn < 10; turn++) {
    socket.finishWrites();
    await settleEvents();
  }
  assertEquals(encoded, Array.from({ length: 70 }, (_, n) => n));
  assertEquals(done, encoded);
  await connection.close();
});

Deno.test("the socket is handed a bounded window of bytes, not the whole queue", async () => {
  const { connection, socket } = connect({ writes: "hold" });
  const sends = Array.from(
    { length: 8 },
    () => connection.send(frameOf(200_000)),
  );
  assertEquals(socket.held, 2);
  while (socket.held > 0) {
    socket.finishWrites(1);
    assert(socket.held <= 2);
  }
  await Promise.all(sends);
  await connection.close();
});

Deno.test("a frame of 4 MiB goes out; one byte more is refused and the connection goes on", async () => {
  const { connection, socket } = connect();
  for (const filler of ["x", "é", "𝄞"]) {
    await connection.send(frameOf(4_194_304, filler));
    const error = await assertRejects(
      () => connection.send(frameOf(4_194_305, filler)),
      FrameTooLarge,
    );
    assertEquals(error.bytes, 4_194_305);
    assertEquals(error.type, "big");
  }
  await connection.send(frame(1));
  assertEquals(socket.types, ["big", "big", "big", "n1"]);
  assertEquals(connection.signal.aborted, false);
  await connection.close();
});

Deno.test("a payload that cannot be encoded fails its own send only", async () => {
  const { connection, socket } = connect();
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  await assertRejects(
    () => connection.send({ type: "x", payload: circular }),
    TypeError,
  );
  await connection.send(frame(1));
  assertEquals(socket.types, ["n1"]);
  await connection.close();
});

Deno.test("each frame is stringified once", async () => {
  const { connection } = connect();
  let count = 0;
  await connection.send({ type: "x", payload: { toJSON: () => ++count } });
  assertEquals(count, 1);
  await connection.close();
});

Deno.test("a send with an aborted signal is rejected with its reason and not written", async () => {
  const { connection, socket } = connect();
  const reason = new Error("mine");
  const error = await assertRejects(
    () => connection.send(frame(1), AbortSignal.abort(reason)),
  );
  assertEquals(error, reason);
  assertEquals(socket.written, []);
  await connection.close();
});

Deno.test("an abort frees the place of a queued frame; one the socket has may still go out", async () => {
  const { connection, socket } = connect({ writes: "hold" });
  const abort = new AbortController();
  const handed = connection.send(frameOf(300_000), abort.signal);
  const queued = connection.send(frame(1), abort.signal);
  const last = connection.send(frame(2));
  abort.abort(new Error("gave up"));
  await assertRejects(() => handed, Error, "gave up");
  await assertRejects(() => queued, Error, "gave up");
  socket.finishWrites();
  socket.finishWrites();
  await last;
  assertEquals(socket.types, ["big", "n2"]);
  await connection.close();
});

Deno.test("a frame without a slot can be aborted, and the next one takes the slot", async () => {
  const { connection, socket } = connect({ writes: "hold" });
  const sends = Array.from({ length: 64 }, (_, n) => connection.send(frame(n)));
  const abort = new AbortController();
  const waiting = connection.send(frame(64), abort.signal);
  const after = connection.send(frame(65));
  abort.abort(new Error("gave up"));
  await assertRejects(() => waiting, Error, "gave up");
  for (let turn = 0; turn < 3; turn++) socket.finishWrites();
  await Promise.all([...sends, after]);
  assertEquals(socket.types.at(-1), "n65");
  assertEquals(socket.types.includes("n64"), false);
  await connection.close();
});

Deno.test("a head that is not written in 10 s ends the connection, however it is timed", async () => {
  for (const lead of [0, 1, 4_000, 9_999]) {
    const { clock, connection, socket } = connect({
      writes: "hold",
      pongAfter: () => 1,
    });
    const first = connection.send(frame(0));
    await clock.advance(lead);
    socket.finishWrites();
    await first;
    const stuck = connection.send(frame(1));
    const later = connection.send(frame(2));
    await clock.advance(9_999);
    assertEquals(connection.signal.aborted, false);
    const rejections = Promise.allSettled([stuck, later]);
    await clock.advance(1);
    assertEquals(await connection.ended, {
      kind: "lost",
      cause: "write_timeout",
    });
    for (const result of await rejections) {
      assertEquals(result.status, "rejected");
    }
    assert(socket.destroyed);
    assertEquals(clock.pendingTimers, 0);
  }
});

Deno.test("a slow peer that finishes each frame within 10 s is kept", async () => {
  const { clock, connection, socket } = connect({
    writes: "hold",
    pongAfter: () => 1,
  });
  const sends = Array.from({ length: 12 }, (_, n) => connection.send(frame(n)));
  for (let n = 0; n < 12; n++) {
    await clock.advance(9_000);
    socket.finishWrites(1);
  }
  await Promise.all(sends);
  assertEquals(connection.signal.aborted, false);
  await connection.close();
});

Deno.test("no timer is made per frame", async () => {
  const clock = new class extends VirtualClock {
    made = 0;
    override after(milliseconds: number, callback: () => void) {
      this.made++;
      return super.after(milliseconds, callback);
    }
  }();
  const socket = new FakeSocket();
  const connection = new Connection(socket, {
    clock,
    log: new RecordingLog(),
    heartbeatInterval: 15_000,
  });
  const before = clock.made;
  for (let n = 0; n < 1_000; n++) await connection.send(frame(n));
  assertEquals(clock.made - before, 1);
  await connection.close();
});

Deno.test("a failed write waits a moment for the close code behind it, then ends the connection", async () => {
  for (
    const [code, expected] of [
      [4001, { kind: "retired", code: 4001 }],
      [1000, { kind: "closed_by_core", code: 1000 }],
      [1006, { kind: "lost", cause: "write_failed" }],
      [undefined, { kind: "lost", cause: "write_failed" }],
    ] as const
  ) {
    const { clock, connection, socket } = connect({ writes: "hold" });
    const sent = connection.send(frame(1));
    socket.failWrite(new Error("EPIPE"));
    await assertRejects(() => sent, ConnectionEnded);
    await assertRejects(() => connection.send(frame(2)), ConnectionEnded);
    if (code === undefined) await clock.advance(1_000);
    else socket.end(code);
    assertEquals(await connection.ended, expected as ConnectionEnd);
    await settleEvents();
    assertEquals(clock.pendingTimers, 0);
  }
});
