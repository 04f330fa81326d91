/**
 * A Responses model provider on 127.0.0.1 whose every answer is scripted. Owns its listener and the
 * answers in progress; records every request whole. It answers what the script says and nothing
 * else: a request that the script does not expect gets a server error and is kept for the assertion.
 */
import { type Deferred, deferred } from "../platform/deferred.ts";
import {
  brokenEvents,
  encodeEvent,
  failedEvent,
  type Fragment,
  incompleteEvent,
  responseEvents,
  type ScriptedItem,
  type ScriptedResponse,
} from "./responses_stream.ts";

/** The members of a Responses request that scripts and assertions read. */
export interface ResponsesBody {
  readonly model: string;
  readonly input: readonly Readonly<Record<string, unknown>>[];
  readonly tools?: readonly Readonly<Record<string, unknown>>[];
  readonly [member: string]: unknown;
}

/** A request as it arrived. */
export interface ResponsesRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The JSON body; `undefined` when it is not JSON. */
  readonly body: ResponsesBody | undefined;
  /** The received text, for secret and byte searches. */
  readonly text: string;
  /** Resolves when the client has gone away before the answer ended. */
  readonly aborted: Promise<void>;
}

/** What the provider does with one request. */
export type ScriptedAnswer =
  | ({ readonly type: "response" } & ScriptedResponse)
  /** An HTTP error with a provider error body, or with the body given. */
  | {
    readonly type: "error";
    readonly status: number;
    readonly code?: string;
    readonly body?: string;
  }
  /** A stream that ends as failed with a typed error. */
  | { readonly type: "failed"; readonly code: string }
  /** Streams the items and ends incomplete. */
  | {
    readonly type: "incomplete";
    readonly reason: string;
    readonly items?: readonly ScriptedItem[];
  }
  /** Streams the items and breaks the connection. */
  | { readonly type: "broken"; readonly items: readonly ScriptedItem[] }
  /** Accepts the request and never answers. */
  | { readonly type: "hang" };

/** Decides the answer of the `index`-th request, counted from 0. */
export type ResponsesScript = (
  request: ResponsesRequest,
  index: number,
) => ScriptedAnswer;

/** A running provider. Dispose it to stop listening and to end open answers. */
export class ResponsesProvider implements AsyncDisposable {
  /** Requests for model answers, in order of arrival. */
  readonly requests: ResponsesRequest[] = [];
  /** Everything else that was asked of this address; a quiet client leaves it empty. */
  readonly strays: ResponsesRequest[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #closing = deferred();
  #waiters: { readonly index: number; readonly ready: Deferred<void> }[] = [];
  #script: ResponsesScript;

  private constructor(script: ResponsesScript) {
    this.#script = script;
    this.#server = Deno.serve({
      hostname: "127.0.0.1",
      port: 0,
      onListen: () => {},
      onError: () => new Response(null, { status: 500 }),
    }, (request) => this.#handle(request));
  }

  /** Listens on a free port of 127.0.0.1. */
  static start(script: ResponsesScript = unscripted): ResponsesProvider {
    return new ResponsesProvider(script);
  }

  /** The base URL for a client; it appends `/responses`. */
  get baseUrl(): string {
    return `http://127.0.0.1:${this.#server.addr.port}/v1`;
  }

  /** Replaces the script; the request count goes on. */
  script(script: ResponsesScript): void {
    this.#script = script;
  }

  /** Resolves with the `index`-th request, counted from 0, when it has arrived. */
  async request(index: number): Promise<ResponsesRequest> {
    if (this.requests.length <= index) {
      const ready = deferred();
      this.#waiters.push({ index, ready });
      await ready.promise;
    }
    const arrived = this.requests[index];
    if (!arrived) throw new Error(`Request ${index} did not arrive`);
    return arrived;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.resolve();
    for (const waiter of this.#waiters) {
      waiter.ready.reject(new Error("The provider was stopped"));
    }
    await this.#server.shutdown();
  }

