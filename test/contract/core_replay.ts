/**
 * Owns the replay of a scenario against the loopback Core: a scripted Runtime sends the Runtime's
 * frames over a real WebSocket and compares what Core sends; at the end Core must know exactly what
 * was proven.
 */
import { assertEquals } from "@std/assert";
import { LoopbackCore } from "../../src/loopback/core.ts";
import type { DeviceSession } from "../../src/loopback/device_session.ts";
import type { TraceLine } from "../../src/loopback/frame_trace.ts";
import { systemIds } from "../../src/platform/ids.ts";
import { settleEvents, VirtualClock } from "../support/virtual_clock.ts";
import { compare } from "./binding.ts";
import { CoreDriver } from "./core_driver.ts";
import { contractDeclaration } from "./declaration_fixture.ts";
import { Inbox } from "./frame_inbox.ts";
import type { Scenario, Step } from "./scenario.ts";
import { refusedDial, ScriptedRuntime } from "./scripted_runtime.ts";

const DEVICE = "runtime";
const CREDENTIAL = "synthetic-contract-credential";
/** Milliseconds between the heartbeats of the scripted Runtime, as bootstrap asks. */
const HEARTBEAT_MS = 15_000;

/** Replays one scenario. @throws {Error} naming the step that went wrong. */
export async function replayOnCore(scenario: Scenario): Promise<void> {
  const replay = new CoreReplay(scenario);
  try {
    await replay.run();
  } finally {
    await replay.close();
  }
}

class CoreReplay {
  readonly #scenario: Scenario;
  readonly #clock = new VirtualClock();
  readonly #driver = new CoreDriver();
  readonly #lines = new Inbox<TraceLine>();
  readonly #reports: ReturnType<DeviceSession["report"]>[] = [];
  #core: LoopbackCore | undefined;
  #session: DeviceSession | undefined;
  #runtime: ScriptedRuntime | undefined;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
  }

  async run(): Promise<void> {
    this.#core = await LoopbackCore.start({
      devices: { [DEVICE]: { credential: CREDENTIAL } },
      clock: this.#clock,
      ids: systemIds,
      trace: (line) => {
        if (
          line.direction === "from_runtime" || line.type === "session_ended"
        ) {
          this.#lines.put(line);
        }
      },
    });
    if (this.#scenario.dial) return await this.#refused();
    await this.#connect();
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
    await this.#judge();
  }

  async close(): Promise<void> {
    await this.#runtime?.drop();
    await this.#core?.shutdown();
  }

  get #parts(): {
    core: LoopbackCore;
    session: DeviceSession;
    runtime: ScriptedRuntime;
  } {
    const [core, session, runtime] = [
      this.#core,
      this.#session,
      this.#runtime,
    ];
    if (!core || !session || !runtime) throw new Error("not connected");
    return { core, session, runtime };
  }

  async #connect(): Promise<void> {
    const core = this.#core;
    if (!core) throw new Error("no Core");
    const { origin } = core;
    this.#runtime = await ScriptedRuntime.connect({
      origin,
      deviceId: DEVICE,
      credential: CREDENTIAL,
    });
    await this.#heartbeat();
    this.#session = await core.session(DEVICE, this.#session);
  }

  async #heartbeat(): Promise<void> {
    this.#runtime?.heartbeat(contractDeclaration(
      [],
      this.#scenario.workspace === undefined ? "unbound" : "bound",
    ));
    await this.#line("heartbeat");
  }

  async #line(type: string): Promise<void> {
    const line = await this.#lines.next();
    assertEquals(line.type, type, `Core noticed ${line.type} ${line.detail}`);
  }

  async #step(step: Step): Promise<void> {
    const { runtime, session } = this.#parts;
    switch (step.step) {
      case "send": {
        if (step.from === "runtime") {
          runtime.send(step.frame);
          return await this.#line(step.frame.type);
        }
        this.#driver.send(session, step.frame);
        const difference = compare(step.frame, await runtime.inbox.next());
        if (difference) throw new Error(difference);
        return;
      }
      case "silence": {
        if (step.from === "runtime") return;
        const broken = await runtime.inbox.silence();
        if (broken) throw new Error(`Core sent ${broken.type}`);
        return;
      }
      case "disconnect":
        await runtime.drop();
        return await this.#ended("connection_lost");
      case "closed_by_runtime":
        await runtime.close();
        return await this.#ended("connection_lost");
      case "reconnect":
        return await this.#connect();
      case "elapse":
        return await this.#elapse(step.milliseconds);
      case "settle":
      case "native":
        return; // the Runtime's own business: Core sees only what is sent
    }
  }

  async #ended(reason: string): Promise<void> {
    const { session } = this.#parts;
    assertEquals((await session.ended).reason, reason);
    await this.#line("session_ended");
    this.#reports.push(session.report());
  }

  async #elapse(milliseconds: number): Promise<void> {
    for (let left = milliseconds; left > 0; left -= HEARTBEAT_MS) {
      await this.#heartbeat();
      await this.#clock.advance(Math.min(left, HEARTBEAT_MS));
    }
  }

  async #refused(): Promise<void> {
    const { dial } = this.#scenario;
    const core = this.#core;
    if (!dial || !core) return;
    for (const version of dial.versions) {
      const refusal = await refusedDial({
        origin: core.origin,
        deviceId: DEVICE,
        credential: CREDENTIAL,
        version,
      });
      assertEquals(refusal.status, dial.status, version);
      assertEquals(JSON.parse(refusal.body).error, dial.error, version);
    }
  }

  async #judge(): Promise<void> {
    await settleEvents();
    const { session } = this.#parts;
    const reports = [...this.#reports, session.report()];
    const expected = this.#scenario.expect.core;
    assertEquals({
      preparations: Object.assign({}, ...reports.map((r) => r.preparations)),
      runs: Object.assign({}, ...reports.map((r) => r.runs)),
      receipts: this.#driver.receipts,
      inputs: this.#driver.inputs,
      operations: this.#driver.operations,
    }, expected);
    const extra = await this.#parts.runtime.inbox.silence();
    if (extra) throw new Error(`Core sent ${extra.type} after the last step`);
  }
}
