/**
 * A Messages model provider on 127.0.0.1 whose every answer is scripted. It answers what the script
 * says and nothing else: a request that the script does not expect gets a server error.
 */
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
  unscripted,
} from "./messages_script.ts";
import { ScriptedProvider } from "./scripted_provider.ts";

export * from "./messages_script.ts";

/** A running provider. Dispose it to stop listening and to end open answers. */
export class MessagesProvider extends ScriptedProvider<MessagesBody> {
  protected override readonly route = "/v1/messages";
  #script: MessagesScript;

  private constructor(script: MessagesScript) {
    super();
    this.#script = script;
  }

  /** Listens on a free port of 127.0.0.1. */
  static start(script: MessagesScript = unscripted): MessagesProvider {
    return new MessagesProvider(script);
  }

  /** The base URL for a client, without a trailing slash. */
  get baseUrl(): string {
    return this.origin;
  }

  /** Replaces the script; the request count goes on. */
  script(script: MessagesScript): void {
    this.#script = script;
  }

  protected override async answer(
    request: ProviderRequest,
    index: number,
  ): Promise<Response> {
    const reply = this.#script(request, index);
    const model = request.body?.model ?? "";
    switch (reply.type) {
      case "error":
        return errorResponse(reply.status, reply.error, reply.message);
      case "hang":
        await this.closing;
        return new Response(null, { status: 503 });
      case "stream_error":
        return this.stream(encoded(failingEvents(reply.error)));
      case "broken":
        return this.stream(encoded(messageEvents(reply.message, model)));
      case "message":
        return request.body?.stream === true
          ? this.stream(encoded(messageEvents(reply, model)))
          : Response.json(await messageBody(reply, model));
    }
  }
}

/** The events as they go over the wire. */
async function* encoded(
  events: AsyncGenerator<ServerSentEvent>,
): AsyncGenerator<string> {
  for await (const event of events) yield encodeEvent(event);
}

async function* failingEvents(
  error: string,
): AsyncGenerator<ServerSentEvent> {
  yield await Promise.resolve({
    event: "error",
    data: { type: "error", error: { type: error, message: error } },
  });
}

function errorResponse(
  status: number,
  type: string,
  message = type,
): Response {
  return Response.json({ type: "error", error: { type, message } }, { status });
}
