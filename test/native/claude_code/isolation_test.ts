import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import {
  replies,
  textReply,
  toolReply,
} from "../../../src/loopback/messages_provider.ts";
import { ClaudeLab, lastUserText, never, run, toolNames } from "./support.ts";

const CANARY = "canary-settings-61";

/** A settings file with everything that would change an execution. */
function settings(marker: string): string {
  const hook = [{ hooks: [{ type: "command", command: `touch ${marker}` }] }];
  return JSON.stringify({
    model: "claude-from-settings",
    env: { LEAKED: CANARY },
    hooks: {
      SessionStart: hook,
      UserPromptSubmit: hook,
      PreToolUse: [{ matcher: "*", ...hook[0] }],
    },
    permissions: { deny: ["Bash"] },
  });
}

/** Plants what the program reads by default: settings, memory, skills, agents, commands, MCP. */
async function plant(root: string, marker: string): Promise<void> {
  const folder = join(root, ".claude");
  for (const part of ["skills/planted", "commands", "agents"]) {
    await Deno.mkdir(join(folder, part), { recursive: true });
  }
  const files: readonly (readonly [string, string])[] = [
    [".claude/settings.json", settings(marker)],
    [".claude/settings.local.json", settings(marker)],
    ["CLAUDE.md", CANARY],
    ["CLAUDE.local.md", CANARY],
    ["AGENTS.md", CANARY],
    [".claude/CLAUDE.md", CANARY],
    [".claude/commands/planted.md", CANARY],
    [
      ".claude/agents/planted.md",
      `---\nname: planted\ndescription: ${CANARY}\n---\n${CANARY}`,
    ],
    [
      ".claude/skills/planted/SKILL.md",
      `---\nname: planted\ndescription: ${CANARY}\n---\n${CANARY}`,
    ],
    [
      ".mcp.json",
      JSON.stringify({
        mcpServers: { planted: { command: "touch", args: [marker] } },
      }),
    ],
  ];
  for (const [name, content] of files) {
    await Deno.writeTextFile(join(root, name), content);
  }
}

Deno.test("claude isolation: nothing of the user's or the project's settings takes effect", async () => {
  const user = await Deno.makeTempDir({ prefix: "planted-home-" });
  try {
    const marker = join(user, "marker");
    await plant(user, marker);
    await using lab = await ClaudeLab.open({
      bound: true,
      environment: {
        HOME: user,
        CLAUDE_CONFIG_DIR: join(user, ".claude"),
        CLAUDECODE: "1",
        CLAUDE_CODE_ENTRYPOINT: "cli",
        CLAUDE_CODE_SSE_PORT: "1",
        NODE_OPTIONS: "--no-warnings",
        AGENT_DAEMON_TOKEN: CANARY,
      },
      script: replies(
        toolReply("msg_1", {
          id: "toolu_1",
          name: "Bash",
          input: { command: "env" },
        }),
        textReply("msg_2", "done"),
      ),
    });
    await plant(lab.workspace, marker);
    const executor = await lab.prepare(lab.local());
    const sink = await run(executor, "look");
    await executor.close(never);
    const [request] = lab.provider.requests;
    assertEquals(request?.body?.model, "claude-sonnet-4-5");
    assertEquals(toolNames(request), [
      "Bash",
      "Edit",
      "Glob",
      "Grep",
      "Read",
      "Write",
    ]);
    for (const { text } of lab.provider.requests) {
      assert(!text.includes(CANARY));
    }
    const output = String(
      sink.all("tool_call").at(-1)?.payload.observation?.output,
    );
    assert(output.includes("PATH="));
    assert(!output.includes(CANARY), output);
    assert(!output.includes("NODE_OPTIONS"));
    assert(!output.includes("CLAUDE_CODE_SSE_PORT=1"));
    assert(!lab.launches.at(-1)?.environment["CLAUDECODE"]);
    assertEquals(await exists(marker), false);
  } finally {
    await Deno.remove(user, { recursive: true });
  }
});

Deno.test("claude isolation: files are written in the Session's home and the workspace only", async () => {
  const outside = [
    join(Deno.env.get("HOME") ?? "/root", ".claude"),
    "/tmp/claude-0",
  ];
  const before = await Promise.all(outside.map(changed));
  await using lab = await ClaudeLab.open({
    bound: true,
    script: replies(
      toolReply("msg_1", {
        id: "toolu_1",
        name: "Bash",
        input: { command: "mktemp; echo x > inside" },
      }),
      textReply("msg_2", "done"),
    ),
  });
  const executor = await lab.prepare(lab.local());
  await run(executor, "write");
  const temporary = lab.launches.at(-1)?.environment["TMPDIR"] ?? "";
  assert(lastUserText(lab.provider.requests[1]).includes(temporary));
  await executor.close(never);
  assertEquals(await exists(temporary), false);
  assertEquals(await Promise.all(outside.map(changed)), before);
  assertEquals(
    [...Deno.readDirSync(lab.root)].map(({ name }) => name).sort(),
    ["state", "workspace"],
  );
  assertEquals([...Deno.readDirSync(lab.workspace)].map(({ name }) => name), [
    "inside",
  ]);
  const home = [...Deno.readDirSync(join(lab.root, "state", "claude_code"))];
  assertEquals(home.length, 1); // the probe left nothing
  const mode = (await Deno.stat(
    join(lab.root, "state", "claude_code", home[0]?.name ?? ""),
  )).mode;
  assertEquals((mode ?? 0) & 0o777, 0o700);
});

Deno.test("claude isolation: two Sessions share no home and no history", async () => {
  await using lab = await ClaudeLab.open({
    script: (_request, index) => textReply(`msg_${index}`, "fine"),
  });
  const one = await lab.prepare();
  const other = await lab.prepare();
  await run(one, "canary-one");
  await run(other, "canary-other");
  const [first, second] = lab.launches;
  for (const name of ["HOME", "TMPDIR", "CLAUDE_CONFIG_DIR"]) {
    assert(first?.environment[name] !== second?.environment[name]);
  }
  assert(!lab.provider.requests[1]?.text.includes("canary-one"));
});

async function exists(path: string): Promise<boolean> {
  return await changed(path) !== undefined;
}

async function changed(path: string): Promise<number | undefined> {
  try {
    return (await Deno.lstat(path)).mtime?.getTime();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
