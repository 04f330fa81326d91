// A planned suspension as the session loop sees it: park, wake, recovery attempts, first frame.
import { assert, assertEquals } from "@std/assert";
import { deferred } from "../../src/platform/deferred.ts";
import type { SessionSuspension } from "../../src/transport/session_router.ts";
import { FakeSocket } from "./fake_socket.ts";
import { incompatible, LoopRig, rejected, unavailable } from "./loop_rig.ts";
import type { FakeRouter } from "./loop_rig.ts";

const MINUTE = 60_000;
const RESUME = '{"type":"environment_resume","id":"r"}';

/** The suspension of a fake router: a test decides when it is suspended and what a frame resumes. */
class FakeSuspension implements SessionSuspension {
  #ended = deferred<"suspended" | "broken_off">();
  readonly wakes: ReturnType<typeof deferred<void>>[] = [];
  readonly frames: string[] = [];
  readonly outcomes: ("resumed" | "refused" | "lost")[] = [];

  get ended(): Promise<"suspended" | "broken_off"> {
    return this.#ended.promise;
  }

  end(how: "suspended" | "broken_off"): void {
    this.#ended.resolve(how);
  }

  woken(signal: AbortSignal): Promise<void> {
    const wake = deferred<void>();
    this.wakes.push(wake);
    signal.addEventListener("abort", () => wake.reject(signal.reason));
    return wake.promise;
  }

  async resume(
    envelope: { readonly type: string },
    connection: Parameters<SessionSuspension["resume"]>[1],
  ): Promise<"resumed" | "refused" | "lost"> {
    this.frames.push(envelope.type);
    const outcome = this.outcomes.shift() ?? "resumed";
    if (outcome !== "resumed") return outcome;
    this.#ended = deferred();
    await connection.send({ type: "environment_resumed", id: "r" });
    return outcome;
  }
}

class SuspendableRig extends LoopRig {
  readonly suspension = new FakeSuspension();
  readonly handled: string[] = [];

  constructor(changes: ConstructorParameters<typeof LoopRig>[0] = {}) {
    super(changes);
    this.onRouter = (router) => {
      Object.assign(router, { suspension: this.suspension });
      router.onHandle = ({ type }) => void this.handled.push(type);
    };
  }

  get router(): FakeRouter {
    const [router] = this.routers;
    if (!router) throw new Error("no router");
    return router;
  }

  /** The newest socket. */
  get socketNow(): FakeSocket {
    const socket = this.sockets.at(-1);
    if (!socket) throw new Error("no socket");
    return socket;
  }

  /** Serves and is suspended. */
  async park(): Promise<this> {
    this.start();
    await this.clock.advance(1_000);
    this.suspension.end("suspended");
    await this.clock.advance(0);
    assertEquals(this.loop.facts.phase, "suspended");
    return this;
  }

  /** Receives the wake signal. */
  async wake(): Promise<void> {
    this.suspension.wakes.at(-1)?.resolve();
    await this.clock.advance(0);
  }

  async resumed(): Promise<void> {
    this.socketNow.receive(RESUME);
    await this.clock.advance(0);
  }
}

Deno.test("a suspension closes the socket with 1000 and parks without a deadline, a dial or a timer", async () => {
  const rig = await new SuspendableRig().park();
  assertEquals(rig.socketNow.closedWith, 1000);
  await rig.clock.advance(7 * 24 * 60 * MINUTE);
  assertEquals(rig.loop.facts.phase, "suspended");
  assertEquals(rig.dials, [0]);
  assertEquals(rig.router.shutdowns, []);
  assertEquals(rig.clock.pendingTimers, 0);
  await rig.finish();
});

Deno.test("a parked daemon does not look at its old socket", async () => {
  const rig = new SuspendableRig();
  rig.onDial = () => new FakeSocket({ clock: rig.clock, answersClose: false });
  rig.start();
  await rig.clock.advance(1_000);
  rig.suspension.end("suspended");
  await rig.clock.advance(0);
  rig.socketNow.receive('{"type":"late"}');
  await rig.clock.advance(2_000);
  rig.socketNow.end(4001);
  await rig.clock.advance(10 * MINUTE);
  assertEquals(rig.loop.facts.phase, "suspended");
  assertEquals(rig.handled, []);
  await rig.finish();
});

