import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  applyStep,
  type StepOutcome,
} from "../../src/environment/installation.ts";
import { InvalidPackage } from "../../src/environment/package_files.ts";
import { loadSelection } from "../../src/environment/snapshot.ts";
import { loadToolEnvironment } from "../../src/environment/tool_environment.ts";
import type { RuntimePrepareBegin } from "../../src/protocol/runtime_prepare.ts";
import type { CapabilitySources } from "../../src/protocol/sources.ts";
import { processTable } from "../../src/harness/process_table.ts";
import { TransferBody } from "../../src/transfer/body.ts";
import { Installation, skillText, zip } from "./support.ts";

const COMPLETED: StepOutcome = { outcome: "completed", value: undefined };
const FAILED: StepOutcome = { outcome: "refused", value: {} };

/** One step as the exchange would hand it over. */
function step(
  installation: Installation,
  action: Readonly<Record<string, unknown>>,
  data: Uint8Array = new Uint8Array(),
  signal: AbortSignal = new AbortController().signal,
): Promise<StepOutcome> {
  const { identity } = installation.parts;
  const body = new TransferBody({ sizeBytes: data.length });
  if (data.length > 0) body.append(0, data);
  const begin = {
    step: "begin",
    environment_id: identity.environmentId,
    session_id: identity.sessionId,
    ...action,
  } as unknown as RuntimePrepareBegin;
  return applyStep(installation.parts, begin, body, signal);
}

const metadata = (name: string) => ({
  type: "inline",
  name,
  description: "Example",
});
const skill = (name = "example") =>
  zip([{ name: `${name}/Skill.MD`, text: skillText(name) }, {
    name: `${name}/bin/run`,
    text: "x",
    mode: 0o100755,
  }]);
const setup = (command: string, cwd?: string) => ({
  action: "initialize",
  initialization: {
    action: "setup",
    command,
    ...(cwd === undefined ? {} : { cwd }),
  },
});

/** Whether a process runs; a zombie does not. */
async function lives(pid: string): Promise<boolean> {
  const entries = await processTable("linux").list();
  return entries.some((entry) => entry.pid === Number(pid));
}

Deno.test("a Skill and a plugin are installed sealed, and the selection can be loaded", async () => {
  using installation = new Installation();
  const { parts } = installation;
  const plugin = await zip([
    {
      name: "p/.codex-plugin/plugin.json",
      text: JSON.stringify({ name: "plug", description: "Example" }),
    },
    {
      name: "p/.mcp.json",
      text: JSON.stringify({ mcpServers: { srv: { command: "x" } } }),
    },
  ]);
  const sources: CapabilitySources = {
    skills: [metadata("example")],
    plugins: [metadata("plug")],
    directories: ["/workspace/extra"],
  };
  Deno.mkdirSync(`${installation.workspacePath}/extra/inner`, {
    recursive: true,
  });
  Deno.writeTextFileSync(
    `${installation.workspacePath}/extra/inner/SKILL.md`,
    skillText("extra"),
  );
  assertEquals(
    await step(
      installation,
      { action: "skill", skill: metadata("example") },
      await skill(),
    ),
    COMPLETED,
  );
  assertEquals(
    await step(installation, {
      action: "plugin",
      plugin: metadata("plug"),
      slot: 0,
    }, plugin),
    COMPLETED,
  );
  assertEquals(
    await step(installation, { action: "finalize", sources }),
    COMPLETED,
  );
  const mode = (path: string) =>
    (Deno.statSync(installation.path("capabilities", path)).mode ?? 0) & 0o777;
  assertEquals(mode("skills/example/SKILL.md"), 0o400);
  assertEquals(mode("skills/example/bin/run"), 0o500);
  assertEquals(mode("installed.json"), 0o400);
  const loaded = await loadSelection(
    parts.capabilities,
    parts.identity,
    sources,
  );
  assertEquals(loaded.skillRoots, ["skills/example", "directories/0/inner"]);
  assertEquals(
    loaded.servers.map(({ packageRoot, server }) => [packageRoot, server.name]),
    [["plugins/0", "srv"]],
  );
});

