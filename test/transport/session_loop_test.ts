import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { deferred } from "../../src/platform/deferred.ts";
import type { DialOutcome } from "../../src/transport/dial.ts";
import { FakeSocket } from "./fake_socket.ts";
import {
  incompatible,
  LOOP_TOKEN,
  LoopRig,
  rejected,
  unavailable,
} from "./loop_rig.ts";

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

Deno.test("no dial happens while the router has not confirmed, for ten minutes and through a stop", async () => {
  const rig = new LoopRig();
  let confirm = false;
  rig.onRouter = (router) => {
    router.onShutdown = () =>
      confirm ? Promise.resolve() : Promise.reject(new Error("owner left"));
    router.onWaitingFor = () => ["workspace_write w-1"];
  };
  rig.start();
  await rig.clock.advance(1_000);
  rig.sockets[0]?.end(1006);
  await rig.clock.advance(10 * MINUTE);
  assertEquals(rig.dials.length, 1);
  const { phase, shutdown } = rig.loop.facts;
  assertEquals(phase, "waiting_for_shutdown");
  assertEquals(shutdown?.waitingFor, ["workspace_write w-1"]);
  assertEquals(shutdown?.error, "Error");
  assert((shutdown?.attempt ?? 0) > 500);
  assert((shutdown?.age ?? 0) >= 10 * MINUTE - 1_000);
  assertStringIncludes(rig.log.text, "workspace_write w-1");
  rig.stop.abort();
  await rig.clock.advance(10 * MINUTE);
  assertEquals(rig.exit, undefined);
  confirm = true;
  await rig.clock.advance(1_000);
  assertEquals(rig.exit, { reason: "stopped" });
  assertEquals(rig.dials.length, 1);
  assertEquals(rig.routers.length, 1);
  assertEquals(rig.clock.pendingTimers, 0);
});

Deno.test("the same router is asked again after an error: exactly two calls, 1 s apart", async () => {
  const rig = new LoopRig();
  rig.onRouter = (router) => {
    router.onShutdown = () =>
      router.shutdowns.length === 1
        ? Promise.reject(new Error("first"))
        : Promise.resolve();
  };
  rig.start();
  await rig.clock.advance(2 * MINUTE);
  rig.sockets[0]?.end(1000);
  await rig.clock.advance(10_000);
  assertEquals(rig.routers[0]?.shutdowns, [120_000, 121_000]);
  assertEquals(rig.dials, [0, 122_000]);
  await rig.finish();
});

Deno.test("a wait of 5 s that ends is followed by a fresh one that joins: exactly two calls", async () => {
  const rig = new LoopRig();
  const settled = deferred();
  rig.onRouter = (router) => router.onShutdown = () => settled.promise;
  rig.start();
  await rig.clock.advance(2 * MINUTE);
  rig.sockets[0]?.end(1000);
  await rig.clock.advance(4_999);
  assertEquals(rig.routers[0]?.shutdowns, [120_000]);
  await rig.clock.advance(1);
  assertEquals(rig.loop.facts.shutdown?.error, "DeadlineExceeded");
  await rig.clock.advance(4_000);
  assertEquals(rig.routers[0]?.shutdowns, [120_000, 126_000]);
  settled.resolve();
  await rig.clock.advance(1_000);
  assertEquals(rig.dials.length, 2);
  await rig.finish();
});

Deno.test("the socket is closed before the router is shut down, and its sends fail meanwhile", async () => {
  const rig = new LoopRig();
  const seen: string[] = [];
  rig.onRouter = (router) => {
    router.onShutdown = async () => {
      seen.push(`closed ${rig.sockets[0]?.closedWith}`);
      await router.send({ type: "late" }).catch((error) =>
        seen.push(error.name)
      );
    };
  };
  rig.start();
  await rig.clock.advance(1_000);
  rig.stop.abort();
  await rig.clock.advance(5_000);
  assertEquals(seen, ["closed 1000", "ConnectionEnded"]);
  assertEquals(rig.exit, { reason: "stopped" });
});

Deno.test("device_shutdown closes with 1000 after what is owed, and ends the loop", async () => {
  const rig = new LoopRig();
  rig.onRouter = (router) => {
    router.onHandle = (envelope) => {
      if (envelope.type !== "device_shutdown") return;
      router.send({ type: "receipt" }).then(() => router.requested.resolve());
    };
  };
  rig.start();
  await rig.clock.advance(1_000);
  rig.sockets[0]?.receive('{"type":"device_shutdown"}');
  await rig.clock.advance(5_000);
  assertEquals(rig.exit, { reason: "shutdown_requested" });
  assertEquals(rig.sockets[0]?.types, ["heartbeat", "receipt"]);
  assertEquals(rig.sockets[0]?.closedWith, 1000);
  assertEquals(rig.routers[0]?.shutdowns.length, 1);
  assertEquals(rig.dials.length, 1);
});

