// Owns one attempt to open the WebSocket, up to the open socket or the reason of its refusal. The
// credential is in one header; no text of the peer reaches an error.
import type { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import WebSocket from "ws";
import type { Clock, Timer } from "../platform/clock.ts";
import { MAX_FRAME_BYTES } from "../protocol/limits.ts";
import { dialUrl } from "./core_url.ts";
import {
  CLOSE_DEADLINE,
  HANDSHAKE_TIMEOUT,
  REFUSAL_BODY_BYTES,
} from "./limits.ts";
import type { Network, Passage } from "./network.ts";
import { networkFault } from "./network_fault.ts";
import { classifyRefusal, type NetworkFault, type Refusal } from "./refusal.ts";
import type { WireSocket } from "./wire_socket.ts";
import { wrapSocket } from "./ws_socket.ts";

/** What one dial needs. */
export interface DialRequest {
  /** The address from bootstrap. */
  readonly wsUrl: string;
  readonly deviceId: string;
  readonly credential: string;
  /** The wire version, not the build version. */
  readonly version: string;
  readonly userAgent: string;
  readonly network: Network;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
}

/** The outcome of one dial. */
export type DialOutcome =
  | { readonly ok: true; readonly socket: WireSocket }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Opens the socket within 10 s. One dial makes one upgrade request; redirects are not followed.
 *
 * @throws {TypeError} when address, device id, credential or version are empty.
 * @throws {InvalidProxy} when the proxy setting cannot be used.
 */
export function dial(request: DialRequest): Promise<DialOutcome> {
  for (const name of ["wsUrl", "deviceId", "credential", "version"] as const) {
    if (request[name] === "") {
      throw new TypeError(`Cannot dial: ${name} is empty`);
    }
  }
  const url = new URL(
    dialUrl(request.wsUrl, request.deviceId, request.version),
  );
  const passage = request.network.passage(url);
  return new Promise((resolve) => {
    new Attempt(request, passage, resolve).run(url);
  });
}

/** The life of one attempt: it settles once and then holds no timer; a loser's socket is ended. */
class Attempt {
  readonly #request: DialRequest;
  readonly #passage: Passage;
  readonly #resolve: (outcome: DialOutcome) => void;
  #socket: WebSocket | undefined;
  #transport: Socket | undefined;
  #timer: Timer | undefined;
  #settled = false;
  readonly #onAbort = () => this.#fault("aborted");

  constructor(
    request: DialRequest,
    passage: Passage,
    resolve: (outcome: DialOutcome) => void,
  ) {
    this.#request = request;
    this.#passage = passage;
    this.#resolve = resolve;
  }

  run(url: URL): void {
    const { clock, signal } = this.#request;
    if (signal?.aborted) return this.#fault("aborted");
    const socket = new WebSocket(url, this.#options());
    this.#socket = socket;
    this.#timer = clock.after(HANDSHAKE_TIMEOUT, () => this.#fault("timeout"));
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    socket.on("upgrade", (response) => {
      this.#transport = response.socket;
    });
    socket.on("unexpected-response", (_request, response) => {
      this.#refused(response);
    });
    // Stays attached for good: a socket that is ended before it opened reports that as an error.
    socket.on("error", (error) => this.#fault(networkFault(error)));
    socket.on("open", () => {
      const wrapped = wrapSocket(socket, this.#transport);
      if (!this.#settle({ ok: true, socket: wrapped })) socket.terminate();
    });
  }

  #options(): WebSocket.ClientOptions & { readonly closeTimeout: number } {
    const { credential, userAgent } = this.#request;
    const { tls, tunnel } = this.#passage;
    return {
      headers: {
        Authorization: `Bearer ${credential}`,
        "User-Agent": userAgent,
      },
      ...tls,
      ...(tunnel === undefined ? {} : { agent: tunnel.agent }),
      followRedirects: false,
      perMessageDeflate: false,
      maxPayload: MAX_FRAME_BYTES,
      // Text is checked where it is decoded: a bad message is dropped, the connection stays.
      skipUTF8Validation: true,
      handshakeTimeout: HANDSHAKE_TIMEOUT,
      closeTimeout: CLOSE_DEADLINE,
    };
  }

  /** Reads a little of the refusal, for Core's machine code, and classifies it by its status. */
  #refused(response: IncomingMessage): void {
    const tunnel = this.#passage.tunnel;
    const proxyStatus = tunnel?.status();
    if (tunnel && proxyStatus !== undefined && proxyStatus !== 200) {
      const source = {
        from: "proxy",
        proxy: tunnel.proxy.name,
        status: proxyStatus,
      } as const;
      this.#settle({ ok: false, refusal: { kind: "transient", source } });
      return;
    }
    let body = "";
    const finish = () => {
      const retryAfter = response.headers["retry-after"];
      const refusal = classifyRefusal("socket", {
        status: response.statusCode ?? 0,
        body,
        ...(retryAfter === undefined ? {} : { retryAfter }),
      }, this.#request.clock.now());
      this.#settle({ ok: false, refusal });
    };
    response.on("data", (chunk: Buffer) => {
      body += chunk.toString();
      if (body.length > REFUSAL_BODY_BYTES) finish();
    });
    response.on("end", finish);
    response.on("error", finish);
    response.on("close", finish);
    // The status is known: a peer that withholds the body must not turn it into a timeout.
    this.#timer?.cancel();
    this.#timer = this.#request.clock.after(CLOSE_DEADLINE, finish);
  }

  #fault(fault: NetworkFault): void {
    const proxy = this.#passage.tunnel?.proxy.name;
    const source = {
      from: "network",
      route: "socket",
      fault,
      ...(proxy === undefined ? {} : { proxy }),
    } as const;
    this.#settle({ ok: false, refusal: { kind: "transient", source } });
  }

  #settle(outcome: DialOutcome): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.#timer?.cancel();
    this.#request.signal?.removeEventListener("abort", this.#onAbort);
    if (!outcome.ok) this.#socket?.terminate();
    this.#resolve(outcome);
    return true;
  }
}
