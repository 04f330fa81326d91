// A session loop over scripted requests, sockets in memory and a router that does as told, all on
// one virtual clock.
import { type Deferred, deferred } from "../../src/platform/deferred.ts";
import type { Envelope, InboundEnvelope } from "../../src/protocol/envelope.ts";
import type { Heartbeat } from "../../src/protocol/heartbeat.ts";
import type { BootstrapOutcome } from "../../src/transport/bootstrap.ts";
import type { FrameSender } from "../../src/transport/connection.ts";
import { parseCoreUrl } from "../../src/transport/core_url.ts";
import type { DialOutcome } from "../../src/transport/dial.ts";
import { createNetwork } from "../../src/transport/network.ts";
import type { Refusal } from "../../src/transport/refusal.ts";
import {
  type LoopExit,
  SessionLoop,
  type SessionLoopOptions,
} from "../../src/transport/session_loop.ts";
import type { SessionRouter } from "../../src/transport/session_router.ts";
import { RecordingLog } from "../support/recording_log.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { FakeSocket } from "./fake_socket.ts";

export const LOOP_TOKEN = "CANARY-loop-token";

/** A router whose every answer a test can replace. */
export class FakeRouter implements SessionRouter {
  readonly handled: InboundEnvelope[] = [];
  readonly requested: Deferred<void> = deferred();
  shutdowns: number[] = [];
  onHandle: (envelope: InboundEnvelope) => void | Promise<void> = () => {};
  onShutdown: () => Promise<void> = () => Promise.resolve();
  onHeartbeat = () => ({ ts: 1, active_requests: 0 });
  onWaitingFor: () => readonly string[] = () => [];

  constructor(
    readonly connection: FrameSender,
    readonly clock: VirtualClock,
  ) {}

  handle(envelope: InboundEnvelope): void | Promise<void> {
    this.handled.push(envelope);
    return this.onHandle(envelope);
  }
  heartbeat(): Heartbeat {
    return this.onHeartbeat();
  }
  shutdown(): Promise<void> {
    this.shutdowns.push(this.clock.monotonic());
    return this.onShutdown();
  }
  get shutdownRequested(): Promise<void> {
    return this.requested.promise;
  }
  waitingFor(): readonly string[] {
    return this.onWaitingFor();
  }
  send(envelope: Envelope): Promise<void> {
    return this.connection.send(envelope);
  }
}

/** What a test replaces. */
export type RigChanges = Omit<Partial<SessionLoopOptions>, "clock"> & {
  readonly clock?: VirtualClock;
};

/** The parts of a loop under test. */
export class LoopRig {
  readonly clock: VirtualClock;
  readonly log = new RecordingLog();
  readonly stop = new AbortController();
  readonly routers: FakeRouter[] = [];
  readonly sockets: FakeSocket[] = [];
  readonly dials: number[] = [];
  readonly bootstraps: number[] = [];
  readonly credentials: string[] = [];
  readonly versions: string[] = [];
  readonly loop: SessionLoop;
  exit: LoopExit | undefined;
  failure: unknown;
  /** Decides each dial by its number, from 1. */
  onDial: (n: number) => Refusal | FakeSocket | Promise<DialOutcome> = () =>
    this.socket();
  onBootstrap: (n: number) => Refusal | Promise<BootstrapOutcome> | undefined =
    () => undefined;
  onRouter: (router: FakeRouter) => void = () => {};

  constructor(
    changes: RigChanges = {},
  ) {
    this.clock = changes.clock ?? new VirtualClock();
    this.loop = new SessionLoop({
      core: parseCoreUrl("https://core.example"),
      deviceId: "6f0c2d1e-0f54-4b7e-9b36-2b8f1f9d7a10",
      userAgent: "agent-daemon/test",
      network: createNetwork({ proxy: {} }),
      random: { next: () => 0.5 },
      log: this.log,
      readCredential: () => LOOP_TOKEN,
      openRouter: (connection) => {
        const router = new FakeRouter(connection, this.clock);
        this.onRouter(router);
        this.routers.push(router);
        return router;
      },
      stop: this.stop.signal,
      onPermanent: "exit",
      ...changes,
      clock: this.clock,
      requests: {
        bootstrap: (request) => this.#bootstrap(request.credential),
        dial: (request) => this.#dial(request.credential, request.version),
      },
    });
  }

  /** A socket that answers pings after 50 ms. */
  socket(): FakeSocket {
    return new FakeSocket({ clock: this.clock, pongAfter: () => 50 });
  }

  start(): this {
    this.loop.run().then(
      (exit) => this.exit = exit,
      (error) => this.failure = error,
    );
    return this;
  }

  /** Stops and lets everything end. */
  async finish(): Promise<void> {
    this.stop.abort();
    await this.clock.advance(20_000);
  }

  async #bootstrap(credential: string): Promise<BootstrapOutcome> {
    this.bootstraps.push(this.clock.monotonic());
    this.credentials.push(credential);
    const answer = await this.onBootstrap(this.bootstraps.length);
    if (answer === undefined) {
      return {
        ok: true,
        answer: {
          wsUrl: "wss://core.example/api/v1/agent-daemon/ws",
          heartbeatInterval: 15_000,
        },
      };
    }
    return "kind" in answer ? { ok: false, refusal: answer } : answer;
  }

  async #dial(credential: string, version: string): Promise<DialOutcome> {
    this.dials.push(this.clock.monotonic());
    this.credentials.push(credential);
    this.versions.push(version);
    const answer = await this.onDial(this.dials.length);
    if (answer instanceof FakeSocket) {
      this.sockets.push(answer);
      return { ok: true, socket: answer };
    }
    return "kind" in answer ? { ok: false, refusal: answer } : answer;
  }
}

export const unavailable = {
  kind: "transient",
  source: { from: "core", route: "socket", status: 503 },
} as const satisfies Refusal;

export const rejected = {
  kind: "permanent",
  reason: "credential_rejected",
  source: { from: "core", route: "socket", status: 401 },
} as const satisfies Refusal;

export const incompatible = {
  kind: "permanent",
  reason: "incompatible_version",
  source: { from: "core", route: "socket", status: 426 },
} as const satisfies Refusal;
