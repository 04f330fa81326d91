/**
 * Owns the replay of a scenario against a Runtime: a scripted Core sends Core's frames over a real
 * WebSocket and compares what the Runtime sends; at the end the native effects are counted.
 */
import { assertEquals } from "@std/assert";
import { Binding } from "./binding.ts";
import type { RuntimeUnderTest, StartRuntime } from "./runtime_under_test.ts";
import type { Scenario, ScenarioFrame, Step } from "./scenario.ts";
import { type CorePeer, ScriptedCore } from "./scripted_core.ts";

const DEVICE = "6f0c2d1e-0f54-4b7e-9b36-2b8f1f9d7a10";

/** Replays one scenario. @throws {Error} naming the step that went wrong. */
export async function replayOnRuntime(
  scenario: Scenario,
  start: StartRuntime,
): Promise<void> {
  if (scenario.dial) return await replayRefusals(scenario, start);
  const core = await ScriptedCore.start({ deviceId: DEVICE });
  const runtime = await start(scenario, {
    origin: core.origin,
    deviceId: DEVICE,
  });
  const replay = new RuntimeReplay(scenario, core, runtime);
  try {
    await replay.run();
  } finally {
    await runtime.stop();
    await core.stop();
  }
}

/** Each version is refused once, and the Runtime gives up for good. */
async function replayRefusals(
  scenario: Scenario,
  start: StartRuntime,
): Promise<void> {
  const { dial } = scenario;
  for (const version of dial?.versions ?? []) {
    for (const place of ["bootstrap", "dial"] as const) {
      const core = await ScriptedCore.start({
        deviceId: DEVICE,
        ...(place === "bootstrap" ? { reportedVersion: version } : {
          refusal: { status: dial?.status ?? 0, error: dial?.error ?? "" },
        }),
      });
      const runtime = await start(scenario, {
        origin: core.origin,
        deviceId: DEVICE,
      });
      try {
        assertEquals(await runtime.ended, "permanent", `${place} ${version}`);
        assertEquals(core.dials, place === "dial" ? 1 : 0, version);
      } finally {
        await runtime.stop();
        await core.stop();
      }
    }
  }
}

class RuntimeReplay {
  readonly #scenario: Scenario;
  readonly #core: ScriptedCore;
  readonly #runtime: RuntimeUnderTest;
  readonly #binding = new Binding();
  readonly #cancelled = new Set<string>();
  readonly #started = new Set<string>();
  #peer: CorePeer | undefined;
  #barriers = 0;

  constructor(
    scenario: Scenario,
    core: ScriptedCore,
    runtime: RuntimeUnderTest,
  ) {
    this.#scenario = scenario;
    this.#core = core;
    this.#runtime = runtime;
  }

  async run(): Promise<void> {
    await this.#connected();
    for (const [index, step] of this.#scenario.steps.entries()) {
      try {
        await this.#step(step);
      } catch (error) {
        const place = `step ${index + 1} (${JSON.stringify(step)})`;
        throw new Error(`${place}: ${(error as Error).message}`, {
          cause: error,
        });
      }
    }
    if (this.#scenario.steps.at(-1)?.step !== "closed_by_runtime") {
      await this.#silence();
    }
    this.#judge();
  }

  get #connection(): CorePeer {
    if (!this.#peer) throw new Error("not connected");
    return this.#peer;
  }

  async #connected(): Promise<void> {
    this.#peer = await this.#core.connections.next();
    assertEquals(await this.#peer.firstFrame, "heartbeat");
  }

  async #step(step: Step): Promise<void> {
    switch (step.step) {
      case "send":
        return step.from === "core"
          ? this.#send(step.frame)
          : await this.#receive(step.frame);
      case "silence":
        if (step.from === "runtime") await this.#silence();
        return;
      case "settle":
        await this.#barrier();
        if (this.#cancelled.delete(step.run)) {
          await this.#runtime.awaitCancel(step.run);
        }
        await this.#silence();
        return await this.#runtime.settle(step.run);
      case "native":
        return await this.#runtime.act(step);
      case "elapse":
        await this.#barrier();
        return await this.#runtime.elapse(step.milliseconds);
      case "disconnect":
        await this.#barrier();
        await this.#connection.drop();
        return await this.#runtime.lost();
      case "reconnect":
        await this.#runtime.redial();
        return await this.#connected();
      case "closed_by_runtime":
        assertEquals(await this.#connection.closed, 1000);
        assertEquals(await this.#runtime.ended, "shutdown_requested");
        return;
    }
  }

  #send(frame: ScenarioFrame): void {
    const resolved = this.#binding.resolve(frame);
    if (frame.type === "prompt_cancel") this.#cancelled.add(frame.id ?? "");
    if (frame.type === "device_shutdown") {
      for (const run of this.#started) this.#cancelled.add(run);
    }
    this.#connection.send(resolved);
  }

  async #receive(expected: ScenarioFrame): Promise<void> {
    const sent = await this.#connection.inbox.next();
    const difference = this.#binding.match(expected, sent);
    if (difference) throw new Error(difference);
    const { state, run_id } = (sent.payload ?? {}) as Record<string, string>;
    if (state === "started" && run_id) this.#started.add(run_id);
  }

  async #silence(): Promise<void> {
    const broken = await this.#connection.inbox.silence();
    if (broken) {
      throw new Error(
        `the Runtime sent ${broken.type} ${JSON.stringify(broken.payload)}`,
      );
    }
  }

  /** Frames are handled in order: an answer to this one says that all before it were taken in. */
  async #barrier(): Promise<void> {
    const id = `barrier-${++this.#barriers}`;
    const delivery_id = `cancel-${id}`;
    this.#connection.send({
      type: "prompt_cancel",
      id,
      payload: { delivery_id },
    });
    await this.#receive({
      type: "interaction_decision_ack",
      id,
      payload: { delivery_id, applied: false, error_code: "run_inactive" },
    });
  }

  #judge(): void {
    const { counts, files } = this.#runtime;
    const { workspace } = this.#scenario.expect;
    if (files && workspace) assertEquals(files(), workspace, "workspace");
    if (!counts) return;
    for (
      const [name, expected] of Object.entries(this.#scenario.expect.runtime)
    ) {
      assertEquals(counts[name as keyof typeof counts], expected, name);
    }
  }
}
