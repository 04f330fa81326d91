// Attempts, retries and permanent refusals of the session loop.
import { assert, assertEquals } from "@std/assert";
import { deferred } from "../../src/platform/deferred.ts";
import { incompatible, LoopRig, rejected, unavailable } from "./loop_rig.ts";

const MINUTE = 60_000;

Deno.test("one bootstrap, one dial, and the first frame is a heartbeat", async () => {
  const rig = new LoopRig().start();
  await rig.clock.advance(10 * MINUTE);
  assertEquals(rig.bootstraps, [0]);
  assertEquals(rig.dials, [0]);
  assertEquals(rig.versions, ["0.12.0"]);
  assertEquals(rig.routers.length, 1);
  assertEquals(rig.sockets[0]?.types.length, 41);
  assertEquals(new Set(rig.sockets[0]?.types), new Set(["heartbeat"]));
  await rig.finish();
  assertEquals(rig.exit, { reason: "stopped" });
  assertEquals(rig.clock.pendingTimers, 0);
});

Deno.test("the heartbeat precedes what a router sends on its first frame", async () => {
  const rig = new LoopRig();
  rig.onRouter = (router) => {
    router.onHandle = () => router.send({ type: "reply" });
  };
  rig.start();
  await rig.clock.advance(0);
  rig.sockets[0]?.receive('{"type":"request"}');
  await rig.clock.advance(0);
  assertEquals(rig.sockets[0]?.types, ["heartbeat", "reply"]);
  await rig.finish();
});

for (const refusal of [rejected, incompatible]) {
  for (const step of ["bootstrap", "dial"] as const) {
    Deno.test(`${refusal.reason} at ${step} ends the loop after exactly one request`, async () => {
      const rig = new LoopRig();
      if (step === "dial") rig.onDial = () => refusal;
      else rig.onBootstrap = () => refusal;
      rig.start();
      await rig.clock.advance(30 * MINUTE);
      assertEquals(rig.exit, { reason: "permanent", refusal });
      assertEquals(rig.dials.length, step === "dial" ? 1 : 0);
      assertEquals(rig.bootstraps.length, 1);
      assertEquals(rig.clock.pendingTimers, 0);
      assertEquals(rig.loop.facts.lastRefusal?.status, refusal.source.status);
    });
  }
}

Deno.test("close code 4001 ends the loop for good, after the router confirmed", async () => {
  const rig = new LoopRig().start();
  await rig.clock.advance(1_000);
  rig.sockets[0]?.end(4001);
  await rig.clock.advance(30 * MINUTE);
  assertEquals(rig.exit?.reason, "permanent");
  assert(rig.exit?.reason === "permanent");
  assertEquals(rig.exit.refusal.reason, "retired");
  assertEquals(rig.routers[0]?.shutdowns.length, 1);
  assertEquals(rig.dials.length, 1);
});

Deno.test("a parked daemon makes no request and says so once, until a stop ends it with success", async () => {
  const rig = new LoopRig({ onPermanent: "park" });
  rig.onDial = () => rejected;
  rig.start();
  await rig.clock.advance(24 * 60 * MINUTE);
  assertEquals(rig.dials.length, 1);
  assertEquals(rig.bootstraps.length, 1);
  assertEquals(rig.loop.facts.phase, "parked");
  assertEquals(
    rig.log.events.filter((event) => event.event === "refused_for_good").length,
    1,
  );
  assertEquals(rig.exit, undefined);
  await rig.finish();
  assertEquals(rig.exit, { reason: "stopped" });
});

Deno.test("a changed credential ends a park with one attempt that uses it", async () => {
  const changes = [deferred(), deferred()];
  let credential = "CANARY-old";
  let watches = 0;
  const rig = new LoopRig({
    onPermanent: "park",
    readCredential: () => credential,
    credentialChanged: () => changes[watches++]?.promise ?? deferred().promise,
  });
  rig.onDial = (n) => n < 3 ? rejected : rig.socket();
  rig.start();
  await rig.clock.advance(10 * MINUTE);
  assertEquals(rig.dials.length, 1);
  credential = "CANARY-new";
  changes[0]?.resolve();
  await rig.clock.advance(10 * MINUTE);
  assertEquals(rig.dials.length, 2);
  changes[1]?.resolve();
  await rig.clock.advance(1_000);
  assertEquals(rig.dials.length, 3);
  assertEquals(rig.credentials.at(0), "CANARY-old");
  assertEquals(rig.credentials.at(-1), "CANARY-new");
  await rig.finish();
});

