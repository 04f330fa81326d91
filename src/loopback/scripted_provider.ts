/**
 * What every scripted model provider on 127.0.0.1 shares: the listener, the record of each request
 * whole, and the end of answers in progress. The subclass knows the one route of its API and turns
 * its script into a response; any other request is a stray and is kept for the assertion.
 */
import { type Deferred, deferred } from "../platform/deferred.ts";

/** A request as it arrived. */
export interface RecordedRequest<Body> {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The JSON body; `undefined` when it is not JSON. */
  readonly body: Body | undefined;
  /** The received text, for secret and byte searches. */
  readonly text: string;
  /** Resolves when the client has gone away before the answer ended. */
  readonly aborted: Promise<void>;
}

/** A running provider. Dispose it to stop listening and to end open answers. */
export abstract class ScriptedProvider<Body> implements AsyncDisposable {
  /** Requests for model answers, in order of arrival. */
  readonly requests: RecordedRequest<Body>[] = [];
  /** Everything else that was asked of this address; a quiet client leaves it empty. */
  readonly strays: RecordedRequest<Body>[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #closing = deferred();
  #waiters: { readonly index: number; readonly ready: Deferred<void> }[] = [];

  constructor() {
    this.#server = Deno.serve({
      hostname: "127.0.0.1",
      port: 0,
      onListen: () => {},
      onError: () => new Response(null, { status: 500 }),
    }, (request) => this.#handle(request));
  }

  /** Path of the one route that asks for a model answer. */
  protected abstract readonly route: string;

  /** Answers the `index`-th request of the route, counted from 0. */
  protected abstract answer(
    request: RecordedRequest<Body>,
    index: number,
  ): Promise<Response>;

  /** Where the provider listens, without a path. */
  protected get origin(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Resolves when the provider stops. */
  protected get closing(): Promise<void> {
    return this.#closing.promise;
  }

  /** Resolves with the `index`-th request, counted from 0, when it has arrived. */
  async request(index: number): Promise<RecordedRequest<Body>> {
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

  /**
   * Streams server-sent events as text. An answer that its script would hold for ever ends with the
   * provider; an error of the script breaks the connection.
   */
  protected stream(events: AsyncGenerator<string>): Response {
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

  async #handle(request: Request): Promise<Response> {
    const text = await request.text();
    const url = new URL(request.url);
    const record: RecordedRequest<Body> = {
      method: request.method,
      path: url.pathname + url.search,
      headers: Object.fromEntries(request.headers),
      body: parseBody<Body>(text),
      text,
      // Looked at only when asked: the server warns about every use of the signal.
      get aborted() {
        return abortOf(request);
      },
    };
    if (
      request.method !== "POST" || url.pathname !== this.route ||
      record.body === undefined
    ) {
      this.strays.push(record);
      return new Response(null, { status: 404 });
    }
    const index = this.requests.push(record) - 1;
    this.#announce();
    return await this.answer(record, index);
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

function parseBody<Body>(text: string): Body | undefined {
  try {
    return JSON.parse(text) as Body;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
