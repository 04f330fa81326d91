// Connection and loop over real sockets: what the socket library and the system do is not assumed.
import { assert, assertEquals } from "@std/assert";
import { deferred } from "../../src/platform/deferred.ts";
import { parseCoreUrl } from "../../src/transport/core_url.ts";
import { createNetwork } from "../../src/transport/network.ts";
import {
  type LoopExit,
  SessionLoop,
} from "../../src/transport/session_loop.ts";
import { RecordingLog } from "../support/recording_log.ts";
import { settleEvents, VirtualClock } from "../support/virtual_clock.ts";
import { FakeRouter } from "./loop_rig.ts";
import {
  bootstrapBody,
  refuseUpgrade,
  TEST_CERTIFICATE,
  TestCore,
} from "./test_core.ts";
import { BlackholeProxy } from "./test_proxy.ts";

const DEVICE = "6f0c2d1e-0f54-4b7e-9b36-2b8f1f9d7a10";
const TOKEN = "CANARY-real-token";
const network = createNetwork({
  proxy: {},
  certificateAuthorities: [TEST_CERTIFICATE],
});

/** A whole loop against a real Core. */
class RealLoop {
  readonly clock = new VirtualClock();
  readonly log = new RecordingLog();
  readonly stop = new AbortController();
  readonly routers: FakeRouter[] = [];
  readonly loop: SessionLoop;
  readonly exit: Promise<LoopExit>;

  constructor(core: Pick<TestCore, "origin">) {
    this.loop = new SessionLoop({
      core: parseCoreUrl(core.origin),
      deviceId: DEVICE,
      userAgent: "agent-daemon/test",
      network,
      clock: this.clock,
      random: { next: () => 0.5 },
      log: this.log,
      readCredential: () => TOKEN,
      openRouter: (connection) => {
        const router = new FakeRouter(connection, this.clock);
        this.routers.push(router);
        return router;
      },
      stop: this.stop.signal,
      onPermanent: "exit",
    });
    this.exit = this.loop.run();
  }
}

function answerBootstrap(core: TestCore): void {
  core.onRequest = (_request, response) =>
    response.end(bootstrapBody(core, DEVICE));
}

for (const secure of ["plain", "secure"] as const) {
  for (
    const [status, reason] of [
      [401, "credential_rejected"],
      [403, "credential_rejected"],
      [426, "incompatible_version"],
    ] as const
  ) {
    Deno.test(`${status} on the upgrade: one request, then none for good (${secure})`, async () => {
      await using core = await TestCore.start(secure);
      answerBootstrap(core);
      core.onUpgrade = (_request, socket) => refuseUpgrade(socket, status);
      const real = new RealLoop(core);
      const exit = await real.exit;
      assert(exit.reason === "permanent");
      assertEquals(exit.refusal.reason, reason);
      await real.clock.advance(120_000);
      assertEquals(core.upgrades.length, 1);
      assertEquals(core.requests.length, 1);
      assertEquals(real.routers.length, 0);
      assertEquals(real.log.text.includes("CANARY"), false);
    });
  }

  Deno.test(`4001 after the first heartbeat: no second dial (${secure})`, async () => {
    await using core = await TestCore.start(secure);
    answerBootstrap(core);
    const frames: string[] = [];
    core.onSocket = (socket) =>
      socket.on("message", (data) => {
        frames.push(data.toString());
        socket.close(4001, "runtime retired");
      });
    const real = new RealLoop(core);
    const exit = await real.exit;
    assert(exit.reason === "permanent");
    assertEquals(exit.refusal.reason, "retired");
    assertEquals(frames.map((text) => JSON.parse(text).type), ["heartbeat"]);
    await real.clock.advance(120_000);
    assertEquals(core.upgrades.length, 1);
    assertEquals(core.requests.length, 1);
  });

  Deno.test(`a bootstrap of another wire version: no upgrade at all (${secure})`, async () => {
    await using core = await TestCore.start(secure);
    core.onRequest = (_request, response) =>
      response.end(bootstrapBody(core, DEVICE, { protocol_version: "0.11.9" }));
    const real = new RealLoop(core);
    const exit = await real.exit;
    assert(exit.reason === "permanent");
    assertEquals(exit.refusal.reason, "incompatible_version");
    assertEquals(core.upgrades.length, 0);
  });
}

