/**
 * Owns the Core side of a replay against a Runtime: bootstrap, one WebSocket at a time, frames as
 * they come. It judges nothing and shares nothing with the loopback Core but the wire.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
// @ts-types="@types/ws"
import { type WebSocket, WebSocketServer } from "ws";
import { PROTOCOL_VERSION } from "../../src/protocol/version.ts";
import { Inbox } from "./frame_inbox.ts";
import type { ScenarioFrame } from "./scenario.ts";

/** One accepted connection. */
export class CorePeer {
  /** Frames other than heartbeats, in order. */
  readonly inbox: Inbox<ScenarioFrame> = new Inbox();
  readonly closed: Promise<number>;
  readonly firstFrame: Promise<string>;
  readonly #socket: WebSocket;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    const first = Promise.withResolvers<string>();
    this.firstFrame = first.promise;
    socket.on("error", () => {}); // followed by the close event
    socket.on("message", (data: Uint8Array) => {
      const { type, id, payload } = JSON.parse(new TextDecoder().decode(data));
      first.resolve(type);
      if (type !== "heartbeat") this.inbox.put({ type, id, payload });
    });
    this.closed = new Promise((resolve) => {
      socket.on("close", (code: number) => resolve(code));
    });
  }

  /** Sends one frame as it is. */
  send(frame: ScenarioFrame): void {
    this.#socket.send(JSON.stringify(frame));
  }

  /** Ends the socket without a close frame. */
  drop(): Promise<number> {
    this.#socket.terminate();
    return this.closed;
  }
}

/** How a scripted Core answers. */
export interface ScriptedCoreOptions {
  readonly deviceId: string;
  /** Version that bootstrap reports. */
  readonly reportedVersion?: string;
  /** Refuses every dial. */
  readonly refusal?: { readonly status: number; readonly error: string };
}

/** A scripted Core on 127.0.0.1. */
export class ScriptedCore {
  /** Upgrade requests so far. */
  dials = 0;
  readonly connections: Inbox<CorePeer> = new Inbox();
  readonly #options: ScriptedCoreOptions;
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
  });
  readonly #peers = new Set<CorePeer>();

  private constructor(options: ScriptedCoreOptions) {
    this.#options = options;
    this.#server = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({
        device_id: options.deviceId,
        workspace_id: "a1b2c3d4-0000-4000-8000-000000000001",
        ws_url: `${this.origin.replace("http", "ws")}/api/v1/agent-daemon/ws`,
        heartbeat_seconds: 15,
        protocol_version: options.reportedVersion ?? PROTOCOL_VERSION,
      }));
    });
    this.#server.on("upgrade", (request, socket, head) => {
      this.dials++;
      if (options.refusal) return this.#refuse(socket);
      this.#sockets.handleUpgrade(request, socket, head, (accepted) => {
        const peer = new CorePeer(accepted);
        this.#peers.add(peer);
        this.connections.put(peer);
      });
    });
  }

  /** Starts listening on a free port. */
  static async start(options: ScriptedCoreOptions): Promise<ScriptedCore> {
    const core = new ScriptedCore(options);
    await new Promise<void>((resolve) => {
      core.#server.listen(0, "127.0.0.1", resolve);
    });
    return core;
  }

  /** The Core URL a Runtime is given. */
  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Ends every connection and the server. */
  async stop(): Promise<void> {
    await Promise.all([...this.#peers].map((peer) => peer.drop()));
    this.#sockets.close();
    const closed = new Promise<void>((resolve) =>
      this.#server.close(() => resolve())
    );
    this.#server.closeAllConnections();
    await closed;
  }

  #refuse(socket: Duplex): void {
    const { status, error } = this.#options.refusal ?? { status: 0, error: "" };
    const body = JSON.stringify({ error, detail: "" });
    socket.end(
      `HTTP/1.1 ${status} Refused\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    );
  }
}
