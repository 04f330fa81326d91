// Ends and receiving of one connection.
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { Connection } from "../../src/transport/connection.ts";
import {
  type ConnectionEnd,
  describeEnd,
  endedWithoutCloseFrame,
} from "../../src/transport/connection_end.ts";
import { ConnectionEnded } from "../../src/transport/send_error.ts";
import { RecordingLog } from "../support/recording_log.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { FakeSocket, type FakeSocketOptions } from "./fake_socket.ts";

function connect(options: FakeSocketOptions = {}, heartbeatInterval = 15_000) {
  const clock = new VirtualClock();
  const log = new RecordingLog();
  const socket = new FakeSocket({ clock, ...options });
  const connection = new Connection(socket, { clock, log, heartbeatInterval });
  return { clock, log, socket, connection };
}

const frame = (n: number) => ({ type: `n${n}` });

for (
  const [code, expected, sentence] of [
    [1000, { kind: "closed_by_core", code: 1000 }, "code 1000"],
    [1001, { kind: "closed_by_core", code: 1001 }, "code 1001"],
    [4001, { kind: "retired", code: 4001 }, "retired"],
    [
      1006,
      { kind: "lost", cause: "no_close_frame" },
      "closed without a close frame; another daemon may hold the device id",
    ],
    [1005, { kind: "lost", cause: "close_code", code: 1005 }, "code 1005"],
    [1008, { kind: "lost", cause: "close_code", code: 1008 }, "code 1008"],
    [1011, { kind: "lost", cause: "close_code", code: 1011 }, "code 1011"],
    [4000, { kind: "lost", cause: "close_code", code: 4000 }, "code 4000"],
    [4002, { kind: "lost", cause: "close_code", code: 4002 }, "code 4002"],
  ] as const
) {
  Deno.test(`close code ${code} is read as ${expected.kind}`, async () => {
    const { clock, connection, log, socket } = connect();
    socket.end(code);
    const end = await connection.ended;
    assertEquals(end, expected as ConnectionEnd);
    assertStringIncludes(describeEnd(end), sentence);
    assertEquals(describeEnd(end).includes("replaced"), false);
    assertStringIncludes(log.text, "connection_ended");
    assertEquals(endedWithoutCloseFrame(end), code === 1006);
    assertEquals(clock.pendingTimers, 0);
    assert(connection.signal.aborted);
    await connection.close();
  });
}

Deno.test("the first end wins", async () => {
  const { connection, log, socket } = connect();
  socket.fault("message_too_large");
  socket.end(4001);
  await connection.close();
  assertEquals(log.events.map((event) => event.event), ["connection_ended"]);
  assertEquals(await connection.ended, {
    kind: "lost",
    cause: "frame_too_large",
  });
});

Deno.test("a broken WebSocket rule ends the connection", async () => {
  const { connection, socket } = connect();
  socket.fault("protocol");
  assertEquals(await connection.ended, { kind: "lost", cause: "protocol" });
  assert(socket.destroyed);
});

Deno.test("closing twice sends one close frame with code 1000; pending and later sends fail at once", async () => {
  const { clock, connection, socket } = connect({
    writes: "hold",
    answersClose: false,
  });
  const pending = connection.send(frame(1));
  const first = connection.close();
  const second = connection.close();
  await assertRejects(() => pending, ConnectionEnded);
  await assertRejects(() => connection.send(frame(2)), ConnectionEnded);
  assertEquals(socket.closedWith, 1000);
  assertEquals(await connection.ended, { kind: "closed_here" });
  assertEquals(await connection.receive(), undefined);
  await clock.advance(999);
  assertEquals(socket.destroyed, false);
  await clock.advance(1);
  assert(socket.destroyed);
  await Promise.all([first, second]);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("a closed connection's signal carries the end", async () => {
  const { connection } = connect();
  await connection.close();
  assert(connection.signal.reason instanceof ConnectionEnded);
  assertEquals(connection.signal.reason.end, { kind: "closed_here" });
});

for (
  const [name, text] of [
    ["a binary message", undefined],
    ["no JSON", "CANARY"],
    ["an array", "[1]"],
    ["null", "null"],
    ["no type", '{"id":"CANARY"}'],
    ["an empty type", '{"type":""}'],
    ["a numeric type", '{"type":4}'],
    ["empty text", ""],
  ] as const
) {
  Deno.test(`${name} is dropped with a warning and counted; the next frame arrives`, async () => {
    const { connection, log, socket } = connect();
    socket.receive(text);
    socket.receive('{"type":"ok","id":"1","payload":{"a":1},"future":true}');
    const envelope = await connection.receive();
    assertEquals(envelope?.type, "ok");
    assertEquals(envelope?.source.includes('"future"'), true);
    assertEquals(connection.proof.droppedMessages, 1);
    assertEquals(log.events[0]?.level, "warn");
    assertEquals(log.text.includes("CANARY"), false);
    await connection.close();
  });
}

Deno.test("at 64 waiting frames the socket is not read, and below half it is again", async () => {
  const { connection, socket } = connect();
  for (let n = 0; n < 63; n++) socket.receive(`{"type":"n${n}"}`);
  assertEquals(socket.paused, false);
  socket.receive('{"type":"n63"}');
  assertEquals(socket.paused, true);
  for (let n = 0; n < 32; n++) {
    assertEquals((await connection.receive())?.type, `n${n}`);
    assertEquals(socket.paused, true);
  }
  assertEquals((await connection.receive())?.type, "n32");
  assertEquals(socket.paused, false);
  await connection.close();
});

Deno.test("after an end by the peer the frames before it can still be taken, then none", async () => {
  const { connection, socket } = connect();
  socket.receive('{"type":"a"}');
  socket.receive('{"type":"b"}');
  socket.end(1000);
  socket.receive('{"type":"late"}');
  assertEquals((await connection.receive())?.type, "a");
  assertEquals((await connection.receive())?.type, "b");
  assertEquals(await connection.receive(), undefined);
  assertEquals(await connection.receive(), undefined);
});

Deno.test("a waiting reader is told of the end", async () => {
  const { connection, socket } = connect();
  const waiting = connection.receive();
  socket.end(1006);
  assertEquals(await waiting, undefined);
});

Deno.test("proofs are absent until they happened", async () => {
  const { clock, connection, socket } = connect();
  assertEquals(connection.proof, { opened: 0, droppedMessages: 0 });
  await clock.advance(1_000);
  socket.control("pong");
  await clock.advance(1_000);
  socket.receive('{"type":"x"}');
  assertEquals(connection.proof, {
    opened: 0,
    lastPong: 1_000,
    lastInbound: 2_000,
    droppedMessages: 0,
  });
  await connection.close();
});
