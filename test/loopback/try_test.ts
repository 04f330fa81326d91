/** `try` and `selftest` over the whole daemon, with the Harness that needs no program. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { echoAdapter } from "../../src/cli/echo_harness.ts";
import { Mistake } from "../../src/cli/mistake.ts";
import { type Outside, systemOutside } from "../../src/cli/outside.ts";
import { runSelftest } from "../../src/cli/selftest.ts";
import { runTry, type TryOptions } from "../../src/cli/try.ts";
import type { HarnessAdapter, Turn } from "../../src/harness/contract.ts";

interface Captured {
  readonly outside: Outside;
  stdout(): string;
  stderr(): string;
}

function capture(): Captured {
  const texts = { stdout: "", stderr: "" };
  const output = (name: keyof typeof texts) => ({
    write: (text: string) => void (texts[name] += text),
    isTerminal: false,
    columns: () => 80,
  });
  return {
    outside: {
      ...systemOutside(),
      userId: 1000,
      stdout: output("stdout"),
      stderr: output("stderr"),
    },
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
  };
}

/** The echo, whose Turn ends by itself; `error` makes it an engine failure first. */
function ending(error?: string): HarnessAdapter {
  return {
    kind: echoAdapter.kind,
    async discover(context) {
      const found = await echoAdapter.discover(context);
      if (!found?.factory) throw new Error("the echo is there");
      const { factory } = found;
      return {
        ...found,
        factory: {
          ...factory,
          async prepare(configuration, owner) {
            const executor = await factory.prepare(configuration, owner);
            return {
              retired: executor.retired,
              close: (signal) => executor.close(signal),
              async startTurn(start) {
                const started = await executor.startTurn(start);
                if (error) {
                  const payload = { error, code: "server_error" } as const;
                  await start.sink.send({ type: "error", payload });
                }
                void finish(started.turn);
                return started;
              },
            };
          },
        },
      };
    },
  };
}

/** The echo of a Turn goes on until it is cancelled. */
async function finish(turn: Turn | undefined): Promise<void> {
  await turn?.cancel(AbortSignal.timeout(10_000));
}

async function tried(
  options: Partial<TryOptions>,
): Promise<Captured & { readonly code: number }> {
  const captured = capture();
  const stateDirectory = await Deno.makeTempDir();
  try {
    const code = await runTry({
      adapter: ending(),
      prompt: "canary-prompt",
      demo: false,
      trace: false,
      stateDirectory,
      ...options,
    }, captured.outside);
    assertEquals([...Deno.readDirSync(stateDirectory)], []);
    return { ...captured, code };
  } finally {
    await Deno.remove(stateDirectory, { recursive: true });
  }
}

Deno.test("try streams the answer alone to stdout, says what is proven on stderr and leaves no file", async () => {
  const result = await tried({});
  assertEquals(result.stdout(), "canary-prompt\n");
  assertEquals(result.stderr(), "agent-daemon: completed\n");
  assertEquals(result.code, 0);
});

Deno.test("try names an engine failure and ends with another code", async () => {
  const result = await tried({ adapter: ending("out of order") });
  assertStringIncludes(result.stderr(), "error: out of order");
  assertStringIncludes(result.stderr(), "the engine failed: server_error");
  assertEquals(result.code, 2);
});

Deno.test("the trace has a line per frame and receipt, and none of the content", async () => {
  const result = await tried({ trace: true });
  for (
    const part of [
      "· bootstrap status=200",
      "· dial status=101",
      "← heartbeat",
      "→ execution_prepare",
      "state=ready revision=2",
      "→ execution_start",
      "state=started revision=4",
      "← delta",
      "← done",
    ]
  ) assertStringIncludes(result.stderr(), part);
  assertEquals(result.stderr().includes("canary"), false);
});

Deno.test("an unavailable Harness is one line with a remedy and starts nothing", async () => {
  const adapter: HarnessAdapter = {
    kind: "echo",
    async discover(context) {
      const found = await echoAdapter.discover(context);
      if (!found) return undefined;
      const { factory: _factory, ...rest } = found;
      return { ...rest, available: false, reason: "It is not installed" };
    },
  };
  const error = await tried({ adapter }).then(() => undefined, (e) => e);
  assert(error instanceof Mistake);
  assertEquals(error.exitCode, 78);
  assertStringIncludes(error.message, "echo: It is not installed; ");
});

Deno.test("an empty prompt is a mistake", async () => {
  const error = await tried({ prompt: "" }).then(() => undefined, (e) => e);
  assert(error instanceof Mistake);
  assertEquals(error.exitCode, 64);
});

Deno.test("the selftest proves a Turn, the lock and a child process", async () => {
  const results = await runSelftest(systemOutside());
  assertEquals(results.map(({ check, ok }) => [check, ok]), [
    ["turn", true],
    ["lock", true],
    ["child", true],
  ]);
});
