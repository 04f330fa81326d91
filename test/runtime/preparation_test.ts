import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { deferred } from "../../src/platform/deferred.ts";
import type {
  RuntimeService,
  ServiceWork,
} from "../../src/runtime/service_host.ts";
import { frameOf } from "./fake_connection.ts";
import {
  declaration,
  discovered,
  ScriptedFactory,
} from "./scripted_harness.ts";
import { inWorld, prepare, type World } from "./world.ts";

const IDLE_WORK: ServiceWork = {
  transfer: false,
  write: false,
  export: false,
  reads: 0,
};

/** A service that only claims to be at work. */
function scriptedService(work: () => ServiceWork): RuntimeService {
  return {
    frames: ["workspace_write"],
    handle() {},
    work,
    unknownOwners: () => [],
    close() {},
  };
}

interface Request {
  id: string;
  // deno-lint-ignore no-explicit-any -- the payload is malformed on purpose
  payload: any;
}

/** One way to be refused, in the order of the checks. */
interface Violation {
  readonly what: string;
  readonly code: string;
  readonly violate: (request: Request, world: World) => void | Promise<void>;
}

const work = { present: IDLE_WORK };

const violations: readonly Violation[] = [
  {
    what: "a blank request id",
    code: "invalid_request",
    violate: (request) => void (request.id = "\u0085 "),
  },
  {
    what: "a foreign state key",
    code: "invalid_configuration",
    violate: (request) =>
      void (request.payload.configuration.agent_state_key = "agents-api-x"),
  },
  {
    what: "an unknown kind",
    code: "resource_unavailable",
    violate: (request) =>
      void (request.payload.configuration.agent_kind = "absent"),
  },
  {
    what: "a kind without preparation",
    code: "unsupported_preparation",
    violate: (request) =>
      void (request.payload.configuration.agent_kind = "unprepared"),
  },
  {
    what: "a foreign agent option",
    code: "unsupported_configuration",
    violate: (request) =>
      void (request.payload.configuration.agent_options = { effort: 1 }),
  },
  {
    what: "a write in progress",
    code: "resource_unavailable",
    violate: () => void (work.present = { ...IDLE_WORK, write: true }),
  },
  {
    what: "a known request id with other content",
    code: "request_conflict",
    violate: async (request, world) => {
      const { present } = work;
      work.present = IDLE_WORK;
      await world.send(
        "execution_prepare",
        request.id,
        prepare("another session"),
      );
      work.present = present;
    },
  },
];

async function rejectedWith(chosen: readonly Violation[]): Promise<string> {
  work.present = IDLE_WORK;
  let code = "";
  await inWorld(async (world) => {
    world.registry.register(
      discovered(new ScriptedFactory(), {
        kind: "unprepared",
        declaration: declaration({ preparation: "unsupported" }),
      }),
    );
    const request: Request = { id: "prepare", payload: prepare() };
    for (const { violate } of chosen.toReversed()) {
      await violate(request, world);
    }
    const before = world.factory.prepares;
    await world.send("execution_prepare", request.id, request.payload);
    const { payload, id } = world.frames.at(-1) ?? {};
    assertEquals(id, request.id);
    assertEquals(payload.state, "rejected");
    assertEquals(payload.revision, 0);
    assertEquals(payload.operation, "execution_prepare");
    assertEquals(world.factory.prepares, before);
    code = payload.error_code;
  }, {
    router: { services: [() => scriptedService(() => work.present)] },
  });
  return code;
}

for (const violation of violations) {
  Deno.test(`a prepare with ${violation.what} is rejected as ${violation.code}`, async () => {
    assertEquals(await rejectedWith([violation]), violation.code);
  });
}

Deno.test("of two violated rules of a prepare the earlier one answers", async () => {
  for (const [index, first] of violations.entries()) {
    for (const second of violations.slice(index + 1)) {
      const code = await rejectedWith([first, second]);
      assertEquals(code, first.code, `${first.what} and ${second.what}`);
    }
  }
});

const malformed: readonly (readonly [string, unknown, string])[] = [
  ["no payload", undefined, "invalid_request"],
  ["a payload that is no object", [], "invalid_request"],
  ["a blank session", prepare(" "), "invalid_configuration"],
  ["a run id", prepare("session", { run_id: "run" }), "invalid_configuration"],
  [
    "an input",
    prepare("session", { input: [{ content: [] }] }),
    "invalid_configuration",
  ],
  [
    "no Environment choice",
    prepare("session", { disable_execution_environment: false }),
    "unsupported_configuration",
  ],
  [
    "a local Environment on an unbound daemon",
    {
      session_id: "session",
      configuration: {
        agent_kind: "contract",
        run_id: "",
        agent_state_key: "agents-api-session",
        local_environment: {
          id: "environment",
          workspace_directory: "/workspace",
          capability_sources: null,
        },
      },
    },
    "invalid_configuration",
  ],
  [
    "two MCP servers under one label",
    prepare("session", {
      mcp_http_servers: [0, 1].map(() => ({
        connection_origin: "service",
        server_label: "tools",
        server_url: "https://tools.example/",
        allowed_tools: null,
      })),
    }),
    "unsupported_configuration",
  ],
];

