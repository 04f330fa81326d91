/** A loopback Core with a scripted Runtime on the other end of a real WebSocket, on virtual time. */
import { LoopbackCore } from "../../src/loopback/core.ts";
import type { DeviceSession } from "../../src/loopback/device_session.ts";
import type { TraceLine } from "../../src/loopback/frame_trace.ts";
import type { DeviceRow } from "../../src/loopback/http_door.ts";
import type { ObservedRun } from "../../src/loopback/observed_run.ts";
import type { Preparation } from "../../src/loopback/preparation.ts";
import { systemIds } from "../../src/platform/ids.ts";
import type { CapabilityName } from "../../src/protocol/capabilities.ts";
import type { Configuration } from "../../src/protocol/configuration.ts";
import { contractDeclaration } from "../contract/declaration_fixture.ts";
import { Inbox } from "../contract/frame_inbox.ts";
import { ScriptedRuntime } from "../contract/scripted_runtime.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

export const DEVICE = "6f0c2d1e-0f54-4b7e-9b36-2b8f1f9d7a10";
export const CREDENTIAL = "canary-credential-5f2b";

/** Payload members of a status that stay the same over a handle's life. */
const HANDLE = { executor_id: "executor", handle: "handle", expires_at: 18e11 };

/** Options of a lab. */
export interface LabOptions {
  readonly devices?: Readonly<Record<string, DeviceRow>>;
  readonly unsupported?: readonly CapabilityName[];
}

/** One Core and what is connected to it. */
export class Lab implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly lines: TraceLine[] = [];
  readonly received: Inbox<TraceLine> = new Inbox();
  readonly core: LoopbackCore;
  readonly #unsupported: readonly CapabilityName[];
  readonly #runtimes: ScriptedRuntime[] = [];

  private constructor(
    core: LoopbackCore,
    clock: VirtualClock,
    options: LabOptions,
  ) {
    this.core = core;
    this.clock = clock;
    this.#unsupported = options.unsupported ?? [];
  }

  static async open(options: LabOptions = {}): Promise<Lab> {
    const hold: { lab?: Lab } = {};
    const clock = new VirtualClock();
    const core = await LoopbackCore.start({
      devices: options.devices ?? { [DEVICE]: { credential: CREDENTIAL } },
      clock,
      ids: systemIds,
      trace: (line) => {
        hold.lab?.lines.push(line);
        if (line.direction === "from_runtime") hold.lab?.received.put(line);
      },
    });
    const lab = new Lab(core, clock, options);
    hold.lab = lab;
    return lab;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#runtimes.map((runtime) => runtime.drop()));
    await this.core.shutdown();
  }

  /** Dials without sending anything. */
  async dial(): Promise<ScriptedRuntime> {
    const runtime = await ScriptedRuntime.connect({
      origin: this.core.origin,
      deviceId: DEVICE,
      credential: CREDENTIAL,
    });
    this.#runtimes.push(runtime);
    return runtime;
  }

  /** Dials and sends a complete heartbeat. */
  async connect(after?: DeviceSession): Promise<{
    readonly runtime: ScriptedRuntime;
    readonly session: DeviceSession;
  }> {
    const runtime = await this.dial();
    runtime.heartbeat(contractDeclaration(this.#unsupported));
    await this.received.next();
    const session = await this.core.session(DEVICE, after);
    return { runtime, session };
  }

  /** Sends a frame of the Runtime and waits until Core has taken it in. */
  async deliver(
    runtime: ScriptedRuntime,
    type: string,
    id: string,
    payload?: unknown,
  ): Promise<void> {
    runtime.send({ type, id, ...(payload === undefined ? {} : { payload }) });
    await this.received.next();
  }

  /** A preparation at `ready`. */
  async prepared(members: Partial<Configuration> = {}): Promise<Prepared> {
    const { runtime, session } = await this.connect();
    const preparation = session.prepare({
      sessionId: "session",
      requestId: "prepare",
      configuration: configuration(members),
    });
    await this.status(runtime, 1, "preparing");
    await this.status(runtime, 2, "ready");
    return { runtime, session, preparation };
  }

  /** A Run at `started`. */
  async started(members: Partial<Configuration> = {}): Promise<Started> {
    const prepared = await this.prepared(members);
    const { runtime, session, preparation } = prepared;
    const run = session.start(preparation, {
      runId: "run",
      input: [{ content: [{ type: "input_text", text: "hello" }] }],
    });
    await this.status(runtime, 3, "starting", { run_id: "run" });
    await this.status(runtime, 4, "started", { run_id: "run" });
    return { ...prepared, run };
  }

  /** Sends a status of the handle. */
  async status(
    runtime: ScriptedRuntime,
    revision: number,
    state: string,
    members: Readonly<Record<string, unknown>> = {},
  ): Promise<void> {
    await this.deliver(runtime, "preparation_status", "prepare", {
      ...HANDLE,
      revision,
      state,
      ...members,
    });
  }
}

/** See {@linkcode Lab.prepared}. */
export interface Prepared {
  readonly runtime: ScriptedRuntime;
  readonly session: DeviceSession;
  readonly preparation: Preparation;
}

/** See {@linkcode Lab.started}. */
export interface Started extends Prepared {
  readonly run: ObservedRun;
}

/** A configuration without an Environment. */
export function configuration(
  members: Partial<Configuration> = {},
): Configuration {
  return {
    agent_kind: "contract",
    run_id: "",
    agent_state_key: "agents-api-session",
    disable_execution_environment: true,
    ...members,
  };
}
