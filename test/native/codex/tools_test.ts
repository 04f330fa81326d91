/** Native tools on the real program: observed in a bound workspace, refused without one. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import {
  answers,
  callAnswer,
  type ScriptedAnswer,
  textAnswer,
} from "../../../src/loopback/responses_provider.ts";
import { offeredTools } from "../../support/responses_inspection.ts";
import { CodexRig, unbounded } from "../../support/responses_rig.ts";

const patch = (file: string): ScriptedAnswer => ({
  type: "response",
  items: [{
    type: "custom_tool_call",
    callId: "patch-1",
    name: "apply_patch",
    input: `*** Begin Patch\n*** Add File: ${file}\n+patched\n*** End Patch\n`,
  }],
});

Deno.test("a command is observed before and after with its native id", async () => {
  await using rig = await CodexRig.start({
    bound: true,
    script: answers(
      callAnswer("call-1", "exec_command", { cmd: "pwd; exit 3" }),
      textAnswer("m1", "done"),
    ),
  });
  const executor = await rig.prepare(rig.local());
  const sink = await rig.run(executor, "go");
  const [before, after] = sink.all("tool_call").map(({ payload }) => payload);
  assertEquals([before?.id, before?.stage], ["call-1", "before"]);
  assertEquals(before?.observation?.status, "in_progress");
  assertEquals([after?.id, after?.stage], ["call-1", "after"]);
  assertEquals(after?.observation?.kind, "command");
  assertEquals(after?.observation?.status, "failed");
  assertEquals(after?.observation?.exit_code, 3);
  assertEquals(after?.observation?.output, `${rig.workspace}\n`);
});

Deno.test("commands and edits work in the bound root", async () => {
  await using rig = await CodexRig.start({
    bound: true,
    script: answers(
      callAnswer("call-1", "exec_command", { cmd: "echo made > made.txt" }),
      patch("patched.txt"),
      textAnswer("m1", "done"),
    ),
  });
  assertEquals(rig.harness.declaration.local_environment, "supported");
  assertEquals(rig.harness.declaration.environment_none, "unsupported");
  assertEquals(rig.harness.declaration.workspace_read_preparation, "supported");
  assertEquals(rig.harness.declaration.workspace_output_export, "supported");
  const executor = await rig.prepare(rig.local());
  const sink = await rig.run(executor, "go");
  const read = (name: string) => Deno.readTextFile(join(rig.workspace, name));
  assertEquals(await read("made.txt"), "made\n");
  assertEquals(await read("patched.txt"), "patched\n");
  const edit = sink.all("tool_call").find(({ payload }) =>
    payload.stage === "after" && payload.name === "Edit"
  );
  assertEquals(edit?.payload.observation?.name, "apply_patch");
  assertEquals(edit?.payload.observation?.status, "completed");
});

Deno.test("a command that a cancel leaves open is incomplete, and nothing of it lives", async () => {
  await using rig = await CodexRig.start({
    bound: true,
    script: answers(
      callAnswer("call-1", "exec_command", {
        cmd: "echo $$ > pid; exec sleep 300",
        yield_time_ms: 30_000,
      }),
    ),
  });
  const executor = await rig.prepare(rig.local());
  const { turn, sink } = await rig.start(executor, "go");
  const pid = await writtenFile(rig.workspace, "pid");
  await sink.next("tool_call");
  await turn.cancel(unbounded);
  assertEquals(await turn.awaitSettlement(unbounded), { reusable: true });
  const after = sink.all("tool_call").at(-1)?.payload;
  assertEquals(after?.observation?.status, "incomplete");
  // The engine's list is empty once it sent the signal; the kernel may be some milliseconds behind.
  assert(await endsWithin(5, pid.trim()));
});

Deno.test("files of the workspace and of a former Turn do not configure the engine", async () => {
  await using rig = await CodexRig.start({
    bound: true,
    script: () => textAnswer("m1", "done"),
  });
  await Deno.writeTextFile(join(rig.workspace, "AGENTS.md"), "agents-canary");
  await Deno.mkdir(join(rig.root, ".git"));
  for (const directory of [rig.root, rig.workspace]) {
    await Deno.mkdir(join(directory, ".codex"));
    await Deno.writeTextFile(
      join(directory, ".codex", "config.toml"),
      `developer_instructions = "project-canary"\n[mcp_servers.evil]\ncommand = "touch"\nargs = ["${rig.workspace}/evil"]\n`,
    );
  }
  const first = await rig.prepare(rig.local());
  await rig.run(first, "go");
  await rig.close(first);
  const home = join(
    rig.stateDirectory,
    "codex",
    rig.local().agentStateKey,
    "codex",
  );
  await Deno.writeTextFile(
    join(home, "config.toml"),
    'developer_instructions = "home-canary"\n',
  );
  const second = await rig.prepare(rig.local());
  await rig.run(second, "go");
  for (const { text } of rig.provider.requests) {
    for (const canary of ["agents-canary", "project-canary", "home-canary"]) {
      assert(!text.includes(canary), canary);
    }
  }
  const names = [...Deno.readDirSync(rig.workspace)].map(({ name }) => name);
  assert(!names.includes("evil"));
});

/** Every local tool that any generation of the engine offers, by any shape of call. */
const LOCAL_CALLS: readonly ScriptedAnswer[] = [
  ...[
    ["exec_command", { cmd: "touch canary" }],
    ["shell", { command: ["touch", "canary"] }],
    ["shell_command", { command: "touch canary" }],
    ["local_shell", { command: ["touch", "canary"] }],
    ["container.exec", { cmd: ["touch", "canary"] }],
    ["write_stdin", { session_id: 1, chars: "touch canary\n" }],
    ["apply_patch", {
      input: "*** Begin Patch\n*** Add File: canary\n+x\n*** End Patch\n",
    }],
    ["view_image", { path: "/etc/hostname" }],
    ["read_file", { file_path: "/etc/hostname" }],
    ["list_dir", { dir_path: "/" }],
    ["grep_files", { pattern: "x", path: "/etc" }],
    ["exec", { code: "text(await tools.exec_command({cmd:'touch canary'}))" }],
    ["spawn_agent", { message: "touch canary" }],
    ["image_generation", { prompt: "x" }],
  ].map(([name, value], index) =>
    callAnswer(`local-${index}`, name as string, value)
  ),
  patch("canary"),
  {
    type: "response",
    items: [{
      type: "custom_tool_call",
      callId: "code-1",
      name: "exec",
      input: "text(await tools.exec_command({cmd:'touch canary'}))",
    }],
  },
];

