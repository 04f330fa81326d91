/**
 * Secrets and prompts of a whole daemon at work, at the most talkative log level and on its
 * failure paths: none of them is anywhere but on the wire and in the pipes of its Harness.
 */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { LoopbackCore } from "../src/loopback/core.ts";
import type { DeviceSession } from "../src/loopback/device_session.ts";
import type { ObservedRun } from "../src/loopback/observed_run.ts";
import { systemClock } from "../src/platform/clock.ts";
import { systemIds } from "../src/platform/ids.ts";
import type { Configuration } from "../src/protocol/configuration.ts";
import type { MessageInput } from "../src/protocol/message_input.ts";
import { makePlace } from "./cli/command_line.ts";
import {
  CONTRACT,
  daemonWords,
  DEVICE,
  type RunningDaemon,
  startDaemon,
  TOKEN,
} from "./cli/running_daemon.ts";

/** Each value that must stay where it belongs. */
const CANARIES = {
  token: TOKEN,
  providerKey: "Kolibri-provider-key-8c1f",
  bearer: "Kolibri-mcp-bearer-5d20",
  serverQuery: "Kolibri-server-query-91aa",
  systemPrompt: "Kolibri-system-prompt-77b3",
  prompt: "Kolibri-prompt-40e9",
  steered: "Kolibri-steered-prompt-c6d8",
  functionResult: "Kolibri-function-result-02f4",
  toolDescription: "Kolibri-tool-description-e1e7",
  malformed: "Kolibri-malformed-frame-b853",
  daemonVariable: "Kolibri-daemon-variable-3a6c",
} as const;

function assertNoCanary(text: string, where: string): void {
  for (const [name, canary] of Object.entries(CANARIES)) {
    assert(!text.includes(canary), `${name} is in ${where}`);
  }
}

function words(text: string): MessageInput {
  return [{ content: [{ type: "input_text", text }] }];
}

function configuration(
  sessionId: string,
  modes: readonly string[],
  path: string,
): Configuration {
  return {
    agent_kind: "contract",
    run_id: "",
    agent_state_key: `agents-api-${sessionId}`,
    disable_execution_environment: true,
    agent_options: {
      model: "m",
      system_prompt: CANARIES.systemPrompt,
      model_provider: {
        protocol: "responses",
        base_url: "https://model.example/v1",
        api_key: CANARIES.providerKey,
      },
      harness_config: { modes },
    },
    function_tools: [{
      name: "weather",
      description: CANARIES.toolDescription,
      parameters: { type: "object" },
    }],
    mcp_http_servers: [{
      connection_origin: "service",
      server_label: "tools",
      server_url: `https://tools.example/${path}`,
      allowed_tools: null,
      bearer_token: CANARIES.bearer,
    }],
  };
}

/** Starts a Turn in a Session of its own. */
async function start(
  session: DeviceSession,
  text: string,
  modes: readonly string[] = [],
): Promise<ObservedRun> {
  const sessionId = systemIds.uuid();
  const preparation = session.prepare({
    sessionId,
    configuration: configuration(sessionId, modes, "mcp"),
  });
  const ready = await preparation.ready;
  assertEquals(ready.kind, "ready", JSON.stringify(ready));
  return session.start(preparation, { input: words(text) });
}

async function seen(run: ObservedRun, type: string): Promise<void> {
  for await (const event of run) if (event.type === type) return;
}

