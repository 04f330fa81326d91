// Fencing of one router: what is busy, what is drained, what stays alive, and what brings it back.
import { assertEquals } from "@std/assert";
import { deferred } from "../../src/platform/deferred.ts";
import { EXECUTOR_IDLE_MS } from "../../src/runtime/limits.ts";
import type { RuntimeServiceFactory } from "../../src/runtime/service_host.ts";
import { settleEvents, VirtualClock } from "../support/virtual_clock.ts";
import {
  type BoundWorld,
  type BoundWorldOptions,
  inBoundWorld,
  localPayload,
} from "./bound_world.ts";
import { FakeConnection, frameOf } from "./fake_connection.ts";
import {
  accepted,
  firstFrame,
  idleExecutor,
  RecordingControl,
  refused,
  suspended,
  suspension,
  suspensionOf,
} from "./suspension_world.ts";
import { inWorld, type World, type WorldOptions } from "./world.ts";

/** A bound world with a control. */
function inSuspendable(
  body: (world: BoundWorld, control: RecordingControl) => Promise<void>,
  options: BoundWorldOptions = {},
): Promise<void> {
  const control = new RecordingControl();
  return inBoundWorld((world) => body(world, control), {
    ...options,
    suspension: control,
  });
}

/** An unbound world with a control: enough where no workspace is looked at. */
function inPlain(
  body: (world: World, control: RecordingControl) => Promise<void>,
  options: WorldOptions = {},
): Promise<void> {
  const control = new RecordingControl();
  return inWorld((world) => body(world, control), {
    ...options,
    router: { ...options.router, suspension: control },
  });
}

/** A service with one task that a test ends, and an owner that may be unknown. */
function holdingService(
  work: Promise<void>,
  unknown = false,
): RuntimeServiceFactory {
  return (port) => ({
    frames: ["hold"],
    handle: () => port.task("held", () => work),
    work: () => ({ transfer: false, write: false, export: false, reads: 0 }),
    unknownOwners: () => unknown ? [{ owner: "x", remedy: "y" }] : [],
    close() {},
  });
}

Deno.test("an idle router is suspended: armed before it is acknowledged, its Executor kept without timers", () =>
  inSuspendable(async (world, control) => {
    await idleExecutor(world);
    control.onArm = () => {
      assertEquals(world.unread().map(({ type }) => type), []);
      return Promise.resolve();
    };
    await suspended(world.world);
    assertEquals(control.calls, ["arm s"]);
    assertEquals(control.lastResumed, undefined);
    assertEquals(world.world.clock.pendingTimers, 0);
    assertEquals(world.world.router.status().phase, "suspended");
    assertEquals(world.world.router.status().executors.length, 1);
    assertEquals(world.world.factory.executor.closes, 0);
  }));

const invalid: Readonly<Record<string, Record<string, unknown>>> = {
  "another Environment": { environment_id: "another" },
  "an empty suspension id": { suspend_id: "" },
  "a blank suspension id": { suspend_id: " " },
  "a suspension id of 129 bytes": { suspend_id: "s".repeat(129) },
  "a rollback": { rollback: true },
};

for (const [what, changes] of Object.entries(invalid)) {
  Deno.test(`a quiesce with ${what} is invalid_request and closes nothing`, () =>
    inPlain(async (world, control) => {
      await world.send("environment_quiesce", "q", suspension(changes));
      const { rollback: _, ...ids } = suspension(changes);
      assertEquals(world.frames.at(-1)?.type, "environment_quiesced");
      assertEquals(world.frames.at(-1)?.id, "q");
      assertEquals(world.frames.at(-1)?.payload, {
        ...ids,
        accepted: false,
        error_code: "invalid_request",
      });
      assertEquals(control.calls, []);
      await world.ready();
    }));
}

Deno.test("a rollback that is false counts as none", () =>
  inPlain(async (world) => {
    const payload = suspension({ rollback: false });
    await world.send("environment_quiesce", "q", payload);
    assertEquals(world.frames.at(-1)?.payload, accepted);
  }));

