// What Core installed reaches the adapter as the bound Environment, and only when it fits the request.
import { assertEquals } from "@std/assert";
import type { PreparedConfiguration } from "../../src/harness/contract.ts";
import { skillText, zip } from "../environment/support.ts";
import {
  type BoundWorld,
  digest,
  ENVIRONMENT,
  inBoundWorld,
  initializeBegin,
  localPayload,
  SESSION,
  transferId,
} from "./bound_world.ts";

const skill = { type: "inline", name: "example", description: "Example" };
const plugin = { type: "inline", name: "plugin", description: "Server" };
const sources = { skills: [skill], plugins: [plugin] };
const owner = { environment_id: ENVIRONMENT, session_id: SESSION };

async function apply(
  world: BoundWorld,
  begin: unknown,
  number: number,
  data?: Uint8Array,
): Promise<void> {
  const id = transferId(number);
  world.send("runtime_prepare", id, begin);
  await world.reply("runtime_prepare_result", id);
  if (data) await world.body("runtime_prepare", id, data);
  world.send("runtime_prepare", id, { step: "commit" });
  const { outcome } = await world.reply("runtime_prepare_result", id);
  assertEquals(outcome, "completed");
}

function archiveBegin(
  members: Record<string, unknown>,
  data: Uint8Array,
): unknown {
  return {
    step: "begin",
    ...owner,
    ...members,
    size_bytes: data.length,
    sha256: digest(data),
  };
}

/** Installs one Skill and one plugin with the server `lab`. */
async function install(world: BoundWorld): Promise<void> {
  const configure = { action: "configure", env: { NAME: "value" } };
  await apply(world, initializeBegin(configure), 1);
  const first = await zip([{ name: "s/SKILL.md", text: skillText() }]);
  await apply(world, archiveBegin({ action: "skill", skill }, first), 2, first);
  const second = await zip([
    {
      name: "p/.codex-plugin/plugin.json",
      text: JSON.stringify({ name: "plugin", description: "Server" }),
    },
    {
      name: "p/.mcp.json",
      text: JSON.stringify({ mcpServers: { lab: { command: "run" } } }),
    },
  ]);
  await apply(
    world,
    archiveBegin({ action: "plugin", plugin, slot: 0 }, second),
    3,
    second,
  );
  await apply(
    world,
    { step: "begin", ...owner, action: "finalize", sources },
    4,
  );
}

async function prepared(
  world: BoundWorld,
  changes: Record<string, unknown> = {},
  environment: Record<string, unknown> = {},
  id = "p",
): Promise<string> {
  const payload = localPayload(
    { capability_sources: sources, tool_environment: true, ...environment },
    changes,
  );
  world.send("execution_prepare", id, payload);
  await world.reply("preparation_status", id);
  const { state, error_code } = await world.reply("preparation_status", id);
  return error_code ?? state;
}

function server(label: string): Record<string, unknown> {
  return {
    server_label: label,
    server_url: "https://mcp.example/",
    allowed_tools: null,
    required: false,
    connection_origin: "environment",
  };
}

Deno.test("the adapter gets the workspace, the Skills, the variables and the servers, declared and installed", () =>
  inBoundWorld(async (world) => {
    await install(world);
    assertEquals(
      await prepared(world, { mcp_http_servers: [server("declared")] }),
      "ready",
    );
    const configuration: PreparedConfiguration =
      world.world.factory.executor.configuration;
    const { environment, mcpServers } = configuration;
    assertEquals(
      mcpServers?.map(({ label, transport }) => `${label} ${transport}`),
      ["declared http", "lab stdio"],
    );
    if (environment.kind !== "local") throw new Error("not local");
    assertEquals(environment.workspaceRoot, world.workspace);
    assertEquals(environment.toolEnvironment["NAME"], "value");
    assertEquals(environment.skillDirectories, [
      `${world.folder}/capabilities/skills/example`,
    ]);
  }));

Deno.test("a declared server with the label of an installed one fails the preparation before anything native", () =>
  inBoundWorld(async (world) => {
    await install(world);
    assertEquals(
      await prepared(world, { mcp_http_servers: [server("lab")] }),
      "preparation_failed",
    );
    assertEquals(world.world.factory.prepares, 0);
  }));

Deno.test("another selection than the sealed one fails the preparation before anything native", () =>
  inBoundWorld(async (world) => {
    await install(world);
    const other = { skills: [skill] };
    assertEquals(
      await prepared(world, {}, { capability_sources: other }),
      "preparation_failed",
    );
    assertEquals(world.world.factory.prepares, 0);
    assertEquals(await prepared(world, {}, {}, "again"), "ready");
  }));

Deno.test("variables that were never configured fail a preparation that needs them", () =>
  inBoundWorld(async (world) => {
    assertEquals(
      await prepared(world, {}, { capability_sources: null }),
      "preparation_failed",
    );
    assertEquals(world.world.factory.prepares, 0);
  }));