Deno.test("a version refusal is not ended by another credential", async () => {
  let watched = false;
  const rig = new LoopRig({
    onPermanent: "park",
    credentialChanged: () => {
      watched = true;
      return Promise.resolve();
    },
  });
  rig.onDial = () => incompatible;
  rig.start();
  await rig.clock.advance(10 * MINUTE);
  assertEquals(watched, false);
  assertEquals(rig.dials.length, 1);
  await rig.finish();
});

Deno.test("a broken credential watch leaves the daemon parked", async () => {
  const rig = new LoopRig({
    onPermanent: "park",
    credentialChanged: () => Promise.reject(new Error("watch")),
  });
  rig.onDial = () => rejected;
  rig.start();
  await rig.clock.advance(10 * MINUTE);
  assertEquals(rig.dials.length, 1);
  assertEquals(rig.loop.facts.phase, "parked");
  await rig.finish();
  assertEquals(rig.exit, { reason: "stopped" });
});

Deno.test("failed dials are repeated after 1, 2, 4, 8, 16, 30, 30 s, each with its cause in the log", async () => {
  const rig = new LoopRig();
  rig.onDial = () => unavailable;
  rig.start();
  await rig.clock.advance(91_000);
  assertEquals(
    rig.dials,
    [0, 1, 3, 7, 15, 31, 61, 91].map((seconds) => seconds * 1_000),
  );
  const retries = rig.log.events.filter((event) =>
    event.event === "dial_retry"
  );
  assertEquals(
    retries.slice(0, 3).map((event) => event.fields),
    [1, 2, 3].map(
      (attempt) => ({
        attempt,
        delay: 1_000 * 2 ** (attempt - 1),
        cause: "Core answered socket with status 503",
      }),
    ),
  );
  await rig.finish();
});

Deno.test("bootstrap is retried like a dial", async () => {
  const rig = new LoopRig();
  rig.onBootstrap = (n) => n < 4 ? unavailable : undefined;
  rig.start();
  await rig.clock.advance(7_000);
  assertEquals(rig.bootstraps, [0, 1_000, 3_000, 7_000]);
  assertEquals(rig.dials, [7_000]);
  await rig.finish();
});

Deno.test("bootstrap is asked again after every ten failed dials, and not otherwise", async () => {
  const rig = new LoopRig();
  rig.onDial = () => unavailable;
  rig.start();
  await rig.clock.advance(15 * MINUTE);
  assertEquals(rig.bootstraps.length, Math.ceil(rig.dials.length / 10));
  assertEquals(rig.bootstraps[1], rig.dials[10]);
  assertEquals(rig.bootstraps[2], rig.dials[20]);
  await rig.finish();
});

Deno.test("sessions between failed dials keep the bootstrap answer", async () => {
  const rig = new LoopRig();
  rig.onDial = (n) => n % 9 === 0 ? rig.socket() : unavailable;
  rig.start();
  for (let turn = 0; turn < 4; turn++) {
    await rig.clock.advance(10 * MINUTE);
    rig.sockets.at(-1)?.end(1000);
  }
  assert(rig.dials.length > 20);
  assertEquals(rig.bootstraps.length, 1);
  await rig.finish();
});

Deno.test("every clean, abrupt or odd end leads to a new socket and a new router", async () => {
  const rig = new LoopRig().start();
  for (const code of [1000, 1001, 1006, 1005, 1011, 4000]) {
    await rig.clock.advance(2 * MINUTE);
    rig.sockets.at(-1)?.end(code);
  }
  await rig.clock.advance(2 * MINUTE);
  assertEquals(rig.dials.length, 7);
  assertEquals(new Set(rig.routers).size, 7);
  assertEquals(rig.routers.slice(0, 6).map((r) => r.shutdowns.length), [
    1,
    1,
    1,
    1,
    1,
    1,
  ]);
  await rig.finish();
});

Deno.test("a session of a minute is followed by a pause of 1 s", async () => {
  const rig = new LoopRig().start();
  await rig.clock.advance(MINUTE);
  rig.sockets[0]?.end(1006);
  await rig.clock.advance(999);
  assertEquals(rig.dials.length, 1);
  await rig.clock.advance(1);
  assertEquals(rig.dials.length, 2);
  await rig.finish();
});

Deno.test("the credential is read again for each attempt; an unreadable one is retried", async () => {
  let reads = 0;
  const rig = new LoopRig({
    readCredential: () => {
      reads++;
      if (reads === 2) throw new Error("permission denied");
      return `CANARY-${reads}`;
    },
  });
  rig.onDial = (n) => n < 3 ? unavailable : rig.socket();
  rig.start();
  await rig.clock.advance(10_000);
  assertEquals(rig.credentials, [
    "CANARY-1",
    "CANARY-1",
    "CANARY-3",
    "CANARY-4",
  ]);
  assertEquals(rig.log.text.includes("CANARY"), false);
  await rig.finish();
});
