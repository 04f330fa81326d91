/**
 * Owns a Core on loopback: its HTTP server, its device rows and the current connection of each
 * device. It stores nothing and never resends; it is strict so that a lie of the other end is seen.
 */
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
// @ts-types="@types/ws"
import { WebSocketServer } from "ws";
import type { Clock } from "../platform/clock.ts";
import { type Deferred, deferred } from "../platform/deferred.ts";
import type { Ids } from "../platform/ids.ts";
import { MAX_FRAME_BYTES } from "../protocol/limits.ts";
import { PROTOCOL_VERSION } from "../protocol/version.ts";
import { DeviceSession } from "./device_session.ts";
import { DeviceSocket } from "./device_socket.ts";
import type { TraceListener } from "./frame_trace.ts";
import {
  BOOTSTRAP_PATH,
  type DeviceRow,
  type HttpRefusal,
  judgeBootstrap,
  judgeDial,
  MAX_BOOTSTRAP_BODY_BYTES,
  SOCKET_PATH,
} from "./http_door.ts";
import type { SessionEnd } from "./observation.ts";

/** What a loopback Core is started with. */
export interface LoopbackCoreOptions {
  /** Device rows by device id. */
  readonly devices: Readonly<Record<string, DeviceRow>>;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Seconds between heartbeats, as bootstrap tells the daemon. Default 15. */
  readonly heartbeatSeconds?: number;
  /** Version that bootstrap reports; another one lets a test reach the check of the dial. */
  readonly reportedVersion?: string;
  readonly trace?: TraceListener;
}

/** A running Core. {@linkcode LoopbackCore.shutdown} must be awaited. */
export class LoopbackCore {
  readonly #options: LoopbackCoreOptions;
  readonly #devices: Map<string, DeviceRow>;
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
  });
  readonly #current = new Map<string, DeviceSession>();
  readonly #open = new Set<DeviceSocket>();
  #arrival: Deferred<void> = deferred();

  private constructor(options: LoopbackCoreOptions) {
    this.#options = options;
    this.#devices = new Map(Object.entries(options.devices));
    this.#server = createServer((request, response) => {
      void this.#answer(request).then((answer) => {
        const body = JSON.stringify(answer.body);
        response.writeHead(answer.status, {
          "content-type": "application/json",
        });
        response.end(body);
      });
    });
    this.#server.on("upgrade", (request, socket, head) => {
      this.#upgrade(request, socket, head);
    });
  }

  /** Starts a Core on a free port of 127.0.0.1. */
  static async start(options: LoopbackCoreOptions): Promise<LoopbackCore> {
    const core = new LoopbackCore(options);
    await new Promise<void>((resolve, reject) => {
      core.#server.once("error", reject);
      core.#server.listen(0, "127.0.0.1", resolve);
    });
    return core;
  }

  /** The Core URL a daemon is given, such as `http://127.0.0.1:4711`. */
  get origin(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  /** The bootstrap route. */
  get bootstrapUrl(): string {
    return `${this.origin}${BOOTSTRAP_PATH}`;
  }

  /**
   * The current connection of a device, once it has declared its capabilities. With `after`, a
   * connection that came later than that one.
   */
  async session(
    deviceId: string,
    after?: DeviceSession,
  ): Promise<DeviceSession> {
    for (;;) {
      const session = this.#current.get(deviceId);
      if (session && session !== after) {
        const usable = await session.usable.then(() => true, () => false);
        if (usable && this.#current.get(deviceId) === session) return session;
        continue;
      }
      await this.#arrival.promise;
    }
  }

  /** Removes a device row: its connection is closed with 4001 and later dials are refused. */
  retire(deviceId: string): void {
    this.#devices.delete(deviceId);
    this.#current.get(deviceId)?.end({ reason: "retired" });
  }

  /** Ends every connection and the server. */
  async shutdown(): Promise<void> {
    for (const session of this.#current.values()) {
      session.end({ reason: "core_shutdown" });
    }
    const sockets = [...this.#open];
    for (const socket of sockets) socket.destroy();
    await Promise.all(sockets.map((socket) => socket.closed));
    this.#sockets.close();
    const closed = new Promise<void>((resolve) =>
      this.#server.close(() => resolve())
    );
    this.#server.closeAllConnections();
    await closed;
  }

  #trace(type: string, id: string, detail: string): void {
    this.#options.trace?.({ direction: "core", type, id, detail });
  }

  async #answer(
    request: IncomingMessage,
  ): Promise<{ status: number; body: unknown }> {
    const path = new URL(request.url ?? "/", "http://loopback").pathname;
    if (path !== BOOTSTRAP_PATH) {
      return { status: 404, body: { error: "not_found", detail: "" } };
    }
    const judged = judgeBootstrap(
      request,
      await bodyOf(request),
      this.#devices,
    );
    this.#trace("bootstrap", "", `status=${judged.status}`);
    if ("error" in judged) {
      const { status, error, detail } = judged;
      return { status, body: { error, detail } };
    }
    return {
      status: 200,
      body: {
        device_id: judged.deviceId,
        workspace_id: "00000000-0000-4000-8000-000000000001",
        ws_url: `${this.origin.replace("http:", "ws:")}${SOCKET_PATH}`,
        heartbeat_seconds: this.#options.heartbeatSeconds ?? 15,
        protocol_version: this.#options.reportedVersion ?? PROTOCOL_VERSION,
      },
    };
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Uint8Array): void {
    const judged = judgeDial(request, this.#devices);
    this.#trace("dial", "", `status=${judged.status}`);
    if ("error" in judged) return refuse(socket, judged);
    this.#sockets.handleUpgrade(
      request,
      socket,
      head as never, // node's Buffer is the only type the package's declaration knows
      (accepted) =>
        this.#adopt(
          judged.deviceId,
          new DeviceSocket(accepted, this.#options.clock),
        ),
    );
  }

  /** The newest connection of a device is the only one: routes of the older one end. */
  #adopt(deviceId: string, socket: DeviceSocket): void {
    this.#current.get(deviceId)?.end({ reason: "evicted" });
    const session = new DeviceSession({
      deviceId,
      socket,
      clock: this.#options.clock,
      ids: this.#options.ids,
      trace: this.#options.trace ?? (() => {}),
    });
    this.#current.set(deviceId, session);
    this.#open.add(socket);
    void socket.closed.then(() => this.#open.delete(socket));
    void session.ended.then((end) => this.#drop(session, end));
    socket.listen({
      text: (text) => session.receive(text),
      gone: (end) => session.end(end),
    });
    const arrived = this.#arrival;
    this.#arrival = deferred();
    arrived.resolve();
  }

  /** A late end of an older connection must not remove the newer one. */
  #drop(session: DeviceSession, end: SessionEnd): void {
    if (this.#current.get(session.deviceId) === session) {
      this.#current.delete(session.deviceId);
    }
    this.#trace("connection_ended", session.deviceId, end.reason);
  }
}

/** Reads a bounded body; `undefined` when it is longer. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of request) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > MAX_BOOTSTRAP_BODY_BYTES) return undefined;
  }
  return text + decoder.decode();
}

const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  426: "Upgrade Required",
};

function refuse(socket: Duplex, refusal: HttpRefusal): void {
  const { status, error, detail } = refusal;
  const body = JSON.stringify({ error, detail });
  socket.end(
    `HTTP/1.1 ${status} ${REASONS[status] ?? "Refused"}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${
        new TextEncoder().encode(body).length
      }\r\nConnection: close\r\n\r\n${body}`,
  );
}