Deno.test("a quiesce that cannot be read is answered with empty ids", () =>
  inPlain(async (world) => {
    await world.send("environment_quiesce", "q", { environment_id: 1 });
    assertEquals(world.frames.at(-1)?.payload, {
      environment_id: "",
      suspend_id: "",
      accepted: false,
      error_code: "invalid_request",
    });
    await world.ready();
  }));

Deno.test("a quiesce is busy beside an Executor of another Environment", () =>
  inPlain(async (world, control) => {
    await world.running();
    world.factory.executor.turn.finish();
    await world.advance(0);
    assertEquals(world.router.status().executors[0]?.state, "idle");
    await world.send("environment_quiesce", "q", suspension());
    assertEquals(world.frames.at(-1)?.payload, refused("resource_busy"));
    assertEquals(world.router.status().phase, "open");
    assertEquals(control.calls, []);
    // A refusal stopped no timer.
    await world.advance(EXECUTOR_IDLE_MS);
    assertEquals(world.factory.executor.closes, 1);
  }));

Deno.test("a quiesce is busy beside an owner whose outcome is unknown", () => {
  let unknown = true;
  const service: RuntimeServiceFactory = (port) => ({
    ...holdingService(Promise.resolve())(port),
    unknownOwners: () => unknown ? [{ owner: "x", remedy: "y" }] : [],
  });
  return inPlain(async (world) => {
    await world.send("environment_quiesce", "q", suspension());
    assertEquals(world.frames.at(-1)?.payload, refused("resource_busy"));
    unknown = false;
    await suspended(world);
  }, { router: { services: [service] } });
});

Deno.test("a receipt that is still owed leaves before the acknowledgement, and nothing is admitted meanwhile", () =>
  inPlain(async (world) => {
    world.connection.hold(frameOf("interaction_decision_ack"));
    await world.send("prompt_cancel", "unknown", { delivery_id: "d" });
    await world.send("environment_quiesce", "q", suspension());
    await world.send("execution_prepare", "late", localPayload());
    await world.send("environment_quiesce", "again", suspension());
    await world.send("environment_resume", "r", suspension({ rollback: true }));
    assertEquals(world.frames, []);
    world.connection.release();
    await world.advance(0);
    assertEquals(world.frames.map(({ type, id }) => [type, id]), [
      ["interaction_decision_ack", "unknown"],
      ["environment_quiesced", "q"],
    ]);
    assertEquals(world.frames[1]?.payload, accepted);
    assertEquals(world.router.status().admissionRecords, 0);
  }));

Deno.test("work that outlasts the drain of 5 s makes the quiesce busy and leaves the admission closed", () => {
  const held = deferred<void>();
  return inPlain(async (world, control) => {
    await world.send("hold");
    await world.send("environment_quiesce", "q", suspension());
    await world.advance(4_999);
    assertEquals(world.frames, []);
    await world.advance(1);
    assertEquals(world.frames.at(-1)?.payload, refused("resource_busy"));
    assertEquals(await suspensionOf(world).ended, "broken_off");
    assertEquals(control.calls, []);
    await world.send("execution_prepare", "late", localPayload());
    assertEquals(world.frames.length, 1);
    held.resolve();
  }, { router: { services: [holdingService(held.promise)] } });
});

Deno.test("a shutdown during the drain ends it without a reply", () => {
  const held = deferred<void>();
  return inPlain(async (world, control) => {
    await world.send("hold");
    await world.send("environment_quiesce", "q", suspension());
    const down = world.router.shutdown();
    held.resolve();
    await down;
    await world.advance(10_000);
    assertEquals(world.frames, []);
    assertEquals(control.calls, []);
  }, { router: { services: [holdingService(held.promise)] } });
});

Deno.test("device_shutdown is carried out behind the closed admission, and the quiesce is not acknowledged", () => {
  const held = deferred<void>();
  return inPlain(async (world) => {
    await world.send("hold");
    await world.send("environment_quiesce", "q", suspension());
    await world.send("device_shutdown");
    held.resolve();
    await world.router.shutdownRequested;
    await settleEvents();
    assertEquals(world.frames.map(({ payload }) => payload), [
      refused("resource_busy"),
    ]);
    assertEquals(world.router.draining, true);
  }, { router: { services: [holdingService(held.promise)] } });
});