Deno.test("after the completion mark every step but the same finalization fails, and so it stays in another process life", async () => {
  using installation = new Installation();
  assertEquals(
    await step(installation, { action: "finalize", sources: {} }),
    COMPLETED,
  );
  assertEquals(
    await step(installation, { action: "finalize", sources: {} }),
    COMPLETED,
  );
  const other = { skills: [metadata("example")] };
  assertEquals(
    await step(installation, { action: "finalize", sources: other }),
    FAILED,
  );
  assertEquals(
    await step(
      installation,
      { action: "skill", skill: metadata("example") },
      await skill(),
    ),
    FAILED,
  );
  assertEquals(await step(installation, setup("touch never")), FAILED);
  assertEquals([...Deno.readDirSync(installation.workspacePath)], []);
});

Deno.test("a selection that was altered, or that is another one, is not loaded", async () => {
  const sources: CapabilitySources = { skills: [metadata("example")] };
  const alterations: readonly (readonly [string, (folder: string) => void])[] =
    [
      [
        "a file became writable",
        (f) => Deno.chmodSync(`${f}/skills/example/SKILL.md`, 0o600),
      ],
      ["a file is a link", (f) => {
        Deno.removeSync(`${f}/skills/example/bin/run`);
        Deno.symlinkSync("/etc/passwd", `${f}/skills/example/bin/run`);
      }],
      ["the manifest of a Skill changed", (f) => {
        Deno.removeSync(`${f}/skills/example/SKILL.md`);
        Deno.writeTextFileSync(
          `${f}/skills/example/SKILL.md`,
          skillText("other"),
          { mode: 0o400 },
        );
      }],
      [
        "the package is gone",
        (f) => Deno.removeSync(`${f}/skills/example`, { recursive: true }),
      ],
      [
        "the selection's manifest is gone",
        (f) => Deno.removeSync(`${f}/installed.json`),
      ],
    ];
  for (const [what, alter] of alterations) {
    using installation = new Installation();
    const { parts } = installation;
    await step(
      installation,
      { action: "skill", skill: metadata("example") },
      await skill(),
    );
    await step(installation, { action: "finalize", sources });
    await loadSelection(parts.capabilities, parts.identity, sources);
    alter(installation.path("capabilities"));
    await assertRejects(
      () => loadSelection(parts.capabilities, parts.identity, sources),
      Error,
      undefined,
      what,
    );
  }
  using installation = new Installation();
  const { parts } = installation;
  await step(installation, { action: "finalize", sources: {} });
  await assertRejects(
    () => loadSelection(parts.capabilities, parts.identity, sources),
    InvalidPackage,
  );
  const foreign = {
    ...parts.identity,
    sessionId: "33333333-3333-4333-8333-333333333333",
  };
  await assertRejects(
    () => loadSelection(parts.capabilities, foreign, {}),
    InvalidPackage,
  );
});

Deno.test("a finalize that finds something else than selected installs nothing and sets no mark", async () => {
  const cases: readonly (readonly [string, CapabilitySources])[] = [
    ["an unselected Skill", {}],
    ["a missing Skill", { skills: [metadata("example"), metadata("other")] }],
    ["another description", {
      skills: [{ ...metadata("example"), description: "Other" }],
    }],
    ["a directory that is missing", {
      skills: [metadata("example")],
      directories: ["/workspace/none"],
    }],
    ["the capability root itself", {
      skills: [metadata("example")],
      directories: ["/"],
    }],
  ];
  for (const [what, sources] of cases) {
    using installation = new Installation();
    await step(
      installation,
      { action: "skill", skill: metadata("example") },
      await skill(),
    );
    assertEquals(
      await step(installation, { action: "finalize", sources }),
      FAILED,
      what,
    );
    const names = [...Deno.readDirSync(installation.path("capabilities"))].map((
      entry,
    ) => entry.name);
    assert(!names.includes("installed.json"), what);
    assertEquals(
      await step(installation, {
        action: "finalize",
        sources: { skills: [metadata("example")] },
      }),
      COMPLETED,
      what,
    );
  }
});