for (const model of ["gpt-5.5", "gpt-6.2-sol", "unknown-model"]) {
  const name = model === "gpt-5.5"
    ? "without an Environment every local tool is refused and nothing changes"
    : `without an Environment ${model} has no local tool either`;
  Deno.test(name, async () => {
    await using rig = await CodexRig.start({
      script: answers(...LOCAL_CALLS, textAnswer("m1", "done")),
    });
    assertEquals(rig.harness.declaration.environment_none, "supported");
    assertEquals(rig.harness.declaration.local_environment, "unsupported");
    const executor = await rig.prepare(rig.configuration({ model }));
    const before = await filesBelow(rig.root);
    const sink = await rig.run(executor, "@/etc/hostname /status");
    assertEquals(rig.provider.requests.length, LOCAL_CALLS.length + 1);
    assertEquals(offeredTools(rig.provider.requests[0]), []);
    const input = JSON.stringify(rig.provider.requests[0]?.body?.input);
    assert(input.includes("@/etc/hostname /status"));
    const outputs = rig.provider.requests.at(-1)?.body?.input.filter((item) =>
      String(item.type).endsWith("_output")
    ) ?? [];
    assertEquals(outputs.length, LOCAL_CALLS.length);
    for (const output of outputs) {
      const text = JSON.stringify(output);
      assert(
        /unsupported|unavailable|not available|No usable/i.test(text),
        text,
      );
    }
    assertEquals(await filesBelow(rig.root), before);
    assertEquals(sink.all("error"), []);
  });
}

/** Paths below `root`, without what the engine itself keeps in its home. */
async function filesBelow(root: string): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir(root)) {
    const path = join(root, entry.name);
    if (path.endsWith("/codex") && path.includes("agents-api-")) continue;
    if (path.endsWith("/threads")) continue;
    found.push(path);
    if (entry.isDirectory) found.push(...await filesBelow(path));
  }
  return found.sort();
}

/** Waits for a line in a file that a native command writes. */
async function writtenFile(directory: string, name: string): Promise<string> {
  using watcher = Deno.watchFs(directory);
  const read = () => Deno.readTextFile(join(directory, name)).catch(() => "");
  let text = await read();
  for await (const _event of watcher) {
    text = await read();
    if (text.endsWith("\n")) break;
  }
  return text;
}

/** Whether the process is gone within `seconds`. */
async function endsWithin(seconds: number, pid: string): Promise<boolean> {
  const { success } = await new Deno.Command("timeout", {
    args: [String(seconds), "tail", `--pid=${pid}`, "-f", "/dev/null"],
  }).output();
  return success;
}
