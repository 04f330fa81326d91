// Owns one bounded HTTP request to Core. It never follows a redirect: the credential goes to the
// address it was meant for or nowhere.
import * as http from "node:http";
import * as https from "node:https";
import type { Clock, Timer } from "../platform/clock.ts";
import { HTTP_TIMEOUT } from "./limits.ts";
import type { Network, Passage } from "./network.ts";
import { networkFault } from "./network_fault.ts";
import type { NetworkFault } from "./refusal.ts";

/** One request. */
export interface HttpRequest {
  readonly url: string;
  readonly method: "GET" | "POST";
  /** The bearer credential; only ever written into the `Authorization` header. */
  readonly credential: string;
  /** JSON text of a POST. */
  readonly body?: string;
  /** Name and build version of the caller. */
  readonly userAgent: string;
  /** Body bytes kept of the answer; more makes the answer `tooLarge`. */
  readonly maximumBodyBytes: number;
}

/** What came back, reduced to what callers may look at. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
  readonly tooLarge: boolean;
  readonly retryAfter?: string;
  /** The `Date` header, for a look at the clocks. */
  readonly date?: string;
}

/** An answer of Core, or why there is none. */
export type HttpOutcome =
  | { readonly kind: "answer"; readonly answer: HttpAnswer }
  | {
    readonly kind: "fault";
    readonly fault: NetworkFault;
    /** Host and port of the proxy on the way, if any. */
    readonly proxy?: string;
  }
  | {
    readonly kind: "proxy_refused";
    readonly proxy: string;
    readonly status: number;
  };

/** What a request runs with. */
export interface HttpContext {
  readonly network: Network;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
}

/**
 * Sends one request and reads its answer within 10 s. A fault is a value; no error text of the
 * peer or of the runtime is kept.
 *
 * @throws {InvalidProxy} when the proxy setting cannot be used.
 */
export function requestCore(
  request: HttpRequest,
  context: HttpContext,
): Promise<HttpOutcome> {
  const url = new URL(request.url);
  const passage = context.network.passage(url);
  return new Promise((resolve) => {
    const exchange = new Exchange(request, url, passage, resolve);
    exchange.run(context.clock, context.signal);
  });
}

/** The life of one request: it settles once and then holds no timer and no socket. */
class Exchange {
  readonly #request: HttpRequest;
  readonly #passage: Passage;
  readonly #client: http.ClientRequest;
  readonly #resolve: (outcome: HttpOutcome) => void;
  #timer: Timer | undefined;
  #forget = () => {};
  #settled = false;

  constructor(
    request: HttpRequest,
    url: URL,
    passage: Passage,
    resolve: (outcome: HttpOutcome) => void,
  ) {
    this.#request = request;
    this.#passage = passage;
    this.#resolve = resolve;
    const options: https.RequestOptions = {
      method: request.method,
      headers: headersOf(request),
      agent: passage.tunnel?.agent ?? false,
      ...passage.tls,
    };
    this.#client = url.protocol === "https:"
      ? https.request(url, options)
      : http.request(url, options);
  }

  run(clock: Clock, signal?: AbortSignal): void {
    const abort = () => this.#fault("aborted");
    this.#client.on("response", (response) => this.#read(response));
    this.#client.on("error", (error) => this.#fault(networkFault(error)));
    this.#timer = clock.after(HTTP_TIMEOUT, () => this.#fault("timeout"));
    signal?.addEventListener("abort", abort, { once: true });
    this.#forget = () => signal?.removeEventListener("abort", abort);
    if (signal?.aborted) return abort();
    this.#client.end(this.#request.body);
  }

  #read(response: http.IncomingMessage): void {
    const tunnel = this.#passage.tunnel;
    const proxyStatus = tunnel?.status();
    if (tunnel && proxyStatus !== undefined && proxyStatus !== 200) {
      return this.#settle({
        kind: "proxy_refused",
        proxy: tunnel.proxy.name,
        status: proxyStatus,
      });
    }
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    const limit = this.#request.maximumBodyBytes;
    response.on("data", (chunk: Uint8Array) => {
      bytes += chunk.byteLength;
      if (bytes <= limit) chunks.push(chunk);
      else this.#answer(response, chunks, { tooLarge: true });
    });
    response.on(
      "end",
      () => this.#answer(response, chunks, { tooLarge: false }),
    );
    response.on("error", (error) => this.#fault(networkFault(error)));
    response.on("close", () => this.#fault("connection_reset"));
  }

  #answer(
    response: http.IncomingMessage,
    chunks: readonly Uint8Array[],
    size: { readonly tooLarge: boolean },
  ): void {
    const retryAfter = response.headers["retry-after"];
    const date = response.headers.date;
    this.#settle({
      kind: "answer",
      answer: {
        status: response.statusCode ?? 0,
        body: new TextDecoder().decode(concatenate(chunks)),
        tooLarge: size.tooLarge,
        ...(retryAfter === undefined ? {} : { retryAfter }),
        ...(date === undefined ? {} : { date }),
      },
    });
  }

  #fault(fault: NetworkFault): void {
    const tunnel = this.#passage.tunnel;
    this.#settle({
      kind: "fault",
      fault,
      ...(tunnel === undefined ? {} : { proxy: tunnel.proxy.name }),
    });
  }

  #settle(outcome: HttpOutcome): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#timer?.cancel();
    this.#forget();
    this.#client.destroy();
    this.#resolve(outcome);
  }
}

function headersOf(request: HttpRequest): Record<string, string> {
  return {
    Authorization: `Bearer ${request.credential}`,
    "User-Agent": request.userAgent,
    Accept: "application/json",
    ...(request.body === undefined ? {} : {
      "Content-Type": "application/json",
      "Content-Length": String(new TextEncoder().encode(request.body).length),
    }),
  };
}

function concatenate(chunks: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(
    chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0),
  );
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}
