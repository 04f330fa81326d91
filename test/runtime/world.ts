// One router between a scripted connection and a scripted Harness, on a virtual clock.
import { assertEquals } from "@std/assert";
import type { DiscoveredHarness } from "../../src/harness/contract.ts";
import { HarnessRegistry } from "../../src/harness/registry.ts";
import type { Ids } from "../../src/platform/ids.ts";
import type { Configuration } from "../../src/protocol/configuration.ts";
import {
  decodeEnvelope,
  encodeEnvelope,
  type Envelope,
} from "../../src/protocol/envelope.ts";
import type { MessageInput } from "../../src/protocol/message_input.ts";
import { createRouter, type Router } from "../../src/runtime/router.ts";
import type { RouterOptions } from "../../src/runtime/router.ts";
import { RecordingLog } from "../support/recording_log.ts";
import { settleEvents, VirtualClock } from "../support/virtual_clock.ts";
import { FakeConnection, type SentFrame } from "./fake_connection.ts";
import { discovered, ScriptedFactory } from "./scripted_harness.ts";

/** Ids that count up, in the canonical spelling. */
export function countingIds(): Ids {
  let count = 0;
  return {
    uuid: () => `00000000-0000-4000-8000-${String(++count).padStart(12, "0")}`,
    hex: (bytes) => (++count).toString(16).padStart(bytes * 2, "0"),
  };
}

/** What differs from the plain world. */
export interface WorldOptions {
  readonly harness?: Partial<DiscoveredHarness>;
  readonly router?: Partial<RouterOptions>;
  readonly clock?: VirtualClock;
  readonly ids?: Ids;
  readonly registry?: HarnessRegistry;
}

export class World {
  readonly clock: VirtualClock;
  readonly connection = new FakeConnection();
  readonly log = new RecordingLog();
  readonly factory = new ScriptedFactory();
  readonly registry: HarnessRegistry;
  readonly router: Router;
  #seen = 0;

  constructor(options: WorldOptions = {}) {
    this.clock = options.clock ?? new VirtualClock();
    this.registry = options.registry ?? new HarnessRegistry();
    this.registry.register(discovered(this.factory, options.harness));
    this.router = createRouter({
      clock: this.clock,
      ids: options.ids ?? countingIds(),
      log: this.log,
      sender: this.connection,
      harnesses: this.registry,
      ...options.router,
    });
  }

  get frames(): readonly SentFrame[] {
    return this.connection.frames;
  }

  /** Hands one frame to the router as it would come from the socket. */
  receive(envelope: Envelope): void {
    const decoded = decodeEnvelope(encodeEnvelope(envelope));
    if (!decoded.ok) throw new Error(decoded.reason);
    this.router.handle(decoded.value);
  }

  /** Receives and lets everything that is ready run. */
  async send(type: string, id?: string, payload?: unknown): Promise<void> {
    this.receive({
      type,
      ...(id === undefined ? {} : { id }),
      ...(payload === undefined ? {} : { payload }),
    });
    await settleEvents();
  }

  /** The frames since the last call. */
  fresh(): readonly SentFrame[] {
    const fresh = this.frames.slice(this.#seen);
    this.#seen = this.frames.length;
    return fresh;
  }

  /** Type and the decisive word of each frame since the last call. */
  words(): string[] {
    return this.fresh().map(word);
  }

  /** The last status of a preparation. */
  // deno-lint-ignore no-explicit-any -- see SentFrame
  status(requestId = "prepare"): any {
    return this.frames.findLast((frame) =>
      frame.type === "preparation_status" && frame.id === requestId
    )?.payload;
  }

  /** Prepares a Session up to `ready`. */
  async ready(
    session = "session",
    requestId = "prepare",
    changes: Partial<Configuration> = {},
  ): Promise<void> {
    await this.send("execution_prepare", requestId, prepare(session, changes));
    assertEquals(this.status(requestId)?.state, "ready");
  }

  /** The payload of a start for the present handle of a request. */
  startPayload(
    runId = "run",
    requestId = "prepare",
    text = "hello",
  ): Record<string, unknown> {
    const { executor_id, handle } = this.status(requestId);
    return { executor_id, handle, run_id: runId, input: input(text) };
  }

  /** Prepares and starts a Run up to `started`. */
  async running(
    runId = "run",
    session = "session",
    requestId = "prepare",
    changes: Partial<Configuration> = {},
  ): Promise<void> {
    await this.ready(session, requestId, changes);
    await this.send(
      "execution_start",
      requestId,
      this.startPayload(runId, requestId),
    );
    assertEquals(this.status(requestId)?.state, "started");
  }

  async advance(milliseconds: number): Promise<void> {
    await this.clock.advance(milliseconds);
  }

  /** Ends the router and proves that no timer, task or owner is left. */
  async close(): Promise<void> {
    this.connection.end();
    await this.router.shutdown();
    await settleEvents();
    assertEquals(this.router.status().tasks, []);
    assertEquals(this.clock.pendingTimers, 0);
    assertEquals(this.router.activeRuns, 0);
    assertEquals(
      this.log.events.filter(({ event }) =>
        event === "task failed" || event === "frame handler failed" ||
        event === "settlement failed"
      ),
      [],
    );
  }
}

/** Runs `body` in a world and checks afterwards that nothing leaked. */
export async function inWorld(
  body: (world: World) => Promise<void>,
  options: WorldOptions = {},
): Promise<void> {
  const world = new World(options);
  await body(world);
  await world.close();
}

/** The payload of a prepare without Environment. */
export function prepare(
  session = "session",
  changes: Partial<Configuration> = {},
): unknown {
  return {
    session_id: session,
    configuration: {
      agent_kind: "contract",
      run_id: "",
      agent_state_key: `agents-api-${session}`,
      disable_execution_environment: true,
      ...changes,
    },
  };
}

/** One message with one text. */
export function input(text = "hello"): MessageInput {
  return [{ content: [{ type: "input_text", text }] }];
}

/** One readable word for a frame. */
export function word({ type, payload }: SentFrame): string {
  switch (type) {
    case "preparation_status":
      return payload.error_code === undefined
        ? `${payload.state}(${payload.revision})`
        : `${payload.state}(${payload.revision}) ${payload.error_code}`;
    case "interaction_decision_ack":
      return payload.applied ? "applied" : `ack ${payload.error_code}`;
    case "prompt_steer_ack":
      return payload.accepted
        ? "accepted"
        : payload.written
        ? "written"
        : `input ${payload.error_code}`;
    case "delta":
      return `delta ${payload.sequence}`;
    default:
      return type;
  }
}