Deno.test("woken, the same router is resumed on a new socket: a heartbeat first, the first frame to the suspension, the rest to it", async () => {
  const rig = await new SuspendableRig().park();
  await rig.wake();
  assertEquals(rig.dials, [0, 1_000]);
  assertEquals(rig.routers.length, 1);
  await rig.resumed();
  assertEquals(rig.socketNow.types, ["heartbeat", "environment_resumed"]);
  rig.socketNow.receive('{"type":"next"}');
  await rig.clock.advance(MINUTE);
  assertEquals(rig.suspension.frames, ["environment_resume"]);
  assertEquals(rig.handled, ["next"]);
  assertEquals(rig.loop.facts.phase, "socket_open");
  assertEquals(rig.router.shutdowns, []);
  await rig.finish();
  assertEquals(rig.router.shutdowns.length, 1);
  assertEquals(rig.exit, { reason: "stopped" });
});

Deno.test("a resumed session that ends is an ordinary one: its router is shut down, the next one is new", async () => {
  const rig = await new SuspendableRig().park();
  await rig.wake();
  await rig.resumed();
  rig.socketNow.end(1006);
  await rig.clock.advance(MINUTE);
  assertEquals(rig.router.shutdowns.length, 1);
  assertEquals(rig.routers.length, 2);
  assertEquals(rig.dials.length, 3);
  await rig.finish();
});

Deno.test("a resumed session can be suspended again and waits for another wake signal", async () => {
  const rig = await new SuspendableRig().park();
  await rig.wake();
  await rig.resumed();
  rig.suspension.end("suspended");
  await rig.clock.advance(10 * MINUTE);
  assertEquals(rig.loop.facts.phase, "suspended");
  assertEquals(rig.suspension.wakes.length, 2);
  assertEquals(rig.dials.length, 2);
  await rig.wake();
  await rig.resumed();
  assertEquals(rig.loop.facts.phase, "socket_open");
  await rig.finish();
});

Deno.test("a suspension that was broken off ends the connection, shuts the router down and dials anew", async () => {
  const rig = new SuspendableRig().start() as SuspendableRig;
  await rig.clock.advance(1_000);
  rig.suspension.end("broken_off");
  await rig.clock.advance(0);
  assertEquals(rig.router.shutdowns, [1_000]);
  rig.onRouter = () => {};
  await rig.clock.advance(MINUTE);
  assertEquals(rig.routers.length, 2);
  await rig.finish();
});

for (
  const [what, end] of [
    ["no frame comes", undefined],
    ["the socket is lost", 1006],
    ["Core closes", 1000],
  ] as const
) {
  Deno.test(`when ${what} before the resume, the suspension stays and is tried again with growing delays`, async () => {
    const rig = await new SuspendableRig().park();
    rig.onDial = (n) => {
      const socket = rig.socket();
      if (end !== undefined && n < 30) {
        rig.clock.after(10, () => socket.end(end));
      }
      return socket;
    };
    await rig.wake();
    await rig.clock.advance(15 * MINUTE);
    const gaps = rig.dials.slice(2).map((at, n) =>
      at - (rig.dials[n + 1] ?? 0)
    );
    const attempt = end === undefined ? 30_000 : 10;
    assertEquals(
      gaps.slice(0, 7),
      [
        ...[1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000],
      ].map((delay) => delay + attempt),
    );
    assertEquals(rig.router.shutdowns, []);
    assertEquals(rig.routers.length, 1);
    assertEquals(rig.suspension.wakes.length, 1);
    assertEquals(
      rig.log.events.some(({ event }) => event === "short_sessions"),
      false,
    );
    rig.onDial = () => {
      const socket = rig.socket();
      rig.clock.after(10, () => socket.receive(RESUME));
      return socket;
    };
    await rig.clock.advance(2 * MINUTE);
    assertEquals(rig.loop.facts.phase, "socket_open");
    assertEquals(rig.suspension.frames, ["environment_resume"]);
    await rig.finish();
  });
}

Deno.test("a dial that is refused for now is tried again, and the suspension stays", async () => {
  const rig = await new SuspendableRig().park();
  rig.onDial = (n) => n < 5 ? unavailable : rig.socket();
  await rig.wake();
  await rig.clock.advance(20_000);
  assertEquals(rig.dials.length, 5);
  assertEquals(rig.router.shutdowns, []);
  await rig.resumed();
  await rig.finish();
});

for (const refusal of [rejected, incompatible]) {
  Deno.test(`${refusal.reason} ends the recovery after the router was shut down`, async () => {
    const rig = await new SuspendableRig().park();
    rig.onDial = () => refusal;
    await rig.wake();
    await rig.clock.advance(10 * MINUTE);
    assertEquals(rig.exit, { reason: "permanent", refusal });
    assertEquals(rig.dials.length, 2);
    assertEquals(rig.router.shutdowns.length, 1);
    assertEquals(rig.clock.pendingTimers, 0);
  });
}

