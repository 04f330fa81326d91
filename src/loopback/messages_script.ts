/**
 * The scripts of the Messages provider: what a request looks like to a script, what it may answer,
 * and short forms for common answers.
 */
import type { ScriptedMessage } from "./messages_stream.ts";
import type { RecordedRequest } from "./scripted_provider.ts";

/** A request as it arrived. */
export type ProviderRequest = RecordedRequest<MessagesBody>;

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

/** Answers every request with a server error: a test that scripts nothing expects no request. */
export function unscripted(): ScriptedReply {
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
