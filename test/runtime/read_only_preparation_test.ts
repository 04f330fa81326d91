import { assertEquals, assertRejects } from "@std/assert";
import { type Deferred, deferred } from "../../src/platform/deferred.ts";
import type { ReadOnlyResource } from "../../src/runtime/admission.ts";
import type {
  InstalledEnvironment,
  WorkspaceBinding,
} from "../../src/runtime/binding.ts";
import { ShutdownUnconfirmed } from "../../src/runtime/router_shutdown.ts";
import { frameOf } from "./fake_connection.ts";
import { declaration } from "./scripted_harness.ts";
import { inWorld, type World } from "./world.ts";

/** A bound workspace whose read access a test opens and closes by hand. */
class ScriptedBinding implements WorkspaceBinding {
  opens = 0;
  closes = 0;
  onOpen: "ready" | "fail" | "fail_retained" = "ready";
  onClose: "confirm" | "refuse" = "confirm";
  openGate: Deferred<void> | undefined;
  closeGate: Deferred<void> | undefined;
  prepareFails = false;

  resolve(environment: { readonly id: string }): ReturnType<
    WorkspaceBinding["resolve"]
  > {
    if (environment.id !== "environment") {
      return { ok: false, code: "invalid_configuration" };
    }
    return {
      ok: true,
      value: {
        workspaceRoot: "/bound",
        fingerprint: "",
        prepare: () => this.#prepare(),
      },
    };
  }

  refuseReadOnly(environment: { readonly id: string }) {
    const resolved = this.resolve(environment);
    return resolved.ok ? undefined : resolved.code;
  }

  async #prepare(): Promise<InstalledEnvironment> {
    await this.openGate?.promise;
    return this.prepareFails
      ? Promise.reject(new Error("workspace is gone"))
      : Promise.resolve({
        environment: {
          kind: "local",
          workspaceRoot: "/bound",
          toolEnvironment: {},
          skillDirectories: [],
        },
        mcpServers: [],
      });
  }

  async openReadOnly(): Promise<
    { readonly resource?: ReadOnlyResource; readonly error?: Error }
  > {
    this.opens++;
    await this.openGate?.promise;
    const resource = { close: () => this.#close() };
    if (this.onOpen === "ready") return { resource };
    const error = new Error("open failed");
    return this.onOpen === "fail" ? { error } : { resource, error };
  }

  async #close(): Promise<void> {
    this.closes++;
    await this.closeGate?.promise;
    if (this.onClose === "refuse") throw new Error("close refused");
  }
}

function readOnly(changes: Record<string, unknown> = {}): unknown {
  return {
    session_id: "",
    configuration: {
      agent_kind: "contract",
      run_id: "",
      workspace_read_only: true,
      agent_state_key: "k",
      local_environment: {
        id: "environment",
        workspace_directory: "/workspace",
        capability_sources: null,
      },
      ...changes,
    },
  };
}

async function bound(
  body: (world: World, binding: ScriptedBinding) => Promise<void>,
): Promise<void> {
  const binding = new ScriptedBinding();
  await inWorld((world) => body(world, binding), { router: { binding } });
}

async function ready(world: World): Promise<string> {
  await world.send("execution_prepare", "prepare", readOnly());
  assertEquals(world.words(), ["preparing(1)", "ready(2)"]);
  return world.status().handle;
}

Deno.test("a read-only handle needs no Harness and is released after the close", () =>
  bound(async (world, binding) => {
    const handle = await ready(world);
    assertEquals(world.status().executor_id, undefined);
    assertEquals(world.factory.prepares, 0);
    binding.closeGate = deferred();
    await world.send("execution_release", "prepare", { handle });
    await world.send("execution_release", "prepare", { handle });
    await world.send("execution_prepare", "prepare", readOnly());
    assertEquals(world.words(), []);
    binding.closeGate.resolve();
    await world.advance(0);
    assertEquals(world.words(), ["released(4)"]);
    assertEquals(binding.closes, 1);
    assertEquals(world.router.status().owningAdmissions, 0);
    await world.send("execution_release", "prepare", { handle });
    assertEquals(world.words(), ["released(4)"]);
  }));