Deno.test("500, 503, reset, 1006, 1000 and 1001 in a row: each is followed by a dial on a new connection", async () => {
  await using core = await TestCore.start();
  answerBootstrap(core);
  let dials = 0;
  const sixth = deferred();
  let dialled = deferred();
  core.onUpgrade = (_request, socket) => {
    dials++;
    dialled.resolve();
    if (dials === 1) return refuseUpgrade(socket, 500);
    if (dials === 2) return refuseUpgrade(socket, 503);
    if (dials > 3) return "accept";
    socket.destroy();
    return "answered";
  };
  core.onSocket = (socket) => {
    if (dials === 4) socket.terminate();
    if (dials === 5) socket.close(1000);
    if (dials === 6) socket.close(1001);
    if (dials === 7) sixth.resolve();
  };
  const real = new RealLoop(core);
  for (const delay of [1, 2, 4, 8, 16, 30]) {
    await dialled.promise;
    while (real.loop.facts.phase !== "waiting_to_dial") await settleEvents();
    const left = Math.round(real.loop.facts.nextAttemptIn ?? 0);
    assertEquals(left, delay * 1_000);
    dialled = deferred();
    await real.clock.advance(left - 1);
    const before = dials;
    await real.clock.advance(1);
    await dialled.promise;
    assertEquals(dials, before + 1);
  }
  await sixth.promise;
  while (real.loop.facts.phase !== "socket_open") await settleEvents();
  real.stop.abort();
  assertEquals((await real.exit).reason, "stopped");
  assertEquals(real.routers.length, 4);
  assertEquals(core.requests.length, 1);
});

Deno.test("after a half-open line the loop comes back over a new connection", async () => {
  await using core = await TestCore.start();
  await using proxy = await new BlackholeProxy(core.port).start();
  core.onRequest = (_request, response) =>
    response.end(bootstrapBody(core, DEVICE, {
      ws_url: `ws://127.0.0.1:${proxy.port}/api/v1/agent-daemon/ws`,
    }));
  let opened = deferred();
  core.onSocket = (socket) => socket.once("message", () => opened.resolve());
  const real = new RealLoop({ origin: `http://127.0.0.1:${proxy.port}` });
  await opened.promise;
  const connections = proxy.connections;
  opened = deferred();
  proxy.blackhole();
  await real.clock.advance(45_000);
  while (real.loop.facts.phase !== "waiting_to_dial") await settleEvents();
  proxy.restore();
  await real.clock.advance(1_500);
  await opened.promise;
  assertEquals(proxy.connections, connections + 1);
  assertEquals(real.routers[0]?.shutdowns.length, 1);
  real.stop.abort();
  assertEquals((await real.exit).reason, "stopped");
});

Deno.test("a sleeping machine comes back over a new connection", async () => {
  await using core = await TestCore.start();
  answerBootstrap(core);
  let opened = deferred();
  core.onSocket = (socket) => socket.once("message", () => opened.resolve());
  const real = new RealLoop(core);
  await opened.promise;
  while (real.loop.facts.socket === undefined) await settleEvents();
  opened = deferred();
  real.clock.jump(600_000);
  await real.clock.advance(15_000);
  while (real.loop.facts.phase !== "waiting_to_dial") await settleEvents();
  await real.clock.advance(1_500);
  await opened.promise;
  assertEquals(core.upgrades.length, 2);
  real.stop.abort();
  assertEquals((await real.exit).reason, "stopped");
});
