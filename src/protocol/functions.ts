// Owns the exchange about functions that Core executes: `function_call` out, `function_result` in.
import * as z from "zod";
import { accepted, type Decoded, refused } from "./decoded.ts";
import type { InboundEnvelope } from "./envelope.ts";
import {
  type ContentPart,
  contentPartWire,
  isContentPart,
} from "./message_input.ts";
import {
  absentAs,
  list,
  nullable,
  rawValue,
  readPayload,
  text,
  type Wire,
  wireObject,
} from "./wire_object.ts";

/** Schema of `function_call`. */
export const functionCallWire = wireObject({
  call_id: z.string().min(1),
  name: z.string().min(1),
  arguments: rawValue,
}, "rejected");
/** Payload of `function_call`, Runtime to Core, with the Run id. A call id is used once per Turn. */
export type FunctionCall = Wire<typeof functionCallWire>;

/** Schema of `function_result`; a null among the parts is a part without a type. */
export const functionResultWire = wireObject({
  delivery_id: text,
  call_id: text,
  success: z.boolean(),
  content: absentAs(nullable(list(nullable(contentPartWire))), null),
});
/** Payload of `function_result`, Core to Runtime, with the Run id. */
export interface FunctionResult {
  readonly delivery_id: string;
  readonly call_id: string;
  readonly success: boolean;
  readonly content: readonly ContentPart[];
}

/**
 * A refused result. With `receipt` it is answered by `invalid_result`; without one it cannot be
 * attributed and is not answered.
 */
export interface RefusedFunctionResult {
  readonly receipt?: { readonly delivery_id: string; readonly call_id: string };
}

/** Reads `function_call`. */
export function decodeFunctionCall(
  envelope: InboundEnvelope,
): Decoded<FunctionCall> {
  const value = readPayload(functionCallWire, envelope);
  return value === undefined
    ? refused("the function_call payload is malformed")
    : accepted(value);
}

/** Reads `function_result`. Blank text and any image URL are allowed here. */
export function decodeFunctionResult(
  envelope: InboundEnvelope,
): Decoded<FunctionResult, RefusedFunctionResult> {
  const value = readPayload(functionResultWire, envelope);
  if (value === undefined) {
    return refused("the function_result payload is malformed");
  }
  const { delivery_id, call_id, success, content } = value;
  if (!envelope.id || delivery_id === "" || call_id === "") {
    return refused("the function result lacks an identity");
  }
  const parts = checkParts(content);
  if (parts === undefined) {
    const reason = "the content of the function result is malformed";
    return { ok: false, reason, receipt: { delivery_id, call_id } };
  }
  return accepted({ delivery_id, call_id, success, content: parts });
}

function checkParts(
  content: Wire<typeof functionResultWire>["content"],
): readonly ContentPart[] | undefined {
  if (content === null) return undefined;
  const parts: ContentPart[] = [];
  for (const part of content) {
    if (part === null || !isContentPart(part)) return undefined;
    parts.push(part);
  }
  return parts;
}
