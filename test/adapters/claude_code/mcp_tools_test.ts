import { assertEquals, assertRejects } from "@std/assert";
import type { McpBinding } from "../../../src/harness/contract.ts";
import { ControlChannel } from "../../../adapters/claude_code/control_channel.ts";
import {
  mcpDeclarations,
  McpTools,
  McpUnavailable,
} from "../../../adapters/claude_code/mcp_tools.ts";
import { NATIVE_SETTINGS } from "../../../adapters/claude_code/native_settings.ts";
import { readFrame } from "../../../adapters/claude_code/native_frames.ts";
import { systemIds } from "../../../src/platform/ids.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { FakeChild } from "./fake_claude.ts";

interface Server {
  readonly name: string;
  readonly status: string;
  readonly tools?: readonly { readonly name: string }[];
}

function binding(label: string, members: object = {}): McpBinding {
  return {
    label,
    origin: "service",
    allowedTools: null,
    required: false,
    transport: "http",
    url: "https://mcp.example",
    ...members,
  } as McpBinding;
}

/** A program whose servers are as the test says; answers every request at once. */
function lab(servers: () => readonly Server[]) {
  const clock = new VirtualClock();
  const child = new FakeChild();
  const control = new ControlChannel(child, clock, systemIds);
  const write = child.write.bind(child);
  child.write = async (value: unknown) => {
    await write(value);
    const { request_id, request } = value as {
      request_id: string;
      request: { subtype: string };
    };
    const frame = readFrame({
      type: "control_response",
      response: {
        subtype: "success",
        request_id,
        response: request.subtype === "mcp_status"
          ? { mcpServers: servers() }
          : {},
      },
    });
    if (frame?.type === "control_response") control.answered(frame);
  };
  const requests = (subtype: string) =>
    child.written.flatMap(({ request }) =>
      request?.subtype === subtype ? [request] : []
    );
  return { clock, control, requests };
}

Deno.test("a slow required server fails the preparation after its deadline", async () => {
  const { clock, control } = lab(() => [{ name: "a", status: "pending" }]);
  const tools = new McpTools([binding("a", { required: true })]);
  const failed = assertRejects(
    () => tools.settle(control, clock),
    McpUnavailable,
  );
  await clock.advance(31_000);
  await failed;
  assertEquals(clock.pendingTimers, 0);
});

for (const status of ["failed", "needs-auth", "disabled", "something_new"]) {
  Deno.test(`a required server that is ${status} fails at once`, async () => {
    const { clock, control } = lab(() => [{ name: "a", status }]);
    await assertRejects(
      () =>
        new McpTools([binding("a", { required: true })]).settle(control, clock),
      McpUnavailable,
    );
  });
}

Deno.test("a slow optional server is switched off, so that it cannot come later", async () => {
  const { clock, control, requests } = lab(() => [
    { name: "slow", status: "pending" },
    { name: "up", status: "connected", tools: [{ name: "t" }] },
  ]);
  const tools = new McpTools([binding("slow"), binding("up")]);
  const settled = tools.settle(control, clock);
  await clock.advance(11_000);
  await settled;
  assertEquals(
    requests("mcp_toggle").map(({ serverName, enabled }) => [
      serverName,
      enabled,
    ]),
    [["slow", false]],
  );
  assertEquals(tools.identity("mcp__up__t"), { server: "up", tool: "t" });
});

Deno.test("what is not allowed is hidden before any input", async () => {
  const { clock, control, requests } = lab(() => [{
    name: "a",
    status: "connected",
    tools: [{ name: "one" }, { name: "two.x" }],
  }]);
  const tools = new McpTools([binding("a", { allowedTools: ["one"] })]);
  await tools.settle(control, clock);
  assertEquals(
    requests("apply_flag_settings").map(({ settings }) => settings),
    [
      { ...NATIVE_SETTINGS, permissions: { deny: ["mcp__a__two_x"] } },
    ],
  );
  assertEquals(tools.identity("mcp__a__two_x"), undefined);
  assertEquals(tools.identity("mcp__a__later"), undefined);
  assertEquals(tools.identity("mcp__b__one"), undefined);
});

Deno.test("two tools of one native name are never told apart by chance", async () => {
  for (const allowedTools of [null, ["x.y"]]) {
    const { clock, control } = lab(() => [{
      name: "a",
      status: "connected",
      tools: [{ name: "x.y" }, { name: "x_y" }],
    }]);
    await assertRejects(
      () =>
        new McpTools([binding("a", { allowedTools })]).settle(control, clock),
      McpUnavailable,
    );
  }
});

Deno.test("the headers of an installed server are sent, and an Authorization is always said", () => {
  const http = (members: Partial<McpBinding>) =>
    mcpDeclarations([{
      label: "web",
      origin: "environment",
      transport: "http",
      url: "https://mcp.example/",
      allowedTools: null,
      required: false,
      ...members,
    } as McpBinding])["web"];
  const declared = (headers: Record<string, string>) => ({
    type: "http",
    url: "https://mcp.example/",
    headers,
    alwaysLoad: true,
  });
  assertEquals(http({}), declared({ Authorization: "" }));
  assertEquals(
    http({ headers: { "X-Kind": "k" } }),
    declared({ "X-Kind": "k", Authorization: "" }),
  );
  assertEquals(
    http({ headers: { authorization: "Basic eA==" } }),
    declared({ authorization: "Basic eA==" }),
  );
  assertEquals(
    http({ headers: { "X-Kind": "k" }, bearerToken: "t" }),
    declared({ "X-Kind": "k", Authorization: "Bearer t" }),
  );
});
