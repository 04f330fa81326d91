/**
 * Replays the scenarios against any other Runtime, started by a command:
 *
 *   deno run -A test/contract/run_against.ts PROGRAM ARGUMENT…
 *
 * In each argument `{core}` becomes the address of the scripted Core, `{device}` the device id and
 * `{token_file}` a file with the credential. The Runtime must offer a Harness of the kind
 * `contract` without an Environment. Scenarios that need a native effect which only a controlled
 * Harness can give are listed as skipped. Without a command every scenario is listed.
 */
import { join } from "@std/path";
import { replayOnRuntime } from "./runtime_replay.ts";
import type { RuntimeUnderTest, StartRuntime } from "./runtime_under_test.ts";
import { loadScenarios, type Scenario } from "./scenario.ts";

const write = (text: string) =>
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));

/** Why a scenario cannot be replayed from outside, or nothing. */
export function reasonToSkip(scenario: Scenario): string | undefined {
  const needed = scenario.steps.find(({ step }) =>
    step === "native" || step === "settle" || step === "elapse"
  );
  if (needed) return `needs ${needed.step}`;
  const { prepare, start, unsupported } = scenario.harness;
  return prepare !== "ready" || start !== "starts" || unsupported.length > 0
    ? "needs a Harness that fails on purpose"
    : undefined;
}

/** Starts the command for one scenario. */
function startCommand(
  command: readonly string[],
  tokenFile: string,
): StartRuntime {
  return (
    _scenario: Scenario,
    core: { readonly origin: string; readonly deviceId: string },
  ): Promise<RuntimeUnderTest> => {
    const [program = "", ...rest] = command.map((text) =>
      text.replaceAll("{core}", core.origin)
        .replaceAll("{device}", core.deviceId)
        .replaceAll("{token_file}", tokenFile)
    );
    const child = new Deno.Command(program, {
      args: rest,
      stdin: "null",
      stdout: "null",
      stderr: "inherit",
    }).spawn();
    let over = false;
    const ended = child.status.then(({ code }) => {
      over = true;
      return code === 76 ? "permanent" : `exit ${code}`;
    });
    return Promise.resolve({
      ended,
      act: unavailable,
      settle: unavailable,
      elapse: unavailable,
      awaitCancel: unavailable,
      lost: () => Promise.resolve(),
      redial: () => Promise.resolve(),
      async stop() {
        if (!over) child.kill("SIGTERM");
        return await ended;
      },
    });
  };
}

function unavailable(): Promise<never> {
  return Promise.reject(new Error("only a controlled Harness can do this"));
}

async function main(command: readonly string[]): Promise<number> {
  const directory = await Deno.makeTempDir();
  const tokenFile = join(directory, "token");
  await Deno.writeTextFile(tokenFile, "synthetic-contract-credential\n", {
    mode: 0o600,
  });
  let failed = 0;
  try {
    for (const scenario of await loadScenarios()) {
      const skip = command.length === 0
        ? "no command was given"
        : reasonToSkip(scenario);
      if (skip) {
        write(`skip ${scenario.name}: ${skip}`);
        continue;
      }
      try {
        await replayOnRuntime(scenario, startCommand(command, tokenFile));
        write(`ok   ${scenario.name}`);
      } catch (error) {
        failed++;
        write(`FAIL ${scenario.name}: ${(error as Error).message}`);
      }
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
  return failed === 0 ? 0 : 1;
}

if (import.meta.main) {
  Deno.exit(await main(Deno.args));
}
