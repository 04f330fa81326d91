/**
 * A Messages model provider on 127.0.0.1 whose every answer is scripted. Owns its listener and the
 * answers in progress; records every request whole. It answers what the script says and nothing
 * else: a request that the script does not expect gets a server error and is kept for the assertion.
 */
import { type Deferred, deferred } from "../platform/deferred.ts";
import {
  encodeEvent,
  messageBody,
  messageEvents,
  type ScriptedMessage,
  type ServerSentEvent,
} from "./messages_stream.ts";

/** A request as it arrived. */
export interface ProviderRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The JSON body; `undefined` when it is not JSON. */
  readonly body: MessagesBody | undefined;
  /** The received text, for secret and byte searches. */
  readonly text: string;
  /** Resolves when the client has gone away before the answer ended. */
  readonly aborted: Promise<void>;
}

/** The members of a Messages request that scripts and assertions read. */
export interface MessagesBody {
  readonly model: string;
  readonly stream?: boolean;
  readonly system?: unknown;
  readonly tools?: readonly { readonly name: string }[];
  readonly messages: readonly {
    readonly role: string;
    readonly content: unknown;
  }[];
  readonly [member: string]: unknown;
}

/** What the provider does with one Messages request. */
export type ScriptedReply =
  | ({ readonly type: "message" } & ScriptedMessage)
  | {
    /** An HTTP error with a provider error body. */
    readonly type: "error";
    readonly status: number;
    readonly error: string;
    readonly message?: string;
  }
  | {
    /** Streams a message and breaks the connection where the script's promise rejects. */
    readonly type: "broken";
    readonly message: ScriptedMessage;
  }
  | {
    /** An error event in the middle of a stream that began well. */
    readonly type: "stream_error";
    readonly error: string;
  }
  /** Accepts the request and never answers. */
  | { readonly type: "hang" };

/** Decides the answer of the `index`-th Messages request, counted from 0. */
export type MessagesScript = (
  request: ProviderRequest,
  index: number,
) => ScriptedReply;

/** A running provider. Dispose it to stop listening and to end open answers. */
export class MessagesProvider implements AsyncDisposable {
  /** Requests for model answers, in order of arrival. */
  readonly requests: ProviderRequest[] = [];
  /** Everything else that was asked of this address; a quiet client leaves it empty. */
  readonly strays: ProviderRequest[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #closing = deferred();
  #waiters: { readonly count: number; readonly ready: Deferred<void> }[] = [];
  #script: MessagesScript;

  private constructor(script: MessagesScript) {
    this.#script = script;
    this.#server = Deno.serve({
      hostname: "127.0.0.1",
      port: 0,
      onListen: () => {},
      onError: () => new Response(null, { status: 500 }),
    }, (request, info) => this.#handle(request, info.completed));
  }

  /** Listens on a free port of 127.0.0.1. */
  static start(script: MessagesScript = unscripted): MessagesProvider {
    return new MessagesProvider(script);
  }

  /** The base URL for a client, without a trailing slash. */
  get baseUrl(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Replaces the script; the request count goes on. */
  script(script: MessagesScript): void {
    this.#script = script;
  }

  /** Resolves with the `index`-th request, counted from 0, when it has arrived. */
  async request(index: number): Promise<ProviderRequest> {
    const present = this.requests[index];
    if (present) return present;
    const ready = deferred();
    this.#waiters.push({ count: index + 1, ready });
    await ready.promise;
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

  async #handle(
    request: Request,
    completed: Promise<void>,
  ): Promise<Response> {
    const aborted = deferred();
    completed.catch(() => aborted.resolve());
    const text = await request.text();
    const url = new URL(request.url);
    const record: ProviderRequest = {
      method: request.method,
      path: url.pathname + url.search,
      headers: Object.fromEntries(request.headers),
      body: parseBody(text),
      text,
      aborted: aborted.promise,
    };
    const body = record.body;
    if (request.method !== "POST" || url.pathname !== "/v1/messages" || !body) {
      this.strays.push(record);
      return errorResponse(404, "not_found_error", "Not served here");
    }
    const index = this.requests.push(record) - 1;
    this.#announce();
    return await this.#reply(
      this.#script(record, index),
      body,
      aborted.promise,
    );
  }

  async #reply(
    reply: ScriptedReply,
    body: MessagesBody,
    aborted: Promise<void>,
  ): Promise<Response> {
    switch (reply.type) {
      case "error":
        return errorResponse(reply.status, reply.error, reply.message);
      case "hang":
        await Promise.race([aborted, this.#closing.promise]);
        return new Response(null, { status: 503 });
      case "stream_error":
        return streamResponse(this.#bounded(failingEvents(reply.error)));
      case "broken":
        return streamResponse(
          this.#bounded(messageEvents(reply.message, body.model)),
        );
      case "message":
        if (body.stream !== true) {
          return Response.json(await messageBody(reply, body.model));
        }
        return streamResponse(this.#bounded(messageEvents(reply, body.model)));
    }
  }

  /** Ends an answer that its script would hold for ever once the provider stops. */
  async *#bounded(
    events: AsyncGenerator<ServerSentEvent>,
  ): AsyncGenerator<ServerSentEvent> {
    const stopped = this.#closing.promise.then(() => undefined);
    for (;;) {
      const next = await Promise.race([events.next(), stopped]);
      if (!next || next.done) return;
      yield next.value;
    }
  }

  #announce(): void {
    this.#waiters = this.#waiters.filter((waiter) => {
      if (this.requests.length < waiter.count) return true;
      waiter.ready.resolve();
      return false;
    });
  }
}

/** Answers every request with a server error: a test that scripts nothing expects no request. */
function unscripted(): ScriptedReply {
  return {
    type: "error",
    status: 500,
    error: "api_error",
    message: "unscripted",
  };
}

/** A script of fixed answers in order; anything beyond them is a server error. */
export function replies(...list: readonly ScriptedReply[]): MessagesScript {
  return (_request, index) => list[index] ?? unscripted();
}

/** A plain text answer. */
export function textReply(
  id: string,
  ...fragments: readonly (string | Promise<void>)[]
): ScriptedReply {
  return { type: "message", id, blocks: [{ type: "text", fragments }] };
}

/** An answer that is one tool call. */
export function toolReply(
  id: string,
  call: { readonly id: string; readonly name: string; readonly input: unknown },
): ScriptedReply {
  return {
    type: "message",
    id,
    blocks: [{
      type: "tool_use",
      id: call.id,
      name: call.name,
      fragments: [JSON.stringify(call.input)],
    }],
  };
}

async function* failingEvents(
  error: string,
): AsyncGenerator<ServerSentEvent> {
  yield await Promise.resolve({
    event: "error",
    data: { type: "error", error: { type: error, message: error } },
  });
}

function parseBody(text: string): MessagesBody | undefined {
  try {
    return JSON.parse(text) as MessagesBody;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function errorResponse(
  status: number,
  type: string,
  message = type,
): Response {
  return Response.json({ type: "error", error: { type, message } }, { status });
}

function streamResponse(events: AsyncGenerator<ServerSentEvent>): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const next = await events.next();
        if (next.done) controller.close();
        else controller.enqueue(encoder.encode(encodeEvent(next.value)));
      } catch (error) {
        controller.error(error); // the script breaks the connection here
      }
    },
  });
  return new Response(body, {
    headers: { "content-type": "text/event-stream" },
  });
}
