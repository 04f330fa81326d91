/**
 * Stops while native work lives, as an operator and as systemd do them. The native process is the
 * scripted Harness; everything else is the real program.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { LoopbackCore } from "../../src/loopback/core.ts";
import type { DeviceSession } from "../../src/loopback/device_session.ts";
import type { ObservedRun } from "../../src/loopback/observed_run.ts";
import { processTable } from "../../src/harness/process_table.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemIds } from "../../src/platform/ids.ts";
import { agentDaemon, makePlace, type Place } from "./command_line.ts";
import {
  CONTRACT,
  daemonWords,
  DEVICE,
  type RunningDaemon,
  startDaemon,
  statusWhere,
  TOKEN,
} from "./running_daemon.ts";

/** A daemon with one Turn of the scripted Harness in progress. */
interface World {
  readonly place: Place;
  readonly words: readonly string[];
  readonly daemon: RunningDaemon;
  readonly session: DeviceSession;
  /** Pids of all processes that descend from the daemon. */
  descendants(): Promise<number[]>;
}

async function withDaemon(
  body: (world: World) => Promise<void>,
  extra: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  await using place = await makePlace();
  Object.assign(place.environment, environment);
  const core = await LoopbackCore.start({
    devices: { [DEVICE]: { credential: TOKEN } },
    clock: systemClock,
    ids: systemIds,
    // No heartbeat after the first one hides that something else was not said.
    heartbeatSeconds: 3_600,
  });
  const words = [...await daemonWords(place, core.origin), ...extra];
  const daemon = startDaemon(place, words, CONTRACT);
  try {
    await body({
      place,
      words,
      daemon,
      session: await core.session(DEVICE),
      descendants: () => descendantsOf(daemon.pid),
    });
  } finally {
    await core.shutdown();
    daemon.end();
    await daemon.ended;
  }
}

async function descendantsOf(root: number): Promise<number[]> {
  const entries = await processTable(Deno.build.os).list();
  const found = new Set([root]);
  for (let size = 0; size !== found.size;) {
    size = found.size;
    for (const { pid, parentPid } of entries) {
      if (found.has(parentPid)) found.add(pid);
    }
  }
  found.delete(root);
  return [...found];
}

async function livingOf(pids: readonly number[]): Promise<number[]> {
  const entries = await processTable(Deno.build.os).list();
  return pids.filter((pid) => entries.some((entry) => entry.pid === pid));
}

/** Starts a Turn that holds, and waits for its first output of that type. */
async function holdTurn(
  session: DeviceSession,
  modes: readonly string[] = [],
  text = "hold",
  closeFailures = 0,
  output = "delta",
): Promise<ObservedRun> {
  const preparation = prepare(session, modes, closeFailures);
  const ready = await preparation.ready;
  assertEquals(ready.kind, "ready", JSON.stringify(ready));
  const run = session.start(preparation, {
    input: [{ content: [{ type: "input_text", text }] }],
  });
  for await (const event of run) if (event.type === output) break;
  return run;
}

/** Asks for an Executor of a new Session. */
function prepare(
  session: DeviceSession,
  modes: readonly string[] = [],
  closeFailures = 0,
) {
  const sessionId = systemIds.uuid();
  return session.prepare({
    sessionId,
    configuration: {
      agent_kind: "contract",
      run_id: "",
      agent_state_key: `agents-api-${sessionId}`,
      agent_options: {
        harness_config: { modes, close_failures: closeFailures },
      },
      disable_execution_environment: true,
      function_tools: [{
        name: "weather",
        description: "",
        parameters: { type: "object" },
      }],
    },
  });
}

Deno.test("SIGTERM during a Turn settles it, leaves no process and ends with 0", () =>
  withDaemon(async ({ daemon, session, descendants }) => {
    await holdTurn(session);
    const native = await descendants();
    assert(native.length > 0);
    daemon.signal("SIGTERM");
    assertEquals((await daemon.ended).code, 0, daemon.errorText());
    assertEquals(await livingOf(native), []);
    const stopping = await daemon.logged("stopping");
    assertMatch(JSON.stringify(stopping.waitingFor), /"run .* \(running\)"/);
  }));

Deno.test("SIGTERM with an idle Executor closes it and ends with 0", () =>
  withDaemon(async ({ daemon, session, descendants }) => {
    const run = await holdTurn(session, [], "say hello there");
    await run.outcome;
    const native = await descendants();
    assert(native.length > 0);
    daemon.signal("SIGTERM");
    assertEquals((await daemon.ended).code, 0, daemon.errorText());
    assertEquals(await livingOf(native), []);
  }));