Deno.test("a control that cannot be armed breaks the suspension off", () =>
  inPlain(async (world, control) => {
    control.onArm = () => Promise.reject(new Error("disk full"));
    await world.send("environment_quiesce", "q", suspension());
    assertEquals(world.frames.at(-1)?.payload, refused("resource_busy"));
    assertEquals(await suspensionOf(world).ended, "broken_off");
    assertEquals(control.calls, ["arm s", "disarm"]);
  }));

Deno.test("a shutdown while the control is armed waits for it and disarms it", () => {
  const arming = deferred<void>();
  return inPlain(async (world, control) => {
    control.onArm = () => arming.promise;
    await world.send("environment_quiesce", "q", suspension());
    let confirmed = false;
    const down = world.router.shutdown().then(() => confirmed = true);
    await settleEvents();
    assertEquals(confirmed, false);
    arming.resolve();
    await down;
    assertEquals(control.calls, ["arm s", "disarm"]);
    assertEquals(world.frames, []);
  });
});

Deno.test("an acknowledgement that does not leave within 5 s disarms and breaks off", () =>
  inPlain(async (world, control) => {
    world.connection.hold(frameOf("environment_quiesced"));
    await world.send("environment_quiesce", "q", suspension());
    assertEquals(control.armed, "s");
    await world.advance(5_000);
    assertEquals(await suspensionOf(world).ended, "broken_off");
    assertEquals(control.calls, ["arm s", "disarm"]);
    assertEquals(await firstFrame(world), "refused");
  }));

Deno.test("a resumed router serves on the new connection with the Executor it kept", () =>
  inSuspendable(async (world, control) => {
    await idleExecutor(world);
    const before = world.world.frames.length + 1;
    await suspended(world.world);
    const { executors } = world.world.router.status();
    const next = new FakeConnection();
    const payload = suspension({ rollback: true });
    assertEquals(await firstFrame(world.world, { payload }, next), "resumed");
    assertEquals(
      next.frames.map(({ type, id, payload }) => [type, id, payload]),
      [
        ["environment_resumed", "r", accepted],
      ],
    );
    assertEquals(control.calls, ["arm s", "disarm"]);
    assertEquals(control.lastResumed, "s");
    world.send("execution_prepare", "next", localPayload());
    await world.quiet();
    assertEquals(world.world.frames.length, before);
    const status = next.frames.at(-1)?.payload;
    assertEquals(status.reused, true);
    assertEquals(status.executor_id, executors[0]?.id);
    next.end();
  }));

Deno.test("a resumed router can be suspended again, under its new connection", () =>
  inPlain(async (world, control) => {
    await suspended(world);
    const next = new FakeConnection();
    assertEquals(await firstFrame(world, {}, next), "resumed");
    const again = suspension({ suspend_id: "second" });
    await world.send("environment_quiesce", "q2", again);
    assertEquals(next.frames.at(-1)?.payload, { ...again, accepted: true });
    assertEquals(await suspensionOf(world).ended, "suspended");
    assertEquals(control.lastResumed, undefined);
    assertEquals(await firstFrame(world), "refused");
    assertEquals(await firstFrame(world, { payload: again }), "resumed");
  }));

const wrong: Readonly<
  Record<string, { readonly type?: string; readonly payload?: unknown }>
> = {
  "a heartbeat": { type: "heartbeat", payload: {} },
  "another request with the same payload": { type: "environment_quiesce" },
  "another suspension": { payload: suspension({ suspend_id: "other" }) },
  "another Environment": { payload: suspension({ environment_id: "other" }) },
  "no payload": { payload: undefined },
  "a rollback of another suspension": {
    payload: suspension({ suspend_id: "other", rollback: true }),
  },
};

for (const [what, frame] of Object.entries(wrong)) {
  Deno.test(`${what} as first frame resumes nothing and changes nothing`, () =>
    inPlain(async (world, control) => {
      await suspended(world);
      const next = new FakeConnection();
      assertEquals(await firstFrame(world, frame, next), "refused");
      assertEquals(next.frames, []);
      assertEquals(world.router.status().phase, "suspended");
      assertEquals(control.armed, "s");
      assertEquals(await firstFrame(world), "resumed");
    }));
}

