// Connection and loop over real sockets: what the socket library and the system do is not assumed.
import { assert, assertEquals } from "@std/assert";
import type { WebSocket } from "ws";
import { type Deferred, deferred } from "../../src/platform/deferred.ts";
import { Connection } from "../../src/transport/connection.ts";
import type { ConnectionEnd } from "../../src/transport/connection_end.ts";
import { dial } from "../../src/transport/dial.ts";
import { createNetwork } from "../../src/transport/network.ts";
import { FrameTooLarge } from "../../src/transport/send_error.ts";
import { RecordingLog } from "../support/recording_log.ts";
import { settleEvents, VirtualClock } from "../support/virtual_clock.ts";
import { TEST_CERTIFICATE, TestCore } from "./test_core.ts";
import { BlackholeProxy } from "./test_proxy.ts";

const DEVICE = "6f0c2d1e-0f54-4b7e-9b36-2b8f1f9d7a10";
const TOKEN = "CANARY-real-token";
const network = createNetwork({
  proxy: {},
  certificateAuthorities: [TEST_CERTIFICATE],
});

/** Both ends of one open socket. */
async function connect(core: TestCore, wsUrl = core.wsUrl) {
  const peer: Deferred<WebSocket> = deferred();
  core.onSocket = (socket) => peer.resolve(socket);
  const clock = new VirtualClock();
  const log = new RecordingLog();
  const outcome = await dial({
    wsUrl,
    deviceId: DEVICE,
    credential: TOKEN,
    version: "0.12.0",
    userAgent: "agent-daemon/test",
    network,
    clock,
  });
  assert(outcome.ok);
  const connection = new Connection(outcome.socket, {
    clock,
    log,
    heartbeatInterval: 15_000,
  });
  return { clock, log, connection, peer: await peer.promise };
}

function message(socket: WebSocket): Promise<string> {
  return new Promise((resolve) =>
    socket.once("message", (data) => resolve(data.toString()))
  );
}

function textOf(bytes: number): string {
  const frame = { type: "big", payload: "" };
  const empty = JSON.stringify(frame).length;
  return JSON.stringify({ ...frame, payload: "x".repeat(bytes - empty) });
}

for (const secure of ["plain", "secure"] as const) {
  Deno.test(`frames go both ways as text (${secure})`, async () => {
    await using core = await TestCore.start(secure);
    const { connection, peer } = await connect(core);
    const received = message(peer);
    await connection.send({ type: "hello", id: "1", payload: { text: "äö𝄞" } });
    assertEquals(
      await received,
      '{"type":"hello","id":"1","payload":{"text":"äö𝄞"}}',
    );
    peer.send('{"type":"answer","payload":{"text":"𝄞"}}');
    assertEquals((await connection.receive())?.payload, { text: "𝄞" });
    await connection.close();
  });

  Deno.test(`4 MiB come in, one byte more ends the connection (${secure})`, async () => {
    await using core = await TestCore.start(secure);
    const { connection, peer } = await connect(core);
    peer.send(textOf(4_194_304));
    assertEquals((await connection.receive())?.source.length, 4_194_304);
    peer.send(textOf(4_194_305));
    assertEquals(await connection.ended, {
      kind: "lost",
      cause: "frame_too_large",
    });
    assertEquals(await connection.receive(), undefined);
    await connection.close();
  });
}

Deno.test("4 MiB go out, one byte more is refused here and the connection goes on", async () => {
  await using core = await TestCore.start();
  const { connection, peer } = await connect(core);
  const received = message(peer);
  const big = JSON.parse(textOf(4_194_304));
  await connection.send(big);
  assertEquals((await received).length, 4_194_304);
  const error = await connection.send({ ...big, payload: big.payload + "x" })
    .catch((reason) => reason);
  assert(error instanceof FrameTooLarge);
  const next = message(peer);
  await connection.send({ type: "next" });
  assertEquals(await next, '{"type":"next"}');
  await connection.close();
});

Deno.test("binary, broken UTF-8 and junk are dropped one by one, the connection stays", async () => {
  await using core = await TestCore.start();
  const { connection, log, peer } = await connect(core);
  peer.send(new TextEncoder().encode('{"type":"binary"}'));
  peer.send(new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]), { binary: false });
  peer.send("CANARY junk");
  peer.send('{"type":"good"}');
  assertEquals((await connection.receive())?.type, "good");
  assertEquals(connection.proof.droppedMessages, 3);
  assertEquals(log.text.includes("CANARY"), false);
  await connection.close();
});

Deno.test("a message in many fragments is one frame", async () => {
  await using core = await TestCore.start();
  const { connection, peer } = await connect(core);
  const text = JSON.stringify({ type: "pieces", payload: "é".repeat(1_000) });
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += 7) {
    peer.send(bytes.subarray(at, at + 7), {
      binary: false,
      fin: at + 7 >= bytes.length,
    });
  }
  assertEquals((await connection.receive())?.source, text);
  await connection.close();
});

