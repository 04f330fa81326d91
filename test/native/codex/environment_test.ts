/** What an Environment brings: tool variables, skills, installed servers; and a replaced program. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import {
  answers,
  callAnswer,
  textAnswer,
} from "../../../src/loopback/responses_provider.ts";
import { offeredTools } from "../../support/responses_inspection.ts";
import {
  codexProcesses,
  watchingSpawn,
} from "../../support/responses_processes.ts";
import { assertTextLifecycle } from "../../support/text_lifecycle.ts";
import { CodexRig, textInput } from "../../support/responses_rig.ts";

Deno.test("Codex passes the text lifecycle of every Harness", async () => {
  let turn = 0;
  const never = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  await using rig = await CodexRig.start({
    // The engine has answered the steer: the running answer may end.
    spawn: watchingSpawn(({ result }) => {
      if (typeof Object(result).turnId === "string") gate.resolve();
    }),
    script: (request) => {
      const last = JSON.stringify(request.body?.input.at(-1));
      if (last.includes("complete")) return textAnswer(`m${turn++}`, "done");
      if (last.includes("steer")) {
        return textAnswer(`m${turn++}`, "steered", never.promise);
      }
      return textAnswer(`m${turn++}`, "active", gate.promise);
    },
  });
  const executor = await rig.prepare();
  const [pid] = await codexProcesses(rig.stateDirectory);
  await assertTextLifecycle({
    executor,
    completingInput: textInput("complete"),
    activeInput: textInput("stay active"),
    steeringInput: textInput("steer"),
    turnReady: (sink) => sink.first(({ type }) => type === "delta"),
    nativeOwner: () => String(pid),
    budget: 30_000,
  });
  never.resolve();
});

Deno.test("tool variables reach commands, the Session's own homes stay", async () => {
  await using rig = await CodexRig.start({
    bound: true,
    script: answers(
      callAnswer("call-1", "exec_command", {
        cmd:
          "echo $TOOL_CANARY; echo $HOME; echo home=$CODEX_HOME; echo $TMPDIR",
      }),
      textAnswer("m1", "done"),
    ),
  });
  const executor = await rig.prepare(rig.local({
    environment: {
      kind: "local",
      workspaceRoot: rig.workspace,
      toolEnvironment: { TOOL_CANARY: "tool-value", HOME: "/nowhere" },
      skillDirectories: [],
    },
  }));
  const sink = await rig.run(executor, "go");
  const output = String(
    sink.all("tool_call").at(-1)?.payload.observation?.output,
  );
  const [value, home, codexHome, temporary] = output.split("\n");
  assertEquals(value, "tool-value");
  assertEquals(codexHome, "home=");
  for (const path of [home, temporary]) {
    assert(path?.startsWith(rig.stateDirectory), path);
  }
});

Deno.test("an installed skill is offered; one with engine settings is refused", async () => {
  await using rig = await CodexRig.start({
    bound: true,
    script: () => textAnswer("m1", "done"),
  });
  const skill = join(rig.root, "skills", "canary-skill");
  await Deno.mkdir(skill, { recursive: true });
  await Deno.writeTextFile(
    join(skill, "SKILL.md"),
    "---\nname: canary-skill\ndescription: Says the canary.\n---\nBody.\n",
  );
  const configuration = rig.local({
    environment: {
      kind: "local",
      workspaceRoot: rig.workspace,
      toolEnvironment: {},
      skillDirectories: [skill],
    },
  });
  const executor = await rig.prepare(configuration);
  await rig.run(executor, "go");
  await rig.close(executor);
  assert(rig.provider.requests[0]?.text.includes("canary-skill"));
  await Deno.mkdir(join(skill, "agents"));
  await Deno.writeTextFile(join(skill, "agents", "openai.yaml"), "x: 1\n");
  await assertRejects(() => rig.prepare(configuration), Error, "Skill");
});

Deno.test("an installed MCP server over stdio offers its tools", async () => {
  await using rig = await CodexRig.start({
    bound: true,
    script: answers(
      callAnswer("call-1", "echo", {}, "mcp__installed"),
      textAnswer("m1", "done"),
    ),
  });
  const program = join(rig.root, "server.sh");
  await Deno.writeTextFile(program, STDIO_SERVER);
  const executor = await rig.prepare(rig.local({
    mcpServers: [{
      label: "installed",
      origin: "environment",
      transport: "stdio",
      command: "/bin/sh",
      arguments: [program],
      environment: { ANSWER: "stdio-answer" },
      allowedTools: null,
      required: true,
    }],
  }));
  const sink = await rig.run(executor, "go");
  assert(
    offeredTools(rig.provider.requests[0]).includes("mcp__installed.echo"),
  );
  const last = sink.all("tool_call").at(-1)?.payload.observation;
  assert(JSON.stringify(last?.output).includes("stdio-answer"));
});

/** The smallest MCP server: answers each request by its method, line by line. */
const STDIO_SERVER = `
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\\([0-9]*\\).*/\\1/p')
  case "$line" in
    *'"initialize"'*) r='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) r='{"tools":[{"name":"echo","description":"e","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) r='{"content":[{"type":"text","text":"'$ANSWER'"}]}' ;;
    *) r='{}' ;;
  esac
  [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$r"
done
`;