const violations: readonly (readonly [string, Record<string, unknown>])[] = [
  ["no Environment", { local_environment: null }],
  ["no state key", { agent_state_key: "" }],
  ["a run id", { run_id: "run" }],
  ["an input", { input: [{ content: [] }] }],
  ["environment none", { disable_execution_environment: true }],
  ["options", { agent_options: { model: "m" } }],
  ["controls", {
    execution_controls: { web_search: "disabled", text_verbosity: "medium" },
  }],
  ["an empty server list", { mcp_http_servers: [] }],
  ["functions", {
    function_tools: [{ name: "f", description: "", parameters: {} }],
  }],
  ["tool search", { tool_search: true }],
  ["message observation", { observe_messages: true }],
  ["subagent observation", { observe_subagent_identities: true }],
  ["no subagents", { disable_subagents: true }],
  ["a subagent limit", { max_concurrent_subagents: 0 }],
  ["a native session", { agent_session_id: "n" }],
  ["required history", { require_existing_native_session: true }],
];

for (const [what, changes] of violations) {
  Deno.test(`the read-only profile refuses ${what}`, () =>
    bound(async (world, binding) => {
      await world.send("execution_prepare", "prepare", readOnly(changes));
      assertEquals(world.words(), [
        "rejected(0) unsupported_read_preparation",
      ]);
      assertEquals(binding.opens, 0);
    }));
}

Deno.test("the read-only profile needs its capability, the kind and the bound Environment", async () => {
  await inWorld(async (world) => {
    await world.send("execution_prepare", "prepare", readOnly());
    assertEquals(world.words(), ["rejected(0) unsupported_read_preparation"]);
  }, {
    router: { binding: new ScriptedBinding() },
    harness: {
      declaration: declaration({ workspace_read_preparation: "unsupported" }),
    },
  });
  await bound(async (world) => {
    const local_environment = {
      id: "foreign",
      workspace_directory: "/workspace",
      capability_sources: null,
    };
    for (
      const changes of [{ local_environment }, { agent_kind: "absent" }]
    ) await world.send("execution_prepare", "prepare", readOnly(changes));
    assertEquals(world.words(), [
      "rejected(0) invalid_configuration",
      "rejected(0) resource_unavailable",
    ]);
  });
});

Deno.test("a read-only handle cannot be started", () =>
  bound(async (world) => {
    const handle = await ready(world);
    await world.send("execution_start", "prepare", {
      executor_id: "e",
      handle,
      run_id: "run",
      input: [{ content: [{ type: "input_text", text: "x" }] }],
    });
    assertEquals(world.words(), ["rejected(0) read_only_preparation"]);
  }));

Deno.test("a failed close keeps the owner; each release is one attempt, the last one settles", () =>
  bound(async (world, binding) => {
    const handle = await ready(world);
    binding.onClose = "refuse";
    await world.send("execution_release", "prepare", { handle });
    assertEquals(world.words(), ["failed(4) cleanup_unconfirmed"]);
    assertEquals(world.router.status().owningAdmissions, 1);
    world.connection.fail(frameOf("preparation_status"));
    await world.send("execution_release", "prepare", { handle });
    await world.advance(60_000);
    world.connection.heal();
    assertEquals(binding.closes, 2);
    binding.onClose = "confirm";
    await world.send("execution_release", "prepare", { handle });
    assertEquals(binding.closes, 3);
    assertEquals(world.words(), ["released(8)"]);
    assertEquals(world.router.status().owningAdmissions, 0);
  }));