for (const [what, payload, code] of malformed) {
  Deno.test(`a prepare with ${what} is ${code} and reaches no factory`, () =>
    inWorld(async (world) => {
      await world.send("execution_prepare", "prepare", payload);
      assertEquals(world.words(), [`rejected(0) ${code}`]);
      assertEquals(world.factory.prepares, 0);
    }));
}

Deno.test("a kind that is unavailable is refused, whatever it declares", () =>
  inWorld(async (world) => {
    const { factory: _factory, ...unavailable } = discovered(
      new ScriptedFactory(),
    );
    world.registry.register({ ...unavailable, available: false });
    await world.send("execution_prepare", "prepare", prepare());
    assertEquals(world.words(), ["rejected(0) resource_unavailable"]);
  }));

Deno.test("a configuration the adapter refuses is unsupported and its reason stays local", () =>
  inWorld(async (world) => {
    world.factory.configurationRefusal = {
      reason: "the model is unknown here",
    };
    await world.send("execution_prepare", "prepare", prepare());
    assertEquals(world.words(), ["rejected(0) unsupported_configuration"]);
    assert(!JSON.stringify(world.frames).includes("model is unknown"));
    assert(world.log.text.includes("the model is unknown here"));
  }));

Deno.test("secrets of a configuration reach the adapter and no frame or log line", () =>
  inWorld(async (world) => {
    await world.ready("session", "prepare", {
      agent_options: {
        model: "m",
        model_provider: {
          protocol: "responses",
          base_url: "https://model.example/v1",
          api_key: "canary-provider-key",
        },
      },
      mcp_http_servers: [{
        connection_origin: "service",
        server_label: "tools",
        server_url: "https://tools.example/",
        allowed_tools: null,
        bearer_token: "canary-bearer",
      }],
    });
    const { configuration } = world.factory.executor;
    assertEquals(configuration.modelProvider?.api_key, "canary-provider-key");
    const [server] = configuration.mcpServers ?? [];
    assertEquals(
      server?.transport === "http" ? server.bearerToken : undefined,
      "canary-bearer",
    );
    const said = JSON.stringify(world.frames) + world.log.text;
    assert(!said.includes("canary"));
  }));

Deno.test("a failed preparation is announced after the close of what it left", () =>
  inWorld(async (world) => {
    world.factory.prepareMode = "fail_retained";
    const gate = deferred();
    world.factory.onExecutor = (executor) => (executor.closeGate = gate);
    await world.send("execution_prepare", "prepare", prepare());
    assertEquals(world.words(), ["preparing(1)"]);
    assertEquals(world.factory.executor.closes, 1);
    gate.resolve();
    await world.advance(0);
    assertEquals(world.words(), ["failed(2) preparation_failed"]);
    assertEquals(world.status().handle !== undefined, true);
    assertEquals(world.router.status().executors, []);
    assertEquals(world.router.status().owningAdmissions, 0);
  }));

Deno.test("a failed preparation whose close fails keeps its owner, and heals by itself", () =>
  inWorld(async (world) => {
    world.factory.prepareMode = "fail_retained";
    world.factory.onExecutor = (executor) => (executor.onClose = "refuse");
    await world.send("execution_prepare", "prepare", prepare());
    assertEquals(world.words(), [
      "preparing(1)",
      "failed(3) executor_cleanup_unconfirmed",
    ]);
    assertEquals(world.router.status().owningAdmissions, 1);
    assertEquals(world.router.status().executors[0]?.state, "uncertain");
    await world.advance(999);
    assertEquals(world.factory.executor.closes, 1);
    await world.advance(1);
    assertEquals(world.factory.executor.closes, 2);
    world.factory.executor.onClose = "confirm";
    await world.advance(2_000);
    assertEquals(world.factory.executor.closes, 3);
    assertEquals(world.router.status().owningAdmissions, 0);
    assertEquals(world.router.status().executors, []);
    assertEquals(world.factory.prepares, 1);
  }));

Deno.test("a preparation that fails without leaving anything is failed at once", () =>
  inWorld(async (world) => {
    world.factory.prepareMode = "fail";
    await world.send("execution_prepare", "prepare", prepare());
    assertEquals(world.words(), [
      "preparing(1)",
      "failed(2) preparation_failed",
    ]);
  }));

