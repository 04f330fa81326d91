import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import type {
  DiscoveredHarness,
  DiscoveryContext,
} from "../../../src/harness/contract.ts";
import { spawnChild } from "../../../src/harness/supervised_child.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemIds } from "../../../src/platform/ids.ts";
import { validateDeclaration } from "../../../src/protocol/capabilities.ts";
import { claudeCodeAdapter } from "../../../adapters/claude_code/adapter.ts";
import { RecordingLog } from "../../support/recording_log.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

/** A program that answers its first request with a version, then reads to the end. */
function answering(version: string): string {
  return `read -r line
id=$(printf '%s' "$line" | sed 's/.*"request_id":"\\([^"]*\\)".*/\\1/')
printf '{"type":"control_response","response":{"subtype":"success",'
printf '"request_id":"%s","response":{"claude_code_version":"${version}"}}}\\n' "$id"
cat > /dev/null`;
}

interface Lab {
  readonly root: string;
  readonly log: RecordingLog;
  discover(members?: Partial<DiscoveryContext>): Promise<DiscoveredHarness>;
}

/** Runs a test with a shell script in the place of the program. */
async function withProgram(
  script: string,
  test: (lab: Lab) => Promise<void>,
): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "claude-discovery-" });
  try {
    await Deno.mkdir(join(root, "bin"));
    const program = join(root, "bin", "claude");
    await Deno.writeTextFile(program, `#!/bin/sh\n${script}\n`, {
      mode: 0o755,
    });
    const log = new RecordingLog();
    const discover = async (members: Partial<DiscoveryContext> = {}) => {
      const found = await claudeCodeAdapter.discover({
        program,
        environment: { PATH: "/usr/bin:/bin" },
        stateDirectory: join(root, "state"),
        bound: false,
        permissions: "unattended",
        operatingSystem: "linux",
        clock: systemClock,
        ids: systemIds,
        log,
        spawn: spawnChild,
        ...members,
      });
      assert(found);
      assert(validateDeclaration(found.declaration).ok);
      assertEquals(found.kind, "claude_sdk");
      assertEquals(found.available, found.factory !== undefined);
      return found;
    };
    await test({ root, log, discover });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test("the tested version is available with every claim of its range", async () => {
  await withProgram(answering("2.1.332"), async ({ root, discover }) => {
    const found = await discover();
    assertEquals(found.available, true);
    assertEquals(found.version, "2.1.332");
    assertEquals(found.program, join(root, "bin", "claude"));
    assertEquals(found.reason, undefined);
    assertEquals(found.declaration.native_session_recovery, "supported");
    assertEquals([...Deno.readDirSync(join(root, "state", "claude_code"))], []);
  });
});

Deno.test("a newer version is available with a warning and fewer claims", async () => {
  await withProgram(answering("2.2.0"), async ({ discover }) => {
    const found = await discover();
    assertEquals(found.available, true);
    assert(found.reason?.includes("2.2.0"));
    assertEquals(found.declaration.native_session_recovery, "unsupported");
    assertEquals(found.declaration.mcp_http_required, "unsupported");
    assertEquals(found.declaration.streaming, "supported");
  });
});

for (
  const [name, script, version] of [
    ["an older version", answering("2.1.331"), "2.1.331"],
    ["a version nobody can read", answering("latest"), undefined],
    [
      "no version",
      answering("").replace(/"claude_code_version":""/, ""),
      undefined,
    ],
    ["an immediate end", "exit 1", undefined],
    ["a usage text", "echo 'usage: claude [options]'", undefined],
  ] as const
) {
  Deno.test(`a program with ${name} is unavailable with a reason`, async () => {
    await withProgram(script, async ({ discover }) => {
      const found = await discover();
      assertEquals(found.available, false);
      assertEquals(found.version, version);
      assert(found.reason);
    });
  });
}

Deno.test("a program that answers only at the end of its input is unavailable in time", async () => {
  await withProgram(
    `input=$(cat)\n${answering("2.1.332")}`,
    async ({ discover }) => {
      const clock = new VirtualClock();
      let settled = false;
      const finding = discover({ clock }).finally(() => settled = true);
      let waited = 0;
      while (!settled) {
        await clock.advance(500);
        waited += 500;
      }
      const found = await finding;
      assertEquals(found.available, false);
      assert(waited >= 8_000);
    },
  );
});

Deno.test("the operator's path is the only one tried", async () => {
  await withProgram(answering("2.1.332"), async ({ root, discover }) => {
    const found = await discover({
      program: join(root, "bin", "absent"),
      environment: { PATH: join(root, "bin") },
    });
    assertEquals(found.available, false);
    assert(found.reason?.includes("absent"));
  });
});

Deno.test("without a configured path the PATH is searched, and a miss says where", async () => {
  await withProgram(answering("2.1.332"), async ({ root, discover, log }) => {
    const search = (path: string) => {
      const { program: _, ...rest } = contextOf(root, path, log);
      return claudeCodeAdapter.discover(rest);
    };
    const found = await search(`${join(root, "bin")}:/usr/bin:/bin`);
    assertEquals(found?.program, join(root, "bin", "claude"));
    assertEquals(found?.available, true);
    const missed = await search(join(root, "nowhere"));
    assertEquals(missed?.available, false);
    assert(missed?.reason?.includes("nowhere"));
    await discover();
  });
});

function contextOf(
  root: string,
  path: string,
  log: RecordingLog,
): DiscoveryContext {
  return {
    program: "",
    environment: { PATH: path },
    stateDirectory: join(root, "state"),
    bound: false,
    permissions: "unattended",
    operatingSystem: "linux",
    clock: systemClock,
    ids: systemIds,
    log,
    spawn: spawnChild,
  };
}