Deno.test("close code 4001 before the resume ends the recovery", async () => {
  const rig = await new SuspendableRig().park();
  await rig.wake();
  rig.socketNow.end(4001);
  await rig.clock.advance(10 * MINUTE);
  assert(rig.exit?.reason === "permanent");
  assertEquals(rig.exit.refusal.reason, "retired");
  assertEquals(rig.router.shutdowns.length, 1);
});

Deno.test("a first frame that does not resume is permanent: the router is shut down and nothing is dialled", async () => {
  const rig = await new SuspendableRig().park();
  rig.suspension.outcomes.push("refused");
  await rig.wake();
  rig.socketNow.receive('{"type":"execution_prepare","id":"p"}');
  await rig.clock.advance(10 * MINUTE);
  assert(rig.exit?.reason === "permanent");
  assertEquals(rig.exit.refusal.reason, "not_resumed");
  assertEquals(rig.suspension.frames, ["execution_prepare"]);
  assertEquals(rig.handled, []);
  assertEquals(rig.router.shutdowns.length, 1);
  assertEquals(rig.dials.length, 2);
});

Deno.test("a message that is no envelope is dropped: it is not the first frame", async () => {
  const rig = await new SuspendableRig().park();
  await rig.wake();
  rig.socketNow.receive("no json");
  await rig.clock.advance(0);
  await rig.resumed();
  assertEquals(rig.suspension.frames, ["environment_resume"]);
  assertEquals(rig.loop.facts.phase, "socket_open");
  await rig.finish();
});

Deno.test("a resume whose answer is lost is an ordinary disconnect", async () => {
  const rig = await new SuspendableRig().park();
  rig.suspension.outcomes.push("lost");
  await rig.wake();
  await rig.resumed();
  assertEquals(rig.router.shutdowns.length, 1);
  rig.onRouter = () => {};
  await rig.clock.advance(MINUTE);
  assertEquals(rig.routers.length, 2);
  await rig.finish();
});

for (const when of ["parked", "recovering", "waiting"] as const) {
  Deno.test(`a stop while ${when} shuts the kept router down before the loop ends`, async () => {
    const rig = await new SuspendableRig().park();
    if (when !== "parked") {
      if (when === "waiting") rig.onDial = () => unavailable;
      await rig.wake();
    }
    const settling = deferred<void>();
    rig.router.onShutdown = () => settling.promise;
    rig.stop.abort();
    await rig.clock.advance(1_000);
    assertEquals(rig.exit, undefined);
    assertEquals(rig.router.shutdowns.length, 1);
    settling.resolve();
    await rig.clock.advance(1_000);
    assertEquals(rig.exit, { reason: "stopped" });
    assertEquals(rig.dials.length, when === "parked" ? 1 : 2);
    assertEquals(rig.clock.pendingTimers, 0);
  });
}

Deno.test("a wake that fails leaves only the stop, and says so", async () => {
  const rig = await new SuspendableRig().park();
  rig.suspension.wakes[0]?.reject(new Error("no signals"));
  await rig.clock.advance(10 * MINUTE);
  assertEquals(rig.dials, [0]);
  assertEquals(
    rig.log.events.filter(({ event }) => event === "wake_wait_failed").length,
    1,
  );
  await rig.finish();
  assertEquals(rig.exit, { reason: "stopped" });
});

Deno.test("a refusal for good parks the daemon only after the kept router was shut down", async () => {
  const rig = await new SuspendableRig({ onPermanent: "park" }).park();
  rig.onDial = () => rejected;
  await rig.wake();
  await rig.clock.advance(10 * MINUTE);
  assertEquals(rig.loop.facts.phase, "parked");
  assertEquals(rig.router.shutdowns.length, 1);
  await rig.finish();
  assertEquals(rig.router.shutdowns.length, 1);
});

Deno.test("a frame behind the acknowledged suspension is not taken any more", async () => {
  const rig = new SuspendableRig();
  rig.start();
  await rig.clock.advance(1_000);
  rig.router.onHandle = ({ type }) => {
    rig.handled.push(type);
    if (type === "quiesce") rig.suspension.end("suspended");
  };
  rig.socketNow.receive('{"type":"quiesce"}');
  rig.socketNow.receive('{"type":"device_shutdown"}');
  await rig.clock.advance(0);
  assertEquals(rig.handled, ["quiesce"]);
  assertEquals(rig.loop.facts.phase, "suspended");
  await rig.finish();
});