for (
  const [name, act, expected] of [
    ["1000", (s) => s.close(1000), { kind: "closed_by_core", code: 1000 }],
    ["1001", (s) => s.close(1001), { kind: "closed_by_core", code: 1001 }],
    [
      "4001 with a reason",
      (s) => s.close(4001, "runtime retired"),
      { kind: "retired", code: 4001 },
    ],
    [
      "1011",
      (s) => s.close(1011),
      { kind: "lost", cause: "close_code", code: 1011 },
    ],
    [
      "a close frame without a code",
      (s) => s.close(),
      { kind: "lost", cause: "close_code", code: 1005 },
    ],
    [
      "no close frame",
      (s) => s.terminate(),
      { kind: "lost", cause: "no_close_frame" },
    ],
  ] as const satisfies readonly (readonly [
    string,
    (socket: WebSocket) => void,
    ConnectionEnd,
  ])[]
) {
  for (const secure of ["plain", "secure"] as const) {
    Deno.test(`an end with ${name} is read as such (${secure})`, async () => {
      await using core = await TestCore.start(secure);
      const { clock, connection, peer } = await connect(core);
      act(peer);
      assertEquals(await connection.ended, expected as ConnectionEnd);
      await connection.close();
      assertEquals(clock.pendingTimers, 0);
    });
  }
}

Deno.test("our close arrives as 1000 with its reason", async () => {
  await using core = await TestCore.start();
  const { connection, peer } = await connect(core);
  const closed = new Promise<string>((resolve) =>
    peer.once("close", (code, reason) => resolve(`${code} ${reason}`))
  );
  await connection.close();
  assertEquals(await closed, "1000 client closing");
});

Deno.test("a peer that ignores our close costs 1 s", async () => {
  await using core = await TestCore.start();
  const { clock, connection, peer } = await connect(core);
  peer.pause();
  const closed = connection.close();
  await clock.advance(1_000);
  await closed;
  assertEquals(await connection.ended, { kind: "closed_here" });
});

Deno.test("our pings are answered, the peer's too, and both count as proof", async () => {
  await using core = await TestCore.start();
  const { clock, connection, peer } = await connect(core);
  const ping = new Promise((resolve) => peer.once("ping", resolve));
  await clock.advance(15_000);
  await ping;
  const answered = new Promise((resolve) => peer.once("pong", resolve));
  peer.ping();
  await answered;
  peer.send('{"type":"x"}');
  await connection.receive();
  assert((connection.proof.lastPong ?? 0) >= 0);
  await connection.close();
});

Deno.test("a peer that is not read feels it; nothing is lost when reading goes on", async () => {
  await using core = await TestCore.start();
  const { connection, peer } = await connect(core);
  const count = 3_000;
  const text = JSON.stringify({ type: "flood", payload: "x".repeat(10_000) });
  let taken = 0;
  const stuck = deferred();
  let last = -1;
  for (let n = 0; n < count; n++) peer.send(text, () => taken++);
  // The system's buffers are full once a whole round brings no progress.
  (async () => {
    for (let still = 0; still < 50;) {
      await settleEvents();
      still = taken === last ? still + 1 : 0;
      last = taken;
    }
    stuck.resolve();
  })();
  await stuck.promise;
  assert(taken < count, "the flood was swallowed whole");
  for (let n = 0; n < count; n++) {
    assertEquals((await connection.receive())?.type, "flood");
  }
  await connection.close();
});

Deno.test("a peer that stops reading ends the connection after 10 s without a finished write", async () => {
  await using core = await TestCore.start();
  const { clock, connection, peer } = await connect(core);
  peer.pause();
  const frame = JSON.parse(textOf(1_000_000));
  const sends = Array.from(
    { length: 30 },
    () => connection.send(frame).then(() => "written", (error) => error.name),
  );
  for (let turn = 0; turn < 200; turn++) await settleEvents();
  // A heartbeat still finds its place in the queue; it waits like the others.
  const beat = connection.send({ type: "heartbeat" })
    .catch((error) => error.name);
  await clock.advance(10_000);
  assertEquals(await connection.ended, {
    kind: "lost",
    cause: "write_timeout",
  });
  const results = await Promise.all(sends);
  assert(results.includes("written") && results.includes("ConnectionEnded"));
  assertEquals(await beat, "ConnectionEnded");
});

Deno.test("a line that swallows everything is given up after 45 s", async () => {
  await using core = await TestCore.start();
  await using proxy = await new BlackholeProxy(core.port).start();
  const { clock, connection, peer } = await connect(
    core,
    core.wsUrl.replace(`${core.port}`, `${proxy.port}`),
  );
  peer.send('{"type":"x"}');
  await connection.receive();
  await settleEvents();
  proxy.blackhole();
  await clock.advance(44_999);
  assertEquals(connection.signal.aborted, false);
  await clock.advance(1);
  assertEquals(await connection.ended, { kind: "lost", cause: "silent" });
  await connection.close();
});
