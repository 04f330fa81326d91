// Proof of life of one connection, on the virtual clock.
import { assert, assertEquals } from "@std/assert";
import { Connection } from "../../src/transport/connection.ts";
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

for (const interval of [1_000, 7_000, 15_000, 3_600_000]) {
  Deno.test(`a silent peer is dropped after exactly 45 s (heartbeats each ${interval} ms)`, async () => {
    const { clock, connection, socket } = connect({}, interval);
    await clock.advance(44_999);
    assertEquals(connection.signal.aborted, false);
    assertEquals(
      socket.pings,
      1 + Math.floor(44_999 / Math.min(interval, 15_000)),
    );
    await clock.advance(1);
    assertEquals(await connection.ended, { kind: "lost", cause: "silent" });
    assert(socket.destroyed);
    assertEquals(clock.pendingTimers, 0);
  });
}

for (const life of ["pong", "ping", "message", "bytes"] as const) {
  Deno.test(`a ${life} at 44 s gives the peer another 45 s`, async () => {
    const { clock, connection, socket } = connect();
    await clock.advance(44_000);
    if (life === "message") socket.receive('{"type":"x"}');
    else if (life === "bytes") socket.bytesRead += 1_000;
    else socket.control(life);
    await clock.advance(44_999);
    assertEquals(connection.signal.aborted, false);
    await clock.advance(1_001);
    assertEquals((await connection.ended).kind, "lost");
  });
}

Deno.test("the bytes of a pong are not counted a second time", async () => {
  const { clock, connection, socket } = connect();
  await clock.advance(31_000);
  socket.bytesRead += 2;
  socket.control("pong");
  await clock.advance(44_999);
  assertEquals(connection.signal.aborted, false);
  await clock.advance(1);
  assertEquals(await connection.ended, { kind: "lost", cause: "silent" });
});

Deno.test("silence does not count while we do not read ourselves", async () => {
  const { clock, connection, socket } = connect();
  for (let n = 0; n < 64; n++) socket.receive(`{"type":"n${n}"}`);
  assert(socket.paused);
  await clock.advance(600_000);
  assertEquals(connection.signal.aborted, false);
  for (let n = 0; n < 64; n++) await connection.receive();
  await clock.advance(44_999);
  assertEquals(connection.signal.aborted, false);
  await clock.advance(1);
  assertEquals(await connection.ended, { kind: "lost", cause: "silent" });
});

Deno.test("a sleep of the machine is noticed within 15 s of running time and ends the connection", async () => {
  const { clock, connection } = connect({ pongAfter: () => 50 });
  await clock.advance(100_000);
  clock.jump(600_000);
  await clock.advance(15_000);
  assertEquals(await connection.ended, {
    kind: "lost",
    cause: "machine_slept",
  });
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("small corrections and a clock set back are no sleep", async () => {
  const { clock, connection } = connect({ pongAfter: () => 50 });
  for (const jump of [44_999, -3_600_000, 44_999, 44_999]) {
    clock.jump(jump);
    await clock.advance(30_000);
    assertEquals(connection.signal.aborted, false);
  }
  await connection.close();
});

Deno.test("24 virtual hours on a healthy link with 200 ms of jitter lose nothing", async () => {
  let seed = 7;
  const latency = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % 200;
  };
  const { clock, connection, socket } = connect({ pongAfter: latency });
  for (let hour = 0; hour < 24; hour++) await clock.advance(3_600_000);
  assertEquals(connection.signal.aborted, false);
  assertEquals(socket.pings, 24 * 240 + 1);
  assert((connection.proof.lastPong ?? 0) > 24 * 3_600_000 - 15_300);
  await connection.close();
});