Deno.test("a package is installed once and never over another one", async () => {
  using installation = new Installation();
  const begin = { action: "skill", skill: metadata("example") };
  assertEquals(await step(installation, begin, await skill()), COMPLETED);
  assertEquals(await step(installation, begin, await skill()), FAILED);
  assertEquals(
    await step(
      installation,
      { action: "skill", skill: metadata("wrong") },
      await skill(),
    ),
    FAILED,
  );
});

Deno.test("an initial file takes the place of what stood there, and a link itself, not its target", async () => {
  using installation = new Installation();
  const target = installation.path("outside.txt");
  Deno.writeTextFileSync(target, "outside");
  Deno.symlinkSync(target, `${installation.workspacePath}/file.txt`);
  const data = new TextEncoder().encode("new");
  assertEquals(
    await step(installation, {
      action: "file",
      file: { path: "/workspace/file.txt" },
    }, data),
    COMPLETED,
  );
  assertEquals(
    Deno.readTextFileSync(`${installation.workspacePath}/file.txt`),
    "new",
  );
  assertEquals(Deno.readTextFileSync(target), "outside");
  Deno.mkdirSync(`${installation.workspacePath}/folder`);
  assertEquals(
    await step(installation, {
      action: "file",
      file: { path: "/workspace/folder" },
    }, data),
    FAILED,
  );
});

Deno.test("variables are frozen once and reach a setup command, the daemon's own secrets do not", async () => {
  using installation = new Installation();
  const configure = {
    action: "initialize",
    initialization: { action: "configure", env: { GREETING: "hello" } },
  };
  assertEquals(await step(installation, configure), COMPLETED);
  assertEquals(await step(installation, configure), FAILED);
  const frozen = await loadToolEnvironment(installation.parts.tools);
  assertEquals(frozen?.["GREETING"], "hello");
  assert(
    frozen?.["PATH"]?.startsWith(installation.path("packages", "npm", "bin")),
  );
  assertEquals(await step(installation, setup("env > seen.txt")), COMPLETED);
  const seen = Deno.readTextFileSync(`${installation.workspacePath}/seen.txt`);
  assert(seen.includes("GREETING=hello"));
  assert(
    !seen.includes("canary"),
    "a secret of the daemon reached a setup command",
  );
});

Deno.test("a setup command's exit code is told, and what it started is gone with it", async () => {
  using installation = new Installation();
  assertEquals(await step(installation, setup("exit 7")), {
    outcome: "refused",
    value: { exitCode: 7 },
  });
  assertEquals(await step(installation, setup("exit 255")), {
    outcome: "refused",
    value: { exitCode: 255 },
  });
  assertEquals(await step(installation, setup("kill -9 $$")), {
    outcome: "unknown",
  });
  assertEquals(
    await step(installation, setup("true", "/workspace/none")),
    FAILED,
  );
  assertEquals(
    await step(installation, setup("sleep 600 & echo $! > pid; exit 0")),
    COMPLETED,
  );
  const pid = Deno.readTextFileSync(`${installation.workspacePath}/pid`).trim();
  assertEquals(await lives(pid), false);
});

Deno.test("a cancelled setup command is unknown and dead", async () => {
  using installation = new Installation();
  const stop = new AbortController();
  const fifo = `${installation.workspacePath}/started`;
  new Deno.Command("mkfifo", { args: [fifo] }).outputSync();
  const running = step(
    installation,
    setup('echo $$ > started; trap "" TERM; while :; do sleep 1; done'),
    undefined,
    stop.signal,
  );
  const told = await new Deno.Command("cat", { args: [fifo] }).output();
  const pid = new TextDecoder().decode(told.stdout).trim();
  stop.abort();
  assertEquals(await running, { outcome: "unknown" });
  assertEquals(await lives(pid), false);
});
