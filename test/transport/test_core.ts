// A Core on loopback for transport tests: real HTTP, real WebSocket, optionally real TLS. It records
// what came in and answers as scripted; it has no manners of its own.
import * as http from "node:http";
import * as https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { fromFileUrl } from "@std/path";
import { type WebSocket, WebSocketServer } from "ws";

const fixture = (name: string) =>
  Deno.readTextFileSync(
    fromFileUrl(new URL(`./fixtures/${name}`, import.meta.url)),
  );

/** The self-signed certificate of `core.test`, `localhost` and `127.0.0.1`. */
export const TEST_CERTIFICATE = fixture("core_test_certificate.pem");
const TEST_KEY = fixture("core_test_key.pem");

/** One recorded request. */
export interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

/** Answers a plain request. */
export type HttpHandler = (
  request: RecordedRequest,
  response: http.ServerResponse,
) => void;
/** Answers an upgrade with raw bytes; `undefined` means accept. */
export type UpgradeHandler = (
  request: http.IncomingMessage,
  socket: Duplex,
) => "accept" | "answered";

/** A running Core. */
export class TestCore implements AsyncDisposable {
  readonly requests: RecordedRequest[] = [];
  readonly upgrades: RecordedRequest[] = [];
  onRequest: HttpHandler = (_request, response) => response.end("{}");
  onUpgrade: UpgradeHandler = () => "accept";
  onSocket: (socket: WebSocket) => void = () => {};
  tcpConnections = 0;
  readonly #server: http.Server;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
  });
  readonly #open = new Set<Socket>();

  private constructor(readonly secure: boolean) {
    this.#server = secure
      ? https.createServer({ key: TEST_KEY, cert: TEST_CERTIFICATE })
      : http.createServer();
    this.#server.on("connection", (socket: Socket) => {
      this.tcpConnections++;
      this.#open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => this.#open.delete(socket));
    });
    this.#server.on("request", (request, response) => {
      this.#read(request, response);
    });
    this.#server.on("upgrade", (request, socket, head) => {
      socket.on("error", () => {});
      this.upgrades.push(recorded(request, ""));
      if (this.onUpgrade(request, socket) === "answered") return;
      this.#sockets.handleUpgrade(request, socket, head, (open) => {
        open.on("error", () => {});
        this.onSocket(open);
      });
    });
  }

  static async start(secure: "plain" | "secure" = "plain"): Promise<TestCore> {
    const core = new TestCore(secure === "secure");
    await new Promise<void>((resolve) =>
      core.#server.listen(0, "127.0.0.1", resolve)
    );
    return core;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get origin(): string {
    return `${this.secure ? "https" : "http"}://127.0.0.1:${this.port}`;
  }

  get wsUrl(): string {
    return `${
      this.secure ? "wss" : "ws"
    }://127.0.0.1:${this.port}/api/v1/agent-daemon/ws`;
  }

  #read(request: http.IncomingMessage, response: http.ServerResponse): void {
    const chunks: Uint8Array[] = [];
    request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    request.on("end", () => {
      const body = chunks.map((chunk) => new TextDecoder().decode(chunk));
      const entry = recorded(request, body.join(""));
      this.requests.push(entry);
      this.onRequest(entry, response);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#sockets.clients) client.terminate();
    this.#sockets.close();
    for (const socket of this.#open) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

function recorded(
  request: http.IncomingMessage,
  body: string,
): RecordedRequest {
  return {
    method: request.method ?? "",
    url: request.url ?? "",
    headers: request.headers,
    body,
  };
}

/** Answers an upgrade with a status instead. */
export function refuseUpgrade(
  socket: Duplex,
  status: number,
  body = "",
  headers = "",
): "answered" {
  socket.end(
    `HTTP/1.1 ${status} Refused\r\nContent-Type: application/json\r\n${headers}` +
      `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );
  return "answered";
}

/** A good bootstrap answer for `core`, with members replaced. */
export function bootstrapBody(
  core: TestCore,
  deviceId: string,
  members: Readonly<Record<string, unknown>> = {},
): string {
  return JSON.stringify({
    device_id: deviceId,
    workspace_id: "a1b2c3d4-0000-4000-8000-000000000001",
    ws_url: core.wsUrl,
    heartbeat_seconds: 15,
    protocol_version: "0.12.0",
    ...members,
  });
}