  async #handle(request: Request): Promise<Response> {
    const text = await request.text();
    const url = new URL(request.url);
    const record: ResponsesRequest = {
      method: request.method,
      path: url.pathname + url.search,
      headers: Object.fromEntries(request.headers),
      body: parseBody(text),
      text,
      // Looked at only when asked: the server warns about every use of the signal.
      get aborted() {
        return abortOf(request);
      },
    };
    if (request.method !== "POST" || url.pathname !== "/v1/responses") {
      this.strays.push(record);
      return new Response(null, { status: 404 });
    }
    const index = this.requests.push(record) - 1;
    this.#announce();
    return await this.#answer(
      this.#script(record, index),
      `resp_${index}`,
      record,
    );
  }

  async #answer(
    answer: ScriptedAnswer,
    id: string,
    request: ResponsesRequest,
  ): Promise<Response> {
    switch (answer.type) {
      case "error":
        return errorResponse(answer.status, answer.code, answer.body);
      case "hang":
        await Promise.race([request.aborted, this.#closing.promise]);
        return new Response(null, { status: 503 });
      case "failed":
        return this.#stream(once(failedEvent(answer.code, answer.code, id)));
      case "incomplete":
        return this.#stream(incomplete(answer.items ?? [], answer.reason, id));
      case "broken":
        return this.#stream(broken(answer.items, id));
      case "response":
        return this.#stream(responseEvents(answer, id));
    }
  }

  /** Streams events; an answer that its script would hold for ever ends with the provider. */
  #stream(events: AsyncGenerator<string>): Response {
    const stopped = this.#closing.promise.then(() => undefined);
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const next = await Promise.race([events.next(), stopped]);
        if (!next || next.done) return controller.close();
        controller.enqueue(encoder.encode(next.value));
      },
    });
    return new Response(body, {
      headers: { "content-type": "text/event-stream" },
    });
  }

  #announce(): void {
    this.#waiters = this.#waiters.filter((waiter) => {
      if (this.requests.length <= waiter.index) return true;
      waiter.ready.resolve();
      return false;
    });
  }
}

function abortOf({ signal }: Request): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  const aborted = deferred();
  signal.addEventListener("abort", () => aborted.resolve(), { once: true });
  return aborted.promise;
}

/** Answers every request with a server error: a test that scripts nothing expects no request. */
function unscripted(): ScriptedAnswer {
  return { type: "error", status: 400, code: "unscripted" };
}

/** A script of fixed answers in order; anything beyond them is a server error. */
export function answers(...list: readonly ScriptedAnswer[]): ResponsesScript {
  return (_request, index) => list[index] ?? unscripted();
}

/** A plain text answer of one message. */
export function textAnswer(
  id: string,
  ...fragments: readonly Fragment[]
): ScriptedAnswer {
  return { type: "response", items: [{ type: "message", id, fragments }] };
}

/** An answer that is one function call. */
export function callAnswer(
  callId: string,
  name: string,
  argumentsObject: unknown,
  namespace?: string,
): ScriptedAnswer {
  return {
    type: "response",
    items: [{
      type: "function_call",
      callId,
      name,
      ...(namespace ? { namespace } : {}),
      arguments: JSON.stringify(argumentsObject),
    }],
  };
}

async function* once(event: string): AsyncGenerator<string> {
  yield await Promise.resolve(event);
}

async function* incomplete(
  items: readonly ScriptedItem[],
  reason: string,
  id: string,
): AsyncGenerator<string> {
  yield* brokenEvents(items, id);
  yield incompleteEvent(reason, id);
}

async function* broken(
  items: readonly ScriptedItem[],
  id: string,
): AsyncGenerator<string> {
  yield* brokenEvents(items, id);
  yield encodeEvent("response.in_progress", { response: { id } });
  throw new Error("The script breaks the connection here");
}

function parseBody(text: string): ResponsesBody | undefined {
  try {
    return JSON.parse(text) as ResponsesBody;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function errorResponse(
  status: number,
  code: string | undefined,
  body: string | undefined,
): Response {
  const text = body ??
    JSON.stringify({
      error: { code: code ?? null, type: code ?? null, message: "scripted" },
    });
  return new Response(text, {
    status,
    headers: { "content-type": "application/json" },
  });
}
