// What the loop claims about the link, and how it behaves when Core or a twin misbehaves.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FakeSocket } from "./fake_socket.ts";
import { LOOP_TOKEN, LoopRig, rejected, unavailable } from "./loop_rig.ts";

const MINUTE = 60_000;

Deno.test("twenty accepted and dropped sockets: delays grow to the cap, one warning per five minutes", async () => {
  const rig = new LoopRig();
  rig.onDial = () => {
    const socket = rig.socket();
    socket.end(1000);
    return socket;
  };
  rig.start();
  await rig.clock.advance(9 * MINUTE);
  const gaps = rig.dials.slice(1).map((at, n) => at - (rig.dials[n] ?? 0));
  assertEquals(gaps.slice(0, 4), [1_000, 2_000, 4_000, 8_000]);
  assert(gaps.slice(4).every((gap) => gap === 30_000));
  assert(rig.loop.facts.sharedDeviceSuspected);
  assertEquals(
    rig.log.events.filter((event) => event.event === "short_sessions").length,
    2,
  );
  await rig.finish();
});

Deno.test("facts are ages of proofs and never the bare word connected", async () => {
  const rig = new LoopRig();
  rig.onDial = (n) => n === 1 ? unavailable : rig.socket();
  let told = 0;
  const withFacts = new LoopRig({ onFacts: () => told++ }).start();
  rig.start();
  await rig.clock.advance(500);
  assertEquals(rig.loop.facts.phase, "waiting_to_dial");
  assertEquals(rig.loop.facts.nextAttemptIn, 500);
  assertEquals(rig.loop.facts.socket, undefined);
  assertEquals(rig.loop.facts.lastRefusal, {
    kind: "transient",
    description: "Core answered socket with status 503",
    status: 503,
    age: 500,
  });
  await rig.clock.advance(20_500);
  rig.sockets[0]?.receive('{"type":"x"}');
  await rig.clock.advance(5_000);
  assertEquals(rig.loop.facts, {
    phase: "socket_open",
    phaseAge: 25_000,
    attempt: 2,
    sessions: 1,
    lastDialAge: 25_000,
    socket: {
      openedAge: 25_000,
      lastInboundAge: 5_000,
      lastPongAge: 9_950,
      lastHeartbeatWrittenAge: 10_000,
      droppedMessages: 0,
    },
    lastRefusal: {
      kind: "transient",
      description: "Core answered socket with status 503",
      status: 503,
      age: 25_500 + 500,
    },
    sharedDeviceSuspected: false,
  });
  rig.sockets[0]?.end(1006);
  await rig.clock.advance(100);
  assertStringIncludes(
    rig.loop.facts.lastEnd?.description ?? "",
    "without a close frame",
  );
  assertEquals(/connected/i.test(JSON.stringify(rig.loop.facts)), false);
  await withFacts.clock.advance(30_000);
  assert(told >= 6);
  await rig.finish();
  await withFacts.finish();
});

Deno.test("Core keeps TCP up but says nothing: the facts grow old, then the socket is given up", async () => {
  const rig = new LoopRig();
  rig.onDial = () => new FakeSocket({ clock: rig.clock });
  rig.start();
  await rig.clock.advance(44_000);
  assertEquals(rig.loop.facts.socket?.lastInboundAge, undefined);
  assertEquals(rig.loop.facts.socket?.lastPongAge, undefined);
  assertEquals(rig.loop.facts.socket?.openedAge, 44_000);
  await rig.clock.advance(1_500);
  assertStringIncludes(rig.loop.facts.lastEnd?.description ?? "", "silent");
  await rig.finish();
});

Deno.test("two daemons with one device id calm down: at most 4 connects each in a minute, then 1 a minute", async () => {
  const clock = new (new LoopRig().clock.constructor as never as {
    new (): LoopRig["clock"];
  })();
  let holder: FakeSocket | undefined;
  const rigs = [0.3, 0.8].map((chance) => {
    const rig = new LoopRig({ clock, random: { next: () => chance } });
    rig.onDial = () => {
      holder?.end(1006);
      return holder = rig.socket();
    };
    return rig;
  });
  for (const rig of rigs) rig.start();
  await clock.advance(20 * MINUTE);
  for (const rig of rigs) {
    assert(rig.dials.filter((at) => at < MINUTE).length <= 4, `${rig.dials}`);
    const later = rig.dials.filter((at) => at >= MINUTE);
    assert(later.length >= 4);
    later.slice(1).forEach((at, n) =>
      assert(at - (later[n] ?? 0) >= MINUTE, `${later}`)
    );
    assertStringIncludes(rig.log.text, "another daemon may hold the device id");
    rig.stop.abort();
  }
  await clock.advance(10_000);
});

Deno.test("the credential is in no log and no fact of any of these paths", async () => {
  for (const outcome of [unavailable, rejected, undefined]) {
    const rig = new LoopRig({ onPermanent: "park" });
    if (outcome) rig.onDial = () => outcome;
    rig.start();
    await rig.clock.advance(5 * MINUTE);
    rig.sockets[0]?.end(1006);
    await rig.clock.advance(5 * MINUTE);
    await rig.finish();
    assertEquals(rig.log.text.includes(LOOP_TOKEN), false);
    assertEquals(JSON.stringify(rig.loop.facts).includes(LOOP_TOKEN), false);
  }
});
