/** The command that becomes an installed MCP server, as a Harness starts it. */
import { assert, assertEquals } from "@std/assert";
import { applyStep } from "../../src/environment/installation.ts";
import type { RuntimePrepareBegin } from "../../src/protocol/runtime_prepare.ts";
import { TransferBody } from "../../src/transfer/body.ts";
import { Installation, zip } from "../environment/support.ts";
import { agentDaemon, makePlace, spawnAgentDaemon } from "./command_line.ts";

const plugin = { type: "inline", name: "plugin", description: "Servers" };
const COMMAND = "installed-mcp-server";

/** A server that answers one line with a variable, and says so when it is told to end. */
const script = [
  "trap 'echo told; exit 9' TERM",
  'echo "$NAME in ${PWD##*/}"',
  "read -r line",
  'echo "heard $line"',
  "exit 5",
].join("\n");

async function installed(installation: Installation): Promise<void> {
  const archive = await zip([
    {
      name: "p/.codex-plugin/plugin.json",
      text: JSON.stringify({ name: "plugin", description: "Servers" }),
    },
    {
      name: "p/.mcp.json",
      text: JSON.stringify({
        mcpServers: { echo: { command: "bash", args: ["server.sh"] } },
      }),
    },
    { name: "p/server.sh", text: script },
  ]);
  const steps: readonly (readonly [object, Uint8Array])[] = [
    [{ action: "plugin", plugin, slot: 0 }, archive],
    [{ action: "finalize", sources: { plugins: [plugin] } }, new Uint8Array()],
  ];
  for (const [members, data] of steps) {
    const body = new TransferBody({ sizeBytes: data.length });
    if (data.length > 0) body.append(0, data);
    const begin = { step: "begin", ...members };
    const { outcome } = await applyStep(
      installation.parts,
      begin as unknown as RuntimePrepareBegin,
      body,
      new AbortController().signal,
    );
    assertEquals(outcome, "completed");
  }
}

Deno.test("an installed server has the pipes, the variables and the exit code of the command that became it", async () => {
  using installation = new Installation();
  await installed(installation);
  await using place = await makePlace();
  const { code, stdout, stderr } = await agentDaemon(
    [COMMAND, installation.path("capabilities"), "plugins/0", "echo"],
    {
      environment: { ...place.environment, NAME: "value" },
      stdin: "a line\n",
    },
  );
  assertEquals([code, stdout], [5, "value in 0\nheard a line\n"], stderr);
});

Deno.test("a signal of the Harness reaches the installed server", async () => {
  using installation = new Installation();
  await installed(installation);
  await using place = await makePlace();
  const child = spawnAgentDaemon(
    [COMMAND, installation.path("capabilities"), "plugins/0", "echo"],
    { environment: { ...place.environment, NAME: "value" }, stdin: "" },
  );
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  assert((await reader.read()).value?.startsWith("value"));
  child.kill("SIGTERM");
  assertEquals((await reader.read()).value, "told\n");
  reader.releaseLock();
  await child.stdin.close();
  await child.stderr.cancel();
  assertEquals((await child.status).code, 9);
});

Deno.test("what is not installed starts nothing, and says so in one line", async () => {
  using installation = new Installation();
  await installed(installation);
  await using place = await makePlace();
  for (
    const [words, expected] of [
      [[installation.path("capabilities"), "plugins/0", "other"], 78],
      [[installation.path("absent"), "plugins/0", "echo"], 78],
      [["only one word"], 64],
    ] as const
  ) {
    const { code, stdout, stderr } = await agentDaemon(
      [COMMAND, ...words],
      place,
    );
    assertEquals([code, stdout, stderr.split("\n").length], [expected, "", 2]);
  }
});