/** Takes the daemon through every kind of input, and through what goes wrong with it. */
async function work(session: DeviceSession): Promise<void> {
  const said = await start(session, `say ${CANARIES.prompt}`);
  await said.outcome;

  const held = await start(session, `hold ${CANARIES.prompt}`);
  await seen(held, "delta");
  const steered = session.steer(
    held.runId,
    "steered",
    words(CANARIES.steered),
  );
  await steered.settled;
  session.transmit({
    type: "prompt_steer",
    id: held.runId,
    payload: { input: CANARIES.malformed },
  });

  const called = await start(session, "call weather");
  await seen(called, "function_call");
  await session.functionResult(called.runId, {
    call_id: "call-1",
    success: true,
    content: [{ type: "input_text", text: CANARIES.functionResult }],
  });
  await called.outcome;

  // Its program prints its secrets to stderr, and its end is logged with them.
  const lost = await start(session, "exit", ["tell_secrets"]);
  await lost.outcome;

  const refused = session.prepare({
    sessionId: "refused",
    configuration: configuration("refused", [], `?q=${CANARIES.serverQuery}`),
  });
  assertEquals((await refused.ready).kind, "rejected");

  for (const payload of [CANARIES.malformed, { x: CANARIES.malformed }]) {
    session.transmit({ type: "execution_prepare", id: "m", payload });
    session.transmit({ type: "execution_start", id: "m", payload });
    session.transmit({ type: CANARIES.malformed.slice(0, 4), payload });
  }
  await session.cancel(held.runId);
}

/** The command lines of this machine, and the variables of what descends from the daemon. */
async function assertProcessesClean(daemon: RunningDaemon): Promise<void> {
  const parents = new Map<number, number>();
  for await (const entry of Deno.readDir("/proc")) {
    const pid = Number(entry.name);
    if (!Number.isInteger(pid)) continue;
    const read = (name: string) =>
      Deno.readTextFile(`/proc/${pid}/${name}`).catch(() => ""); // it ended
    assertNoCanary(await read("cmdline"), `the arguments of process ${pid}`);
    const status = await read("stat");
    const parent = status.slice(status.lastIndexOf(")")).split(" ")[2];
    parents.set(pid, Number(parent));
  }
  let children = 0;
  for (const pid of parents.keys()) {
    if (!descends(pid, daemon.pid, parents)) continue;
    children += 1;
    const variables = await Deno.readTextFile(`/proc/${pid}/environ`);
    assertNoCanary(variables, `the variables of process ${pid}`);
  }
  assert(children > 0, "no native process was looked at");
}

function descends(
  pid: number,
  root: number,
  parents: ReadonlyMap<number, number>,
): boolean {
  for (let at = parents.get(pid); at; at = parents.get(at)) {
    if (at === root) return true;
  }
  return false;
}

async function assertFilesClean(
  directory: string,
  except: string,
): Promise<void> {
  for await (const entry of Deno.readDir(directory)) {
    const path = join(directory, entry.name);
    if (entry.isDirectory) await assertFilesClean(path, except);
    else if (path !== except) {
      assertNoCanary(await Deno.readTextFile(path), path);
    }
  }
}

Deno.test({
  name:
    "no secret and no prompt is in a log, a file, a command line or a variable",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using place = await makePlace();
    const core = await LoopbackCore.start({
      devices: { [DEVICE]: { credential: TOKEN } },
      clock: systemClock,
      ids: systemIds,
    });
    const daemon = startDaemon({
      ...place,
      environment: {
        ...place.environment,
        OPENAI_API_KEY: CANARIES.daemonVariable,
        ANTHROPIC_API_KEY: CANARIES.daemonVariable,
      },
    }, [
      ...await daemonWords(place, core.origin),
      "--log-level",
      "debug",
    ], CONTRACT);
    try {
      await work(await core.session(DEVICE));
      await daemon.logged("contract.process_lost");
      await assertProcessesClean(daemon);
      daemon.signal("SIGTERM");
      const { code, stdout } = await daemon.ended;
      assertEquals(code, 0, daemon.errorText());
      assertNoCanary(stdout, "stdout");
      assertNoCanary(daemon.errorText(), "stderr");
      await assertFilesClean(
        place.directory,
        join(place.directory, "token"),
      );
    } finally {
      await core.shutdown();
      daemon.end();
      await daemon.ended;
    }
  },
});
