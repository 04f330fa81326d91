// Every part the loop leans on is made to throw, once and for ever. The loop goes on or ends with an
// error; it never lives on without an attempt ahead of it.
import { assert, assertEquals } from "@std/assert";
import * as fc from "fast-check";
import { silentLog } from "../../src/platform/log.ts";
import {
  type FakeRouter,
  incompatible,
  LoopRig,
  type RigChanges,
  unavailable,
} from "./loop_rig.ts";

const MINUTE = 60_000;

function bug(): never {
  throw new Error("injected");
}

/** Each step with the way to break it; `broken` says whether it throws now. */
const STEPS: Readonly<
  Record<
    string,
    (broken: () => boolean) => {
      readonly options?: RigChanges;
      readonly prepare?: (rig: LoopRig) => void;
    }
  >
> = {
  "reading the credential": (broken) => ({
    options: { readCredential: () => broken() ? bug() : "CANARY" },
  }),
  "reading the credential, later": (broken) => ({
    options: {
      readCredential: () =>
        broken() ? Promise.reject(new Error("injected")) : "CANARY",
    },
  }),
  "bootstrap": (broken) => ({
    prepare: (rig) => rig.onBootstrap = () => broken() ? bug() : undefined,
  }),
  "dial": (broken) => ({
    prepare: (rig) => rig.onDial = () => broken() ? bug() : rig.socket(),
  }),
  "opening the router": (broken) => ({
    prepare: (rig) => rig.onRouter = () => broken() ? bug() : undefined,
  }),
  "a ping": (broken) => ({
    prepare: (rig) =>
      rig.onDial = () => {
        const socket = rig.socket();
        if (broken()) socket.ping = bug;
        return socket;
      },
  }),
  "a frame": (broken) => ({
    prepare: (rig) =>
      rig.onRouter = (router) =>
        router.onHandle = () => broken() ? bug() : undefined,
  }),
  "a heartbeat": (broken) => ({
    prepare: (rig) =>
      rig.onRouter = (router) =>
        router.onHeartbeat = () =>
          broken() ? bug() : { ts: 1, active_requests: 0 },
  }),
  "the router's shutdown": (broken) => ({
    prepare: (rig) =>
      rig.onRouter = (router) =>
        router.onShutdown = () => broken() ? bug() : Promise.resolve(),
  }),
  "the report of a pending shutdown": (broken) => ({
    prepare: (rig) =>
      rig.onRouter = (router) => {
        router.onShutdown = () =>
          broken() ? Promise.reject(new Error("left")) : Promise.resolve();
        router.onWaitingFor = bug;
      },
  }),
  "the shutdown request": (broken) => ({
    prepare: (rig) =>
      rig.onRouter = (router: FakeRouter) => {
        if (!broken()) return;
        Object.defineProperty(router, "shutdownRequested", { get: bug });
      },
  }),
  "chance": (broken) => ({
    options: { random: { next: () => broken() ? bug() : 0.5 } },
    prepare: (rig) => rig.onDial = (n) => n < 3 ? unavailable : rig.socket(),
  }),
  "the listener of facts": (broken) => ({
    options: { onFacts: () => broken() ? bug() : undefined },
  }),
};

/** A live loop always has something ahead of it. */
function assertAlive(rig: LoopRig, step: string): void {
  assertEquals(rig.failure, undefined, step);
  assertEquals(rig.exit, undefined, step);
  const { phase, nextAttemptIn, shutdown } = rig.loop.facts;
  switch (phase) {
    case "socket_open":
      return;
    case "waiting_to_dial":
      assert(nextAttemptIn !== undefined && nextAttemptIn <= 90_000, step);
      return assert(rig.clock.pendingTimers > 0, step);
    case "waiting_for_shutdown":
      assert(shutdown !== undefined, step);
      return assert(rig.clock.pendingTimers > 0, step);
    default:
      throw new Error(`${step}: stuck in ${phase}`);
  }
}