/** Idle timers of this clock fire although they were cancelled: they were on their way. */
class LateTimers extends VirtualClock {
  override after(milliseconds: number, callback: () => void) {
    const timer = super.after(milliseconds, callback);
    return milliseconds === EXECUTOR_IDLE_MS ? { cancel() {} } : timer;
  }
}

Deno.test("an idle timer of before the suspension does nothing, one of after the resume expires", async () => {
  const clock = new LateTimers();
  await inBoundWorld(async (bound) => {
    await idleExecutor(bound);
    const { world } = bound;
    await world.advance(EXECUTOR_IDLE_MS - 1);
    await suspended(world);
    await world.advance(2 * EXECUTOR_IDLE_MS);
    assertEquals(world.factory.executor.closes, 0);
    assertEquals(await firstFrame(world), "resumed");
    await world.advance(EXECUTOR_IDLE_MS - 1);
    assertEquals(world.factory.executor.closes, 0);
    await world.advance(1);
    assertEquals(world.factory.executor.closes, 1);
  }, { suspension: new RecordingControl(), clock });
});

Deno.test("an Executor that dies while suspended is closed, and the router can still be resumed", () =>
  inSuspendable(async (bound) => {
    await idleExecutor(bound);
    const { world } = bound;
    await suspended(world);
    world.factory.executor.retire();
    await world.advance(0);
    assertEquals(world.factory.executor.closes, 1);
    assertEquals(await firstFrame(world), "resumed");
    assertEquals(world.router.status().executors, []);
  }));

Deno.test("the shutdown of a suspended router closes what it kept; no resume follows", () =>
  inSuspendable(async (bound, control) => {
    await idleExecutor(bound);
    const { world } = bound;
    await suspended(world);
    await world.router.shutdown();
    assertEquals(world.factory.executor.closes, 1);
    assertEquals(control.armed, undefined);
    assertEquals(await firstFrame(world), "refused");
  }));

Deno.test("a resume whose answer does not leave is lost: only the token is kept, for a fresh router", async () => {
  const control = new RecordingControl();
  const router = { suspension: control };
  await inWorld(async (world) => {
    await suspended(world);
    const next = new FakeConnection();
    next.end();
    assertEquals(await firstFrame(world, {}, next), "lost");
    assertEquals(control.armed, undefined);
  }, { router });
  await inWorld(async (world) => {
    await world.send("environment_resume", "r", suspension());
    assertEquals(world.frames.at(-1)?.payload, accepted);
  }, { router });
});

const repeated: readonly (readonly [string, object, boolean])[] = [
  ["the last resumed suspension", { suspend_id: "an earlier one" }, true],
  ["another suspension", {}, false],
  ["a rollback", { rollback: true }, true],
  ["a rollback that is false", { rollback: false }, false],
  ["a rollback for another Environment", {
    environment_id: "other",
    rollback: true,
  }, false],
  ["a suspension id of 129 bytes", {
    suspend_id: "s".repeat(129),
    rollback: true,
  }, false],
];

for (const [what, changes, yes] of repeated) {
  Deno.test(`a resume for ${what} on a serving router is ${yes ? "accepted" : "not_suspended"}`, () =>
    inPlain(async (world) => {
      const { rollback: _, ...ids } = suspension({ ...changes });
      await world.send("environment_resume", "r", suspension({ ...changes }));
      assertEquals(world.frames.at(-1)?.payload, {
        ...ids,
        accepted: yes,
        ...(yes ? {} : { error_code: "not_suspended" }),
      });
      assertEquals(world.router.status().phase, "open");
      await world.send("environment_resume", "r2", ids);
      assertEquals(world.frames.at(-1)?.payload.accepted, yes);
    }));
}

for (
  const [what, payload] of [
    ["over 1 KiB", suspension({ padding: "x".repeat(1_024), rollback: true })],
    ["without ids", {}],
  ] as const
) {
  Deno.test(`a resume ${what} is answered not_suspended with empty ids`, () =>
    inPlain(async (world) => {
      await world.send("environment_resume", "r", payload);
      assertEquals(world.frames.at(-1)?.payload, {
        environment_id: "",
        suspend_id: "",
        accepted: false,
        error_code: "not_suspended",
      });
    }));
}