Deno.test("a release during the native preparation answers at once, and the late Executor is closed", () =>
  inWorld(async (world) => {
    world.factory.prepareGate = deferred();
    await world.send("execution_prepare", "prepare", prepare());
    const { handle } = world.status();
    await world.send("execution_release", "prepare", { handle });
    assertEquals(world.words(), ["preparing(1)", "released(2)"]);
    assertEquals(world.factory.owners[0]?.aborted, true);
    assertEquals(world.router.status().owningAdmissions, 1);
    world.factory.prepareGate.resolve();
    await world.advance(0);
    assertEquals(world.factory.executor.closes, 1);
    assertEquals(world.factory.executor.starts, 0);
    assertEquals(world.words(), []);
    assertEquals(world.router.status().owningAdmissions, 0);
  }));

Deno.test("a ready handle is released to an idle Executor", () =>
  inWorld(async (world) => {
    await world.ready();
    const { handle } = world.status();
    world.fresh();
    await world.send("execution_release", "prepare", { handle });
    await world.send("execution_release", "prepare", { handle });
    assertEquals(world.words(), ["released(3)", "released(3)"]);
    assertEquals(world.router.status().executors[0]?.state, "idle");
    assertEquals(world.factory.executor.closes, 0);
  }));

const releases: readonly (readonly [string, string, unknown, string])[] = [
  ["no payload", "prepare", undefined, "invalid_release"],
  ["an empty handle", "prepare", { handle: "" }, "invalid_release"],
  ["an unknown handle", "prepare", { handle: "x" }, "unknown_preparation"],
];

for (const [what, id, payload, code] of releases) {
  Deno.test(`a release with ${what} is ${code}`, () =>
    inWorld(async (world) => {
      await world.ready();
      world.fresh();
      await world.send("execution_release", id, payload);
      assertEquals(world.words(), [`rejected(0) ${code}`]);
      assertEquals(world.frames.at(-1)?.payload.operation, "execution_release");
    }));
}

Deno.test("a handle belongs to its request id", () =>
  inWorld(async (world) => {
    await world.ready();
    const { handle } = world.status();
    world.fresh();
    await world.send("execution_release", "other", { handle });
    assertEquals(world.words(), ["rejected(0) unknown_preparation"]);
    await world.send("execution_start", "other", world.startPayload());
    assertEquals(world.words(), ["rejected(0) unknown_preparation"]);
    assertEquals(world.router.status().executors[0]?.state, "ready");
  }));

Deno.test("releasing the handle of a running Run only repeats its status", () =>
  inWorld(async (world) => {
    await world.running();
    const { handle } = world.status();
    world.fresh();
    await world.send("execution_release", "prepare", { handle });
    assertEquals(world.words(), ["started(4)"]);
    assertEquals(world.factory.executor.turn.cancels, 0);
  }));

Deno.test("an identical prepare repeats the status and prepares nothing twice", () =>
  inWorld(async (world) => {
    world.factory.prepareGate = deferred();
    await world.send("execution_prepare", "prepare", prepare());
    await world.send("execution_prepare", "prepare", prepare());
    assertEquals(world.words(), ["preparing(1)", "preparing(1)"]);
    world.factory.prepareGate.resolve();
    await world.advance(0);
    await world.send("execution_prepare", "prepare", prepare());
    assertEquals(world.words(), ["ready(2)", "ready(2)"]);
    assertEquals(world.factory.prepares, 1);
  }));

Deno.test("an unused handle expires after five minutes and leaves a healthy Executor", () =>
  inWorld(async (world) => {
    await world.ready();
    const { handle, expires_at } = world.status();
    const old = world.startPayload();
    world.fresh();
    await world.advance(299_999);
    assertEquals(world.words(), []);
    await world.advance(1);
    assertEquals(world.words(), ["expired(3)"]);
    await world.send("execution_prepare", "prepare", prepare());
    assertEquals(world.words(), ["ready(1)"]);
    assertNotEquals(world.status().handle, handle);
    assertEquals(world.status().expires_at, expires_at + 300_000);
    await world.send("execution_start", "prepare", old);
    assertEquals(world.words(), ["rejected(0) unknown_preparation"]);
    assertEquals(world.factory.prepares, 1);
  }));

Deno.test("a preparation that expires keeps its place until the factory returned and the close was confirmed", () =>
  inWorld(async (world) => {
    world.factory.prepareGate = deferred();
    await world.send("execution_prepare", "prepare", prepare());
    await world.advance(300_000);
    assertEquals(world.words(), ["preparing(1)", "expired(2)"]);
    assertEquals(world.router.status().owningAdmissions, 1);
    world.factory.prepareGate.resolve();
    await world.advance(0);
    assertEquals(world.factory.executor.closes, 1);
    assertEquals(world.router.status().owningAdmissions, 0);
  }));