for (const [step, breaker] of Object.entries(STEPS)) {
  Deno.test(`the loop survives a fault in: ${step}`, async () => {
    let left = Infinity;
    const { options, prepare } = breaker(() => left-- > 0);
    const rig = new LoopRig(options ?? {});
    prepare?.(rig);
    rig.start();
    for (let turn = 0; turn < 10; turn++) {
      await rig.clock.advance(50_000);
      assertAlive(rig, step);
      rig.sockets.at(-1)?.receive('{"type":"x"}');
      if (turn % 3 === 2) rig.sockets.at(-1)?.end(1006);
    }
    left = 0;
    await rig.clock.advance(3 * MINUTE);
    assertEquals(rig.loop.facts.phase, "socket_open", step);
    rig.sockets.at(-1)?.end(1001);
    await rig.clock.advance(3 * MINUTE);
    assertEquals(rig.loop.facts.phase, "socket_open", step);
    await rig.finish();
    assertEquals(rig.exit, { reason: "stopped" }, step);
    assertEquals(rig.clock.pendingTimers, 0, step);
    assertEquals(
      rig.routers.every((router) => router.shutdowns.length > 0),
      true,
      "every opened router was shut down",
    );
  });
}

Deno.test("a log that throws ends the loop with an error instead of silence", async () => {
  const rig = new LoopRig({
    log: { ...silentLog, warn: bug, error: bug, info: bug },
  });
  rig.onDial = () => unavailable;
  rig.start();
  await rig.clock.advance(10 * MINUTE);
  assert(rig.failure instanceof Error || rig.dials.length > 10);
});

Deno.test("whatever happens, a live loop has an attempt, a socket or a named wait ahead", async () => {
  const event = fc.oneof(
    fc.record({
      kind: fc.constant("close" as const),
      code: fc.constantFrom(1000, 1001, 1005, 1006, 1011, 4000),
    }),
    fc.record({
      kind: fc.constant("frame" as const),
      text: fc.constantFrom('{"type":"x"}', "junk", undefined),
    }),
    fc.record({
      kind: fc.constant("time" as const),
      ms: fc.integer({ min: 0, max: 200_000 }),
    }),
    fc.record({
      kind: fc.constant("jump" as const),
      ms: fc.integer({ min: -1e6, max: 1e6 }),
    }),
    fc.record({
      kind: fc.constant("refuse" as const),
      count: fc.integer({ min: 1, max: 12 }),
    }),
    fc.record({
      kind: fc.constant("throw" as const),
      step: fc.constantFrom(
        "dial",
        "bootstrap",
        "router",
        "handle",
        "shutdown",
        "heartbeat",
      ),
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 25 }), async (events) => {
      const rig = new LoopRig();
      let refusals = 0;
      let broken: string | undefined;
      const check = (step: string) => {
        if (broken !== step) return;
        broken = undefined;
        bug();
      };
      rig.onBootstrap = () => {
        check("bootstrap");
        return undefined;
      };
      rig.onDial = () => {
        check("dial");
        return refusals-- > 0 ? unavailable : rig.socket();
      };
      rig.onRouter = (router) => {
        check("router");
        router.onHandle = () => check("handle");
        router.onHeartbeat = () => {
          check("heartbeat");
          return { ts: 1, active_requests: 0 };
        };
        router.onShutdown = () => {
          check("shutdown");
          return Promise.resolve();
        };
      };
      rig.start();
      await rig.clock.advance(0);
      for (const one of events) {
        if (one.kind === "close") rig.sockets.at(-1)?.end(one.code);
        if (one.kind === "frame") rig.sockets.at(-1)?.receive(one.text);
        if (one.kind === "time") await rig.clock.advance(one.ms);
        if (one.kind === "jump") rig.clock.jump(one.ms);
        if (one.kind === "refuse") refusals = one.count;
        if (one.kind === "throw") broken = one.step;
        await rig.clock.advance(1);
        if (rig.loop.facts.phase === "waiting_for_shutdown") {
          await rig.clock.advance(7_000); // one wait and its pause: then the state is reported
          if (rig.loop.facts.phase === "waiting_for_shutdown") assert(false);
        }
        assertAlive(rig, one.kind);
        // No socket is open beside another, and none opens before the last router confirmed.
        rig.routers.slice(0, -1).forEach((router) =>
          assert(router.shutdowns.length > 0)
        );
      }
      await rig.finish();
      assertEquals(rig.exit, { reason: "stopped" });
      assertEquals(rig.clock.pendingTimers, 0);
    }),
    { numRuns: 60 },
  );
});

Deno.test("a permanent refusal after any number of failures still ends the loop at once", async () => {
  const rig = new LoopRig();
  rig.onDial = (n) => n < 8 ? unavailable : incompatible;
  rig.start();
  await rig.clock.advance(30 * MINUTE);
  assertEquals(rig.exit?.reason, "permanent");
  assertEquals(rig.dials.length, 8);
});
