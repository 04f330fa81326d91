/**
 * A Responses model provider on 127.0.0.1 whose every answer is scripted. It answers what the script
 * says and nothing else: a request that the script does not expect gets a server error.
 */
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
import { type RecordedRequest, ScriptedProvider } from "./scripted_provider.ts";

/** The members of a Responses request that scripts and assertions read. */
export interface ResponsesBody {
  readonly model: string;
  readonly input: readonly Readonly<Record<string, unknown>>[];
  readonly tools?: readonly Readonly<Record<string, unknown>>[];
  readonly [member: string]: unknown;
}

/** A request as it arrived. */
export type ResponsesRequest = RecordedRequest<ResponsesBody>;

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
export class ResponsesProvider extends ScriptedProvider<ResponsesBody> {
  protected override readonly route = "/v1/responses";
  #script: ResponsesScript;

  private constructor(script: ResponsesScript) {
    super();
    this.#script = script;
  }

  /** Listens on a free port of 127.0.0.1. */
  static start(script: ResponsesScript = unscripted): ResponsesProvider {
    return new ResponsesProvider(script);
  }

  /** The base URL for a client; it appends `/responses`. */
  get baseUrl(): string {
    return `${this.origin}/v1`;
  }

  /** Replaces the script; the request count goes on. */
  script(script: ResponsesScript): void {
    this.#script = script;
  }

  protected override async answer(
    request: ResponsesRequest,
    index: number,
  ): Promise<Response> {
    const answer = this.#script(request, index);
    const id = `resp_${index}`;
    switch (answer.type) {
      case "error":
        return errorResponse(answer.status, answer.code, answer.body);
      case "hang":
        await Promise.race([request.aborted, this.closing]);
        return new Response(null, { status: 503 });
      case "failed":
        return this.stream(once(failedEvent(answer.code, answer.code, id)));
      case "incomplete":
        return this.stream(incomplete(answer.items ?? [], answer.reason, id));
      case "broken":
        return this.stream(broken(answer.items, id));
      case "response":
        return this.stream(responseEvents(answer, id));
    }
  }
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
