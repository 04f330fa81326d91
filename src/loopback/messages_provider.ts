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
  type ServerSentEvent,
} from "./messages_stream.ts";
import {
  type MessagesBody,
  type MessagesScript,
  type ProviderRequest,
  type ScriptedReply,
  unscripted,
} from "./messages_script.ts";

export * from "./messages_script.ts";

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
    }, (request) => this.#handle(request));
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

  async #handle(request: Request): Promise<Response> {
    const text = await request.text();
    const url = new URL(request.url);
    const record: ProviderRequest = {
      method: request.method,
      path: url.pathname + url.search,
      headers: Object.fromEntries(request.headers),
      body: parseBody(text),
      text,
    };
    const body = record.body;
    if (request.method !== "POST" || url.pathname !== "/v1/messages" || !body) {
      this.strays.push(record);
      return errorResponse(404, "not_found_error", "Not served here");
    }
    const index = this.requests.push(record) - 1;
    this.#announce();
    return await this.#reply(this.#script(record, index), body);
  }

  async #reply(
    reply: ScriptedReply,
    body: MessagesBody,
  ): Promise<Response> {
    switch (reply.type) {
      case "error":
        return errorResponse(reply.status, reply.error, reply.message);
      case "hang":
        await this.#closing.promise;
        return new Response(null, { status: 503 });
      case "stream_error":
        return streamResponse(
          this.#bounded(failingEvents(reply.error)),
        );
      case "broken":
        return streamResponse(
          this.#bounded(messageEvents(reply.message, body.model)),
        );
      case "message":
        if (body.stream !== true) {
          return Response.json(await messageBody(reply, body.model));
        }
        return streamResponse(
          this.#bounded(messageEvents(reply, body.model)),
        );
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

function streamResponse(
  events: AsyncGenerator<ServerSentEvent>,
): Response {
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
