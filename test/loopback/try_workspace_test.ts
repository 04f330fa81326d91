/** `try --workspace` over the whole daemon, with a Harness that needs no program. */
import { assertEquals, assertMatch } from "@std/assert";
import { systemOutside } from "../../src/cli/outside.ts";
import { runTry } from "../../src/cli/try.ts";
import { boundEcho } from "./bound_echo.ts";

interface Tried {
  readonly code: number;
  readonly stderr: string;
  readonly files: readonly string[];
}

async function tried(prepare: (workspace: string) => void): Promise<Tried> {
  const folder = await Deno.makeTempDir();
  const workspace = `${folder}/workspace`;
  const stateDirectory = `${folder}/state`;
  Deno.mkdirSync(workspace);
  Deno.mkdirSync(stateDirectory);
  prepare(workspace);
  const system = systemOutside();
  let stderr = "";
  try {
    const code = await runTry({
      adapter: boundEcho,
      prompt: "canary-prompt",
      demo: false,
      trace: false,
      workspace: {
        environmentId: system.ids.uuid(),
        sessionId: system.ids.uuid(),
        root: workspace,
      },
      stateDirectory,
    }, {
      ...system,
      userId: 1000,
      ids: { ...system.ids, hex: (bytes) => "ab".repeat(bytes) },
      stdout: { ...system.stdout, write: () => {} },
      stderr: { ...system.stderr, write: (text) => void (stderr += text) },
    });
    assertEquals([...Deno.readDirSync(stateDirectory)], []);
    const files = [...Deno.readDirSync(workspace)].map(({ name }) => name);
    return { code, stderr, files };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const FILE = "agent-daemon-try-abababab.txt";

Deno.test("try in a workspace shows each receipt of Core's operations", async () => {
  const { code, stderr, files } = await tried(() => {});
  assertEquals(code, 0, stderr);
  assertEquals(files, [FILE]);
  const lines = [
    `write ${FILE}: ready`,
    `write ${FILE}: received 13`,
    `write ${FILE}: completed`,
    "completed",
    `list: ${FILE} (released)`,
    `read ${FILE}: 13 bytes (released)`,
    "export: chunk 1024",
    "export: completed 1024",
    "export: a tar archive of 1024 bytes (released)",
  ];
  assertEquals(stderr, lines.map((line) => `agent-daemon: ${line}\n`).join(""));
});

Deno.test("try in a workspace where the file cannot be written starts no Turn", async () => {
  const { code, stderr } = await tried((workspace) =>
    Deno.writeTextFileSync(`${workspace}/${FILE}`, "there already")
  );
  assertEquals(code, 2);
  assertMatch(stderr, /write .*: rejected: unsafe_destination\n$/);
});

Deno.test("try in a workspace whose outputs cannot be exported says so", async () => {
  const { code, stderr } = await tried((workspace) =>
    Deno.writeTextFileSync(`${workspace}/outputs`, "a file")
  );
  assertEquals(code, 2);
  assertMatch(stderr, /export: refused: export_failed\n$/);
});
