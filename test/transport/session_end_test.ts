// How a session ends: last frames, the wait for the router, stops and shutdown requests.
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { deferred } from "../../src/platform/deferred.ts";
import type { DialOutcome } from "../../src/transport/dial.ts";
import { LoopRig, rejected, unavailable } from "./loop_rig.ts";

const MINUTE = 60_000;

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