Deno.test("a status that cannot be delivered gives the handle up", async () => {
  for (const state of ["preparing", "ready"]) {
    await inWorld(async (world) => {
      world.connection.fail(frameOf("preparation_status", state));
      await world.send("execution_prepare", "prepare", prepare());
      world.connection.heal();
      assertEquals(world.factory.prepares, state === "preparing" ? 0 : 1);
      assertEquals(world.router.status().owningAdmissions, 0);
      assertEquals(
        world.router.status().executors.map((executor) => executor.state),
        state === "preparing" ? [] : ["idle"],
      );
      // Core can still learn what became of the handle: it repeats its request.
      world.fresh();
      await world.send("execution_prepare", "prepare", prepare());
      const revision = state === "preparing" ? 2 : 3;
      assertEquals(world.words(), [
        `failed(${revision}) status_delivery_failed`,
      ]);
    });
  }
});

Deno.test("a status has five seconds to leave", () =>
  inWorld(async (world) => {
    world.connection.hold(frameOf("preparation_status", "preparing"));
    await world.send("execution_prepare", "prepare", prepare());
    await world.advance(4_999);
    assertEquals(world.router.status().owningAdmissions, 1);
    await world.advance(1);
    assertEquals(world.router.status().owningAdmissions, 0);
    world.connection.release();
    await world.advance(0);
    assertEquals(world.factory.prepares, 0);
  }));

Deno.test("statuses of one handle leave in the order of their revisions", () =>
  inWorld(async (world) => {
    world.connection.hold(frameOf("preparation_status", "preparing"));
    await world.send("execution_prepare", "prepare", prepare());
    const { handle } = world.status() ?? {};
    assertEquals(handle, undefined);
    world.connection.release();
    await world.advance(0);
    assertEquals(world.words(), ["preparing(1)", "ready(2)"]);
  }));

Deno.test("four preparations are owned at once and the fifth waits its turn", () =>
  inWorld(async (world) => {
    for (let index = 0; index < 4; index++) {
      await world.ready(`session ${index}`, `prepare ${index}`);
    }
    await world.send("execution_prepare", "prepare 4", prepare("session 4"));
    assertEquals(world.status("prepare 4").error_code, "preparation_capacity");
    const { handle } = world.status("prepare 0");
    await world.send("execution_release", "prepare 0", { handle });
    await world.ready("session 4", "prepare 4");
  }));

Deno.test("64 records are kept: the oldest that owns nothing goes first", () =>
  inWorld(async (world) => {
    for (let index = 0; index < 70; index++) {
      const requestId = `prepare ${index}`;
      await world.ready("session", requestId);
      const { handle } = world.status(requestId);
      await world.send("execution_release", requestId, { handle });
    }
    assertEquals(world.router.status().admissionRecords, 64);
    const first = world.status("prepare 0").handle;
    const last = world.status("prepare 69").handle;
    await world.send("execution_release", "prepare 69", { handle: last });
    assertEquals(world.frames.at(-1)?.payload.state, "released");
    await world.send("execution_release", "prepare 0", { handle: first });
    assertEquals(
      world.frames.at(-1)?.payload.error_code,
      "unknown_preparation",
    );
  }));

Deno.test("a later declaration adds nothing to an admitted Executor", () =>
  inWorld(async (world) => {
    await world.running();
    world.registry.register(
      discovered(world.factory, { declaration: declaration() }),
    );
    await world.send("function_result", "run", {
      delivery_id: "d",
      call_id: "c",
      success: true,
      content: [],
    });
    assertEquals(world.frames.at(-1)?.payload.error_code, "unsupported");
    assertEquals(world.factory.executor.turn.submits.length, 0);
  }, {
    harness: { declaration: declaration({ function_tools: "unsupported" }) },
  }));

Deno.test("an engine that gives up a ready Executor fails its handle", () =>
  inWorld(async (world) => {
    await world.ready();
    world.fresh();
    world.factory.executor.retire();
    await world.advance(0);
    assertEquals(world.words(), ["failed(3) executor_unavailable"]);
    assertEquals(world.factory.executor.closes, 1);
    assertEquals(world.router.status().executors, []);
  }));

Deno.test("a record that owns its preparation is not dropped for newer ones", () =>
  inWorld(async (world) => {
    await world.ready("kept", "kept");
    for (let index = 0; index < 70; index++) {
      const requestId = `prepare ${index}`;
      await world.ready("session", requestId);
      const { handle } = world.status(requestId);
      await world.send("execution_release", requestId, { handle });
    }
    await world.send(
      "execution_start",
      "kept",
      world.startPayload("run", "kept"),
    );
    assertEquals(world.status("kept").state, "started");
  }));
