import { assert, assertEquals, assertRejects } from "@std/assert";
import { fromFileUrl } from "@std/path";
import type { McpBinding } from "../../../src/harness/contract.ts";
import {
  replies,
  textReply,
  toolReply,
} from "../../../src/loopback/messages_provider.ts";
import { McpServer } from "./mcp_server.ts";
import { ClaudeLab, never, proves, run, toolNames } from "./support.ts";

const BEARER = "canary-bearer-93ab";

function binding(
  label: string,
  url: string,
  members: Partial<Omit<McpBinding, "transport">> & {
    readonly bearerToken?: string;
  } = {},
): McpBinding {
  return {
    label,
    origin: "service",
    allowedTools: null,
    required: false,
    transport: "http",
    url,
    ...members,
  };
}

proves("mcp_http_tools", async () => {
  await using server = new McpServer(undefined);
  await using lab = await ClaudeLab.open({
    script: replies(
      toolReply("msg_1", {
        id: "toolu_1",
        name: "mcp__some__alpha",
        input: { value: 7 },
      }),
      toolReply("msg_2", {
        id: "toolu_2",
        name: "mcp__all__broken",
        input: {},
      }),
      textReply("msg_3", "done"),
    ),
  });
  const executor = await lab.prepare(lab.configuration({
    mcpServers: [
      binding("all", server.url),
      binding("some", server.url, { allowedTools: ["alpha"] }),
      binding("closed", server.url, { allowedTools: [] }),
    ],
  }));
  const sink = await run(executor, "use them");
  assertEquals(toolNames(lab.provider.requests[0]), [
    "mcp__all__alpha",
    "mcp__all__beta",
    "mcp__all__broken",
    "mcp__some__alpha",
  ]);
  assertEquals(server.calls, ["alpha", "broken"]);
  const observed = sink.all("tool_call").map(({ payload }) => ({
    id: payload.id,
    name: payload.name,
    stage: payload.stage,
    server: payload.observation?.server,
    status: payload.observation?.status,
    hasOutput: payload.observation?.output !== null,
    hasError: payload.observation?.error !== null,
  }));
  const row = (
    id: string,
    name: string,
    label: string,
    stage: "before" | "after",
    status: string,
    hasOutput: boolean,
    hasError: boolean,
  ) => ({ id, name, stage, server: label, status, hasOutput, hasError });
  assertEquals(observed as unknown[], [
    row("toolu_1", "alpha", "some", "before", "in_progress", false, false),
    row("toolu_1", "alpha", "some", "after", "completed", true, false),
    row("toolu_2", "broken", "all", "before", "in_progress", false, false),
    row("toolu_2", "broken", "all", "after", "failed", false, true),
  ]);
});

Deno.test("claude mcp_http_tools: an optional server that fails is left out", async () => {
  await using failing = new McpServer(undefined, "server_error");
  await using server = new McpServer(undefined);
  await using lab = await ClaudeLab.open({
    script: replies(textReply("msg_1", "fine")),
  });
  const executor = await lab.prepare(lab.configuration({
    mcpServers: [
      binding("down", failing.url),
      binding("up", server.url, { allowedTools: ["beta"] }),
    ],
  }));
  await run(executor, "hello");
  assertEquals(toolNames(lab.provider.requests[0]), ["mcp__up__beta"]);
});

proves("mcp_http_required", async () => {
  await using lab = await ClaudeLab.open();
  assertEquals(lab.harness.declaration.mcp_http_required, "supported");
  const closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const unreachable = `http://127.0.0.1:${closed.addr.port}/mcp`;
  closed.close();
  await using unauthorized = new McpServer(BEARER, "unauthorized");
  await using broken = new McpServer(undefined, "server_error");
  for (const url of [unreachable, unauthorized.url, broken.url]) {
    const configuration = lab.configuration({
      mcpServers: [binding("needed", url, { required: true })],
    });
    await assertRejects(() => lab.prepare(configuration), Error, "required");
  }
  assertEquals(lab.provider.requests.length, 0);
  await using healthy = new McpServer(undefined);
  await lab.prepare(lab.configuration({
    mcpServers: [binding("needed", healthy.url, { required: true })],
  }));
});

proves("mcp_http_bearer_auth", async () => {
  await using server = new McpServer(BEARER);
  await using lab = await ClaudeLab.open({
    bound: true,
    script: replies(
      toolReply("msg_1", {
        id: "toolu_1",
        name: "Bash",
        input: { command: "env; cat /proc/$PPID/cmdline" },
      }),
      textReply("msg_2", "done"),
    ),
  });
  const executor = await lab.prepare(lab.local({
    mcpServers: [
      binding("web", server.url, {
        origin: "environment",
        required: true,
        bearerToken: BEARER,
      }),
    ],
  }));
  const sink = await run(executor, "look around");
  assert(server.authorizations.length > 0);
  assert(server.authorizations.every((each) => each === `Bearer ${BEARER}`));
  const launch = lab.launches.at(-1);
  assert(
    !JSON.stringify([launch?.arguments, launch?.environment]).includes(BEARER),
  );
  assert(!JSON.stringify(sink.events).includes(BEARER));
  assert(!lab.provider.requests.some(({ text }) => text.includes(BEARER)));
  await executor.close(never);
  assert(!lab.log.text.includes(BEARER));
  assertEquals(await filesWith(lab.root, BEARER), []);
});

Deno.test("claude mcp_http_tools: a server that wants a login gets no OAuth attempt", async () => {
  await using server = new McpServer(BEARER);
  await using lab = await ClaudeLab.open({
    script: replies(textReply("msg_1", "fine")),
  });
  const executor = await lab.prepare(lab.configuration({
    mcpServers: [binding("web", server.url)],
  }));
  await run(executor, "hello");
  assertEquals(toolNames(lab.provider.requests[0]), []);
  assertEquals(server.methods, []);
});

Deno.test("claude MCP: an installed server is started with its own variables and ends with the program", async () => {
  await using lab = await ClaudeLab.open({
    bound: true,
    script: replies(
      toolReply("msg_1", {
        id: "toolu_1",
        name: "mcp__installed__tell",
        input: {},
      }),
      textReply("msg_2", "told"),
    ),
  });
  const executor = await lab.prepare(lab.local({
    mcpServers: [{
      label: "installed",
      origin: "environment",
      allowedTools: null,
      required: true,
      transport: "stdio",
      command: Deno.execPath(),
      arguments: [
        "run",
        "--no-config",
        "--allow-env",
        fromFileUrl(new URL("./stdio_mcp_server.ts", import.meta.url)),
      ],
      environment: {
        TOLD: "own-variable",
        DENO_DIR: Deno.env.get("DENO_DIR") ??
          `${Deno.env.get("HOME")}/.cache/deno`,
      },
    }],
  }));
  const sink = await run(executor, "tell me");
  const output = JSON.stringify(
    sink.all("tool_call").at(-1)?.payload.observation?.output,
  );
  assert(output.includes("own-variable"), output);
});

async function filesWith(directory: string, text: string): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir(directory)) {
    const path = `${directory}/${entry.name}`;
    if (entry.isDirectory) found.push(...await filesWith(path, text));
    else if (
      entry.isFile && (await Deno.readTextFile(path)).includes(text)
    ) found.push(path);
  }
  return found;
}
