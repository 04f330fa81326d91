/** MCP servers on the real program: exactly the declared ones, their bearer nowhere else. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { McpBinding } from "../../../src/harness/contract.ts";
import {
  answers,
  callAnswer,
  textAnswer,
} from "../../../src/loopback/responses_provider.ts";
import { McpServer } from "../../support/responses_mcp.ts";
import { findBelow, offeredTools } from "../../support/responses_inspection.ts";
import { CodexRig } from "../../support/responses_rig.ts";

type HttpBinding = Extract<McpBinding, { transport: "http" }>;

const binding = (
  url: string,
  changes: Partial<HttpBinding> = {},
): HttpBinding => ({
  label: "lab",
  origin: "service",
  transport: "http",
  url,
  allowedTools: ["echo", "broken"],
  required: true,
  ...changes,
});

Deno.test("exactly the declared MCP tools are offered", async () => {
  await using mcp = McpServer.start({ tools: ["echo", "broken", "hidden"] });
  await using rig = await CodexRig.start({
    script: answers(
      callAnswer("call-1", "echo", { value: 7 }, "mcp__lab"),
      callAnswer("call-2", "broken", {}, "mcp__lab"),
      callAnswer("call-3", "hidden", {}, "mcp__lab"),
      textAnswer("m1", "done"),
    ),
  });
  const executor = await rig.prepare(
    rig.configuration({ mcpServers: [binding(mcp.url)] }),
  );
  const sink = await rig.run(executor, "go");
  const offered = offeredTools(rig.provider.requests[0]);
  assertEquals(
    offered.filter((name) => !/mcp_resource/.test(name)).sort(),
    ["mcp__lab.broken", "mcp__lab.echo"],
  );
  const after = sink.all("tool_call").filter(({ payload }) =>
    payload.stage === "after"
  ).map(({ payload }) => payload.observation);
  assertEquals(after[0]?.kind, "mcp");
  assertEquals([after[0]?.server, after[0]?.name], ["lab", "echo"]);
  assertEquals(after[0]?.arguments, { value: 7 });
  assert(JSON.stringify(after[0]?.output).includes("result of echo"));
  assertEquals(after.map((observation) => observation?.status).slice(0, 2), [
    "completed",
    "failed",
  ]);
  const called = mcp.requests.filter(({ method }) => method === "tools/call")
    .map(({ params }) => params?.name);
  assertEquals(called, ["echo", "broken"]);
});

Deno.test("an empty allow-list offers no tool, no list offers all", async () => {
  await using mcp = McpServer.start({ tools: ["one", "two"] });
  await using rig = await CodexRig.start({
    script: () => textAnswer("m", "x"),
  });
  const executor = await rig.prepare(rig.configuration({
    mcpServers: [
      binding(mcp.url, { label: "none", allowedTools: [] }),
      binding(mcp.url, { label: "all", allowedTools: null }),
    ],
  }));
  await rig.run(executor, "go");
  const offered = offeredTools(rig.provider.requests[0]).filter((name) =>
    name.startsWith("mcp__")
  );
  assertEquals(offered.sort(), ["mcp__all.one", "mcp__all.two"]);
});

Deno.test("an MCP bearer reaches its server only", async () => {
  const secret = "mcp-canary-bearer";
  await using mcp = McpServer.start({ tools: ["echo"], bearer: secret });
  await using rig = await CodexRig.start({
    bound: true,
    script: answers(
      callAnswer("call-0", "exec_command", {
        cmd:
          "env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n' | grep -c mcp-canary",
      }),
      callAnswer("call-1", "echo", {}, "mcp__lab"),
      textAnswer("m1", "done"),
    ),
  });
  const executor = await rig.prepare(rig.local({
    mcpServers: [
      binding(mcp.url, { origin: "environment", bearerToken: secret }),
    ],
  }));
  const sink = await rig.run(executor, "go");
  assert(mcp.authorizations.includes(`Bearer ${secret}`));
  const seen = JSON.stringify([sink.events, rig.log.events]);
  assert(!seen.includes(secret));
  const [command] = sink.all("tool_call").filter(({ payload }) =>
    payload.stage === "after"
  );
  // The one hit is the search itself, in the command line of the shell that runs it.
  assert(!String(command?.payload.observation?.output).includes(secret));
  assert(rig.provider.requests.every(({ text }) => !text.includes(secret)));
  assertEquals(await findBelow(rig.root, secret), []);
});

Deno.test("a required MCP server that is down fails the preparation", async () => {
  await using refusing = McpServer.start({ tools: ["echo"], bearer: "right" });
  await using rig = await CodexRig.start({
    script: () => textAnswer("m", "x"),
  });
  const dead = "http://127.0.0.1:9/mcp";
  for (
    const server of [
      binding(dead),
      binding(refusing.url),
      binding(refusing.url, { bearerToken: "wrong" }),
    ]
  ) {
    const error = await assertRejects(() =>
      rig.prepare(rig.configuration({ mcpServers: [server] }))
    );
    assert(error instanceof Error && !error.message.includes("127.0.0.1"));
  }
  assertEquals(rig.provider.requests.length, 0);
  const optional = binding(dead, { label: "gone", required: false });
  const executor = await rig.prepare(
    rig.configuration({ mcpServers: [optional] }),
  );
  assertEquals((await rig.run(executor, "go")).text, "x");
});