Deno.test("device_shutdown counts although Core closes right behind it", async () => {
  const rig = new LoopRig();
  const settled = deferred();
  rig.onRouter = (router) => {
    router.onHandle = () => {
      settled.promise.then(() => router.requested.resolve());
    };
    router.onShutdown = () => settled.promise;
  };
  rig.start();
  await rig.clock.advance(1_000);
  rig.sockets[0]?.receive('{"type":"device_shutdown"}');
  rig.sockets[0]?.end(1000);
  await rig.clock.advance(3_000);
  settled.resolve();
  await rig.clock.advance(5_000);
  assertEquals(rig.exit, { reason: "shutdown_requested" });
});

Deno.test("frames that came before the end are handled before the router is shut down", async () => {
  const rig = new LoopRig();
  const order: string[] = [];
  const reply = deferred();
  rig.onRouter = (router) => {
    router.onHandle = (envelope) => {
      order.push(envelope.type);
      return envelope.type === "first" ? reply.promise : undefined;
    };
    router.onShutdown = () => Promise.resolve(void order.push("shutdown"));
  };
  rig.start();
  await rig.clock.advance(1_000);
  rig.sockets[0]?.receive('{"type":"first"}');
  rig.sockets[0]?.receive('{"type":"second"}');
  rig.sockets[0]?.end(1000);
  await rig.clock.advance(500);
  reply.resolve();
  await rig.clock.advance(0);
  assertEquals(order, ["first", "second", "shutdown"]);
  await rig.finish();
});

Deno.test("a stop ends the loop from every wait", async (t) => {
  const stopDuring = async (
    name: string,
    phase: string,
    prepare: (rig: LoopRig) => void,
    changes: ConstructorParameters<typeof LoopRig>[0] = {},
  ) =>
    await t.step(name, async () => {
      const rig = new LoopRig(changes);
      prepare(rig);
      rig.start();
      await rig.clock.advance(500);
      assertEquals(rig.loop.facts.phase, phase);
      rig.stop.abort();
      await rig.clock.advance(1_000);
      assertEquals(rig.exit, { reason: "stopped" });
      assertEquals(rig.clock.pendingTimers, 0);
    });
  const untilStop = (rig: LoopRig) =>
    new Promise<DialOutcome>((resolve) =>
      rig.stop.signal.addEventListener("abort", () =>
        resolve({
          ok: false,
          refusal: {
            kind: "transient",
            source: { from: "network", route: "socket", fault: "aborted" },
          },
        }))
    );
  await stopDuring("dialling", "dialling", (rig) => {
    rig.onDial = () => untilStop(rig);
  });
  await stopDuring("bootstrapping", "bootstrapping", (rig) => {
    rig.onBootstrap = () => untilStop(rig) as never;
  });
  await stopDuring("waiting", "waiting_to_dial", (rig) => {
    rig.onDial = () => unavailable;
  });
  await stopDuring("open", "socket_open", () => {});
  await stopDuring("parked", "parked", (rig) => {
    rig.onDial = () => rejected;
  }, { onPermanent: "park" });
});

Deno.test("a stop before the start makes no request", async () => {
  const rig = new LoopRig();
  rig.stop.abort();
  rig.start();
  await rig.clock.advance(1_000);
  assertEquals(rig.exit, { reason: "stopped" });
  assertEquals(rig.bootstraps, []);
});

Deno.test("a handler that throws or rejects is logged and the next frame is handled", async () => {
  const rig = new LoopRig();
  rig.onRouter = (router) => {
    router.onHandle = (envelope) => {
      if (envelope.type === "throws") throw new TypeError("bug");
      if (envelope.type === "rejects") return Promise.reject(new Error("bug"));
    };
  };
  rig.start();
  await rig.clock.advance(0);
  for (const type of ["throws", "rejects", "fine"]) {
    rig.sockets[0]?.receive(JSON.stringify({ type, payload: "CANARY" }));
  }
  await rig.clock.advance(1_000);
  assertEquals(rig.routers[0]?.handled.map((e) => e.type), [
    "throws",
    "rejects",
    "fine",
  ]);
  assertEquals(
    rig.log.events.filter((e) => e.event === "frame_handler_failed").length,
    2,
  );
  assertEquals(rig.log.text.includes("CANARY"), false);
  assertEquals(rig.loop.facts.phase, "socket_open");
  await rig.finish();
});

Deno.test("a handler that never returns does not hold the end of the session", async () => {
  const rig = new LoopRig();
  rig.onRouter = (router) => {
    router.onHandle = () => new Promise(() => {});
  };
  rig.start();
  await rig.clock.advance(2 * MINUTE);
  rig.sockets[0]?.receive('{"type":"x"}');
  rig.sockets[0]?.end(1006);
  await rig.clock.advance(5_000);
  assertEquals(rig.dials.length, 2);
  await rig.finish();
});

Deno.test("a peer's type name is bounded and printable in the log", async () => {
  const rig = new LoopRig();
  rig.onRouter = (router) => {
    router.onHandle = () => {
      throw new TypeError("bug");
    };
  };
  rig.start();
  await rig.clock.advance(0);
  const type = `\u001b[2J\n${"x".repeat(1_000)}`;
  rig.sockets[0]?.receive(JSON.stringify({ type }));
  await rig.clock.advance(0);
  const logged = String(rig.log.events.at(-1)?.fields.type);
  assertEquals(logged, `?[2J?${"x".repeat(59)}`);
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
