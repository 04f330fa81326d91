import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { ServiceHost } from "../../src/runtime/service_host.ts";
import type { ServicePort } from "../../src/runtime/service_host.ts";
import { inWorld, prepare, World } from "./world.ts";

Deno.test("an unknown frame type is logged, escaped and short, and not answered", () =>
  inWorld(async (world) => {
    await world.send(`bad\u001b[31m${"x".repeat(500)}`, "id", { secret: "s" });
    await world.send("toString");
    await world.send("__proto__");
    assertEquals(world.frames, []);
    const warnings = world.log.events.filter(({ event }) =>
      event === "unknown envelope type"
    );
    assertEquals(warnings.length, 3);
    const type = warnings[0]?.fields.type;
    assert(typeof type === "string" && type.length < 100);
    assert(!type.includes("\u001b"));
    assert(!world.log.text.includes("secret"));
  }));

Deno.test("a handler that throws is a logged bug and ends nothing", async () => {
  const world = new World({
    router: {
      services: [() => ({
        frames: ["workspace_read"],
        handle() {
          throw new Error("bug");
        },
        work: () => ({
          transfer: false,
          write: false,
          export: false,
          reads: 0,
        }),
        unknownOwners: () => [],
        close() {},
      })],
    },
  });
  await world.send("workspace_read", "id");
  assert(
    world.log.events.some(({ event }) => event === "frame handler failed"),
  );
  await world.ready();
  world.connection.end();
  await world.router.shutdown();
});

Deno.test("an adapter check that throws refuses, and is logged", () =>
  inWorld(async (world) => {
    const bug = () => {
      throw new Error("adapter bug");
    };
    await world.ready();
    const payload = world.startPayload();
    world.fresh();
    world.factory.checkInput = bug;
    await world.send("execution_start", "prepare", payload);
    world.factory.checkConfiguration = bug;
    await world.send("execution_prepare", "other", prepare("other"));
    assertEquals(world.words(), [
      "rejected(0) invalid_start",
      "rejected(0) unsupported_configuration",
    ]);
    assertEquals(
      world.log.events.filter(({ event }) => event === "adapter check failed")
        .length,
      2,
    );
  }));

Deno.test("a reply repeats a valid trace and replaces a malformed one", () =>
  inWorld(async (world) => {
    const trace = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`;
    for (const given of [trace, "00-zz", undefined]) {
      world.receive({
        type: "prompt_cancel",
        id: "run",
        payload: { delivery_id: "d" },
        ...(given === undefined ? {} : { trace: given }),
      });
    }
    await world.advance(0);
    const traces = world.frames.map(({ trace }) => trace ?? "");
    assertEquals(traces[0], trace);
    for (const local of traces.slice(1)) {
      assert(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/.test(local));
    }
  }));

Deno.test("replies to a flood that is not read are bounded", () =>
  inWorld(async (world) => {
    world.connection.hold(() => true);
    for (let index = 0; index < 1_000; index++) {
      world.receive({
        type: "prompt_cancel",
        id: "absent",
        payload: { delivery_id: `${index}` },
      });
    }
    await world.advance(0);
    assertEquals(world.connection.waiting, 256);
    assertEquals(world.router.status().tasks.length, 256);
    await world.advance(5_000);
    assertEquals(world.router.status().tasks.length, 0);
  }));

Deno.test("status names what is owned and what runs", () =>
  inWorld(async (world) => {
    await world.running();
    await world.ready("other", "other");
    const status = world.router.status();
    assertEquals(status.phase, "open");
    assertEquals(status.runs, [{
      id: "run",
      executorId: world.status().executor_id,
      state: "running",
      owedReceipts: 0,
    }]);
    assertEquals(status.executors.map(({ kind, state }) => [kind, state]), [
      ["contract", "running"],
      ["contract", "ready"],
    ]);
    assertEquals(status.tasks, ["forward run run"]);
    assertEquals(world.router.activeRuns, 1);
  }));

Deno.test("a service sees the present work and where it may read", async () => {
  let port: ServicePort | undefined;
  await inWorld(async (world) => {
    await world.ready("reserved", "reserved");
    await world.running();
    assertEquals(port?.runtimeWork(), {
      runs: 1,
      activeExecutors: 2,
      idleExecutors: 0,
      ownedAdmissions: 1,
      openInteractions: 0,
    });
    const { handle } = world.status("reserved");
    const target = port?.readyHandle(handle);
    assertEquals(target?.environmentId, "");
    assertEquals(target?.readOnly, false);
    assertEquals(target?.ended.aborted, false);
    await world.send("execution_release", "reserved", { handle });
    assertEquals(target?.ended.aborted, true);
    assertEquals(port?.readyHandle(handle), undefined);
    const run = port?.publishedRun("run");
    assertEquals(run?.ended.aborted, false);
    await world.send("prompt_cancel", "run");
    assertEquals(run?.ended.aborted, true);
    assertEquals(port?.publishedRun("run"), undefined);
  }, {
    router: {
      services: [(given) => {
        port = given;
        return {
          frames: [],
          handle() {},
          work: () => ({
            transfer: false,
            write: false,
            export: false,
            reads: 0,
          }),
          unknownOwners: () => [],
          close() {},
        };
      }],
    },
  });
});

Deno.test("a frame type has one service", () => {
  const host = new ServiceHost();
  const service = {
    frames: ["workspace_read"],
    handle() {},
    work: () => ({ transfer: true, write: false, export: false, reads: 2 }),
    unknownOwners: () => [{ owner: "o", remedy: "r" }],
    close() {},
  };
  host.add(service);
  assertThrows(() => host.add(service), RangeError, "workspace_read");
  assertEquals(host.excludesExecution(), true);
  assertEquals(host.unknownOwners().length, 1);
});

Deno.test("a shutdown closes the services before it interrupts them, and an unknown owner keeps it open", async () => {
  const order: string[] = [];
  const unknown = [{ owner: "workspace write", remedy: "look at the file" }];
  const world = new World({
    router: {
      services: [(port) => {
        port.shutdown.addEventListener("abort", () => order.push("interrupt"));
        return {
          frames: [],
          handle() {},
          work: () => ({
            transfer: false,
            write: true,
            export: false,
            reads: 0,
          }),
          unknownOwners: () => unknown,
          close: () => void order.push("close"),
        };
      }],
    },
  });
  await assertRejects(() => world.router.shutdown(), Error, "workspace write");
  assertEquals(order, ["close", "interrupt"]);
  assertEquals(world.router.status().unknownOwners, unknown);
  unknown.length = 0;
  await world.router.shutdown();
  assertEquals(order, ["close", "interrupt"]);
});
