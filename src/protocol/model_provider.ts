// Owns the model provider that a Session froze: shape, endpoint and key rules. Everything in it is
// confidential: it is never logged, kept or echoed.
import * as z from "zod";
import { accepted, type Decoded, refused } from "./decoded.ts";
import { isLoopbackLiteral, readEndpoint } from "./endpoint.ts";
import { MAX_API_KEY_BYTES } from "./limits.ts";
import { fitsUtf8, hasLineBreakOrNul, isBlank } from "./text.ts";
import {
  integer32,
  omitted,
  readWire,
  type Wire,
  wireObject,
} from "./wire_object.ts";

/** Schema of `agent_options.model_provider`. Unknown members are rejected. */
export const modelProviderWire = wireObject({
  protocol: z.enum(["anthropic", "responses", "chat_completions"]),
  base_url: z.string(),
  api_key: z.string(),
  context_window: omitted(integer32.min(0)),
  max_output_tokens: omitted(integer32.min(0)),
}, "rejected");
/** A model provider. Token limits are absent when unknown. */
export type ModelProvider = Wire<typeof modelProviderWire>;

/** Reads and checks a provider. */
export function checkModelProvider(value: unknown): Decoded<ModelProvider> {
  const provider = readWire(modelProviderWire, value);
  if (provider === undefined) {
    return refused("the model provider is malformed");
  }
  if (!isProviderEndpoint(provider.base_url)) {
    return refused("the model provider endpoint is not allowed");
  }
  if (!isApiKey(provider.api_key)) {
    return refused("the model provider key is malformed");
  }
  const { context_window = 0, max_output_tokens = 0 } = provider;
  return max_output_tokens <= context_window
    ? accepted(provider)
    : refused("the model provider limits contradict each other");
}

function isApiKey(key: string): boolean {
  return !isBlank(key) && fitsUtf8(key, MAX_API_KEY_BYTES) &&
    !hasLineBreakOrNul(key);
}

/** https, or http to a loopback address literal; no query. */
function isProviderEndpoint(text: string): boolean {
  const endpoint = readEndpoint(text);
  return endpoint !== undefined && !endpoint.hasQuery &&
    (endpoint.secure || isLoopbackLiteral(endpoint));
}