Deno.test("an expired read-only handle is announced after its close", () =>
  bound(async (world, binding) => {
    await ready(world);
    binding.closeGate = deferred();
    await world.advance(300_000);
    assertEquals(world.words(), []);
    binding.closeGate.resolve();
    await world.advance(0);
    assertEquals(world.words(), ["expired(4)"]);
  }));

Deno.test("a failed opening with a resource closes it before it says so", () =>
  bound(async (world, binding) => {
    binding.onOpen = "fail_retained";
    binding.closeGate = deferred();
    await world.send("execution_prepare", "prepare", readOnly());
    assertEquals(world.words(), ["preparing(1)"]);
    binding.closeGate.resolve();
    await world.advance(0);
    assertEquals(world.words().map((word) => word.replace(/\(.*\)/, "")), [
      "failed preparation_failed",
    ]);
    assertEquals(world.router.status().owningAdmissions, 0);
  }));

Deno.test("a release while the access is being opened is announced after the late close", () =>
  bound(async (world, binding) => {
    binding.openGate = deferred();
    await world.send("execution_prepare", "prepare", readOnly());
    const { handle } = world.status();
    await world.send("execution_release", "prepare", { handle });
    assertEquals(world.words(), ["preparing(1)"]);
    binding.openGate.resolve();
    await world.advance(0);
    assertEquals(binding.closes, 1);
    assertEquals(world.words(), ["released(3)"]);
  }));

Deno.test("read-only and executable preparations share four places", () =>
  bound(async (world) => {
    for (let index = 0; index < 3; index++) {
      await world.send("execution_prepare", `r${index}`, readOnly());
    }
    await world.ready("session", "executable");
    await world.send("execution_prepare", "r4", readOnly());
    assertEquals(world.status("r4").error_code, "preparation_capacity");
  }));

Deno.test("a shutdown closes read-only access once per attempt", () =>
  bound(async (world, binding) => {
    await ready(world);
    binding.onClose = "refuse";
    await assertRejects(() => world.router.shutdown(), ShutdownUnconfirmed);
    assertEquals(binding.closes, 1);
    binding.onClose = "confirm";
    await world.router.shutdown();
    assertEquals(binding.closes, 2);
  }));

const LOCAL = {
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
};

Deno.test("a preparation released while its workspace is verified reaches no adapter", () =>
  bound(async (world, binding) => {
    binding.openGate = deferred();
    await world.send("execution_prepare", "prepare", LOCAL);
    const { handle } = world.status();
    await world.send("execution_release", "prepare", { handle });
    binding.openGate.resolve();
    await world.advance(0);
    assertEquals(world.words(), ["preparing(1)", "released(2)"]);
    assertEquals(world.factory.prepares, 0);
    assertEquals(world.router.status().owningAdmissions, 0);
  }));

Deno.test("a bound daemon hands the adapter its workspace, and fails when it is not usable", () =>
  bound(async (world, binding) => {
    const payload = LOCAL;
    binding.prepareFails = true;
    await world.send("execution_prepare", "one", payload);
    assertEquals(world.words(), [
      "preparing(1)",
      "failed(2) preparation_failed",
    ]);
    assertEquals(world.factory.prepares, 0);
    binding.prepareFails = false;
    await world.send("execution_prepare", "two", payload);
    assertEquals(world.words(), ["preparing(1)", "ready(2)"]);
    const { environment } = world.factory.executor.configuration;
    assertEquals(
      environment.kind === "local" ? environment.workspaceRoot : "",
      "/bound",
    );
  }));

Deno.test("repeated requests that are not read wait as one answer", () =>
  bound(async (world) => {
    const handle = await ready(world);
    world.connection.hold(frameOf("preparation_status", "ready"));
    for (let index = 0; index < 20; index++) {
      await world.send("execution_prepare", "prepare", readOnly());
    }
    assertEquals(world.router.status().tasks.length, 1);
    await world.send("execution_release", "prepare", { handle });
    world.connection.release();
    await world.advance(0);
    assertEquals(world.words(), ["ready(2)", "released(4)"]);
  }));