Deno.test("SIGTERM with a permission, a question and a function call open waits for none of them", () =>
  withDaemon(async ({ daemon, session, descendants }) => {
    for (
      const [text, output] of [
        ["permission", "permission_request"],
        ["choose", "prompt_for_user_choice"],
        ["call weather", "function_call"],
      ] as const
    ) await holdTurn(session, [], text, 0, output);
    const native = await descendants();
    assertEquals(native.length, 3);
    daemon.signal("SIGTERM");
    assertEquals((await daemon.ended).code, 0, daemon.errorText());
    assertEquals(await livingOf(native), []);
    assert(!daemon.errorText().includes("stop_overdue"));
  }, ["--permissions", "ask", "--shutdown-timeout", "15s"]));

Deno.test("a second signal kills what is left at once and ends with 128+n", () =>
  withDaemon(
    async ({ daemon, session, descendants }) => {
      await holdTurn(session, ["only_kill", "ignore_cancel"]);
      const native = await descendants();
      daemon.signal("SIGTERM");
      await daemon.logged("stopping");
      daemon.signal("SIGINT");
      assertEquals((await daemon.ended).code, 130, daemon.errorText());
      assertEquals(await livingOf(native), []);
      assertMatch(daemon.errorText(), /agent-daemon: forced stop; /);
    },
    [],
    { PATIENT_CLOSE: "1" },
  ));

Deno.test("a stop that cannot be confirmed waits, says for what, and a second signal frees the lock", () =>
  withDaemon(async ({ daemon, place, session, words, descendants }) => {
    await holdTurn(session, [], "hold", 1_000);
    const native = await descendants();
    daemon.signal("SIGTERM");
    const unconfirmed = await daemon.logged("router_cleanup_unconfirmed");
    assertMatch(JSON.stringify(unconfirmed), /executor /);
    const { waiting } = await statusWhere(
      place,
      (status) => (status.waiting?.attempt ?? 0) > 0,
    );
    assertEquals(waiting?.reason, "stopping");
    assertMatch(waiting?.for.join() ?? "", /executor /);
    const shown = await agentDaemon(["status"], place);
    assertEquals(shown.code, 0, shown.stderr);
    assertMatch(shown.stdout, /waiting for .*executor /);
    daemon.signal("SIGTERM");
    assertEquals((await daemon.ended).code, 143);
    assertEquals(await livingOf(native), []);
    const next = startDaemon(place, words, CONTRACT);
    await next.logged("starting");
    next.end();
    await next.ended;
  }));

Deno.test("a signal to the whole control group, as systemd's default sends it, still ends with 0", () =>
  withDaemon(async ({ daemon, session, descendants }) => {
    await holdTurn(session);
    const native = await descendants();
    daemon.signal("SIGTERM");
    for (const pid of native) Deno.kill(pid, "SIGTERM");
    assertEquals((await daemon.ended).code, 0, daemon.errorText());
    assertEquals(await livingOf(native), []);
  }));

Deno.test("after SIGKILL the next daemon ends what the killed one left, and nothing else", () =>
  withDaemon(async ({ daemon, place, session, words, descendants }) => {
    await holdTurn(session, ["only_kill"]);
    const native = await descendants();
    // A process of the same kind that is not ours.
    const foreign = new Deno.Command("sleep", { args: ["60"] }).spawn();
    daemon.signal("SIGKILL");
    assertEquals((await daemon.ended).signal, "SIGKILL");
    assertEquals(await livingOf(native), native);
    const next = startDaemon(place, words, CONTRACT);
    try {
      const swept = await next.logged("orphans.swept");
      assertEquals(swept.unconfirmed, []);
      assertEquals(await livingOf(native), []);
      assertEquals(await livingOf([foreign.pid]), [foreign.pid]);
    } finally {
      next.end();
      await next.ended;
      foreign.kill("SIGKILL");
      await foreign.status;
    }
  }));

Deno.test("--max-executions lowers the number of Executors", () =>
  withDaemon(async ({ daemon, session }) => {
    await holdTurn(session);
    const second = await prepare(session).ready;
    assertEquals(second, { kind: "rejected", code: "preparation_capacity" });
    daemon.signal("SIGTERM");
    assertEquals((await daemon.ended).code, 0);
  }, ["--max-executions", "1"]));

Deno.test("--max-idle 0 keeps no Executor after its Turn", () =>
  withDaemon(async ({ daemon, session, descendants }) => {
    const run = await holdTurn(session, [], "say hello there");
    await run.outcome;
    await daemon.logged("executor closed");
    assertEquals(await descendants(), []);
    daemon.signal("SIGTERM");
    assertEquals((await daemon.ended).code, 0);
  }, ["--max-idle", "0"]));

Deno.test("status follows what is owned, also between two heartbeats", () =>
  withDaemon(async ({ daemon, place, session }) => {
    const run = await holdTurn(session);
    const running = await statusWhere(place, ({ work }) => work.runs === 1);
    assertEquals(running.work.executors, 1);
    await session.cancel(run.runId);
    const idle = await statusWhere(place, ({ work }) => work.runs === 0);
    assertEquals(idle.work.executors, 1);
    daemon.signal("SIGTERM");
    assertEquals((await daemon.ended).code, 0);
  }));
