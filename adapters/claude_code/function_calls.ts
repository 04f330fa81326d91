/**
 * Owns the function calls of one Turn: offered to Core, answered once, and settled only by the
 * program's own tool result for the same call.
 */
import {
  type TurnEvent,
  UnknownInteraction,
} from "../../src/harness/contract.ts";
import type { ContentPart } from "../../src/protocol/message_input.ts";
import type { FunctionResult } from "../../src/protocol/functions.ts";
import { checkInlineImageParts } from "../../src/protocol/inline_image.ts";
import { type Deferred, deferred } from "../../src/platform/deferred.ts";
import { splitImage } from "./input.ts";
import { rpcResult } from "./function_server.ts";
import { boundedValue, fitsMember } from "./oversize.ts";
import { sameContent } from "./function_receipt.ts";

/** The program replaces longer text by a preview; measured with the raised limit of the listing. */
export const MAXIMUM_RESULT_CHARACTERS = 400_000;

interface Call {
  readonly rpcId: string | number;
  readonly name: string;
  readonly answer: (response: unknown) => Promise<void>;
  submitted?: {
    readonly result: FunctionResult;
    readonly receipt: Deferred<void>;
  };
}

/** A result that the program would not take unchanged. Nothing was submitted. */
export class ResultRefused extends Error {
  override readonly name = "ResultRefused";
}

/** The program's tool result is not the submitted one, or came without one. */
export class ReceiptMismatch extends Error {
  override readonly name = "ReceiptMismatch";
}

/** The calls of one Turn. */
export class FunctionCalls {
  readonly #open = new Map<string, Call>();
  readonly #seen = new Set<string>();

  constructor(private readonly emit: (event: TurnEvent) => void) {}

  /** Offers a call to Core. False when its identity was used before: the program gets an error. */
  offer(
    demand: {
      readonly rpcId: string | number;
      readonly callId: string;
      readonly name: string;
      readonly arguments: unknown;
    },
    answer: (response: unknown) => Promise<void>,
  ): boolean {
    const { callId, name, rpcId } = demand;
    if (this.#seen.has(callId)) return false;
    this.#seen.add(callId);
    this.#open.set(callId, { rpcId, name, answer });
    this.emit({
      type: "tool_call",
      payload: {
        id: callId,
        name,
        stage: "before",
        observation: {
          kind: "function",
          status: "in_progress",
          name,
          arguments: demand.arguments,
        },
      },
    });
    this.emit({
      type: "function_call",
      payload: { call_id: callId, name, arguments: demand.arguments },
    });
    return true;
  }

  /**
   * Submits a result once; resolves at the program's receipt. The caller bounds the wait.
   *
   * @throws {UnknownInteraction} when no call waits for it.
   * @throws {ResultRefused} before the call is consumed.
   */
  async submit(result: FunctionResult): Promise<void> {
    const call = this.#open.get(result.call_id);
    if (!call || call.submitted) {
      throw new UnknownInteraction("No function call is pending by this id");
    }
    const problem = resultProblem(result);
    if (problem !== undefined) throw new ResultRefused(problem);
    const receipt = deferred();
    call.submitted = { result: structuredClone(result), receipt };
    const response = rpcResult(call.rpcId, {
      content: result.content.map(resultBlock),
      isError: !result.success,
    });
    await Promise.race([
      call.answer(response).then(() => receipt.promise),
      receipt.promise,
    ]);
  }

  /**
   * Takes the program's result of a tool call. False when the call is none of Core's.
   *
   * @throws {ReceiptMismatch} when it is not what was submitted.
   */
  result(
    callId: string,
    native: { readonly isError: boolean; readonly content: unknown },
    cancelling: boolean,
  ): boolean {
    const call = this.#open.get(callId);
    if (!call) return this.#seen.has(callId);
    this.#open.delete(callId);
    const submitted = call.submitted;
    if (!submitted) {
      this.#ended(callId, call, "incomplete");
      if (cancelling && native.isError) return true;
      throw new ReceiptMismatch("A function ended without a result of Core");
    }
    if (!sameContent(submitted.result, native)) {
      const mismatch = new ReceiptMismatch("A function result was not taken");
      submitted.receipt.reject(mismatch);
      this.#ended(callId, call, "incomplete");
      if (cancelling) return true;
      throw mismatch;
    }
    // The receipt first: a full output queue must not turn a known application into an unknown one.
    submitted.receipt.resolve();
    const { success, content } = submitted.result;
    this.#ended(callId, call, success ? "completed" : "failed", content);
    return true;
  }

  /** The program gave a call up. An answered one still owes its receipt. */
  withdrawn(rpcId: string | number): void {
    for (const [callId, call] of this.#open) {
      if (call.rpcId !== rpcId || call.submitted) continue;
      this.#open.delete(callId);
      this.#ended(callId, call, "incomplete");
    }
  }

  /** Drops what Core has not answered; the cancelled Turn takes no result any more. */
  dropUnanswered(): void {
    for (const [callId, call] of this.#open) {
      if (call.submitted) continue;
      this.#open.delete(callId);
      this.#ended(callId, call, "incomplete");
    }
  }

  /** Whether a submitted result has no receipt yet. */
  get owesReceipt(): boolean {
    return [...this.#open.values()].some((call) => call.submitted);
  }

  /** Whether any call is open. */
  get anyOpen(): boolean {
    return this.#open.size > 0;
  }

  /** The Turn is over: what is still open ends without a receipt. */
  close(): void {
    for (const [callId, call] of this.#open) {
      call.submitted?.receipt.reject(
        new Error("The Turn ended before the function result was taken"),
      );
      this.#ended(callId, call, "incomplete");
    }
    this.#open.clear();
  }

  #ended(
    callId: string,
    call: Call,
    status: "completed" | "failed" | "incomplete",
    content?: readonly ContentPart[],
  ): void {
    this.emit({
      type: "tool_call",
      payload: {
        id: callId,
        name: call.name,
        stage: "after",
        observation: {
          kind: "function",
          status,
          name: call.name,
          ...(content === undefined ? {} : { content: shown(content) }),
        },
      },
    });
  }
}

/** The submitted content came in a frame of its own, which had less beside it than this one. */
function shown(content: readonly ContentPart[]): readonly ContentPart[] {
  return fitsMember(content)
    ? content
    : [{ type: "input_text", text: String(boundedValue(content)) }];
}

function resultProblem(result: FunctionResult): string | undefined {
  const images = result.content.some((part) => part.type === "input_image");
  if (images && !result.success) return "A failed result cannot carry images";
  if (checkInlineImageParts(result.content) !== undefined) {
    return "An image of the result is not a canonical inline PNG or JPEG";
  }
  let characters = 0;
  for (const part of result.content) {
    if (part.type === "input_text") characters += part.text.length;
  }
  return characters > MAXIMUM_RESULT_CHARACTERS
    ? "The text of the result is too long"
    : undefined;
}

function resultBlock(part: ContentPart): unknown {
  if (part.type === "input_text") return { type: "text", text: part.text };
  const { mediaType, data } = splitImage(part.image_url);
  return { type: "image", mimeType: mediaType, data };
}
