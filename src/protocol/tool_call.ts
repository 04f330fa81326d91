// Owns `tool_call` and the neutral snapshot of a native tool that it carries. Core reads this frame
// strictly: an undeclared member anywhere refuses it.
import * as z from "zod";
import { accepted, type Decoded, refused } from "./decoded.ts";
import type { InboundEnvelope } from "./envelope.ts";
import { isContentPart, strictContentPartWire } from "./message_input.ts";
import {
  integer,
  list,
  omitted,
  pointer,
  rawObject,
  rawValue,
  readPayload,
  type Wire,
  wireObject,
} from "./wire_object.ts";

/** Schema of a web search action. */
export const webSearchActionWire = wireObject({
  type: z.enum(["search", "open_page", "find_in_page", "other"]),
  query: pointer(z.string()),
  queries: omitted(list(z.string())),
  url: pointer(z.string()),
  pattern: pointer(z.string()),
}, "rejected");
/** What a web search did. */
export type WebSearchAction = Wire<typeof webSearchActionWire>;

/** Schema of an observation. */
export const toolObservationWire = wireObject({
  kind: z.enum(["command", "mcp", "function", "web_search"]),
  status: z.enum(["in_progress", "completed", "failed", "incomplete"]),
  name: omitted(z.string()),
  command: omitted(z.string()),
  cwd: pointer(z.string()),
  exit_code: pointer(integer),
  duration_ms: pointer(integer),
  server: omitted(z.string()),
  arguments: pointer(rawValue),
  output: pointer(rawValue),
  error: pointer(rawValue),
  content: omitted(list(strictContentPartWire)),
  action: pointer(webSearchActionWire),
}, "rejected");
/** A complete snapshot of one native tool call, not a change to an earlier one. */
export type ToolObservation = Wire<typeof toolObservationWire>;

/** Schema of `tool_call`. */
export const toolCallWire = wireObject({
  observation: pointer(toolObservationWire),
  id: z.string(),
  name: z.string(),
  stage: z.enum(["before", "after"]),
  args: omitted(rawObject),
  result: omitted(rawObject),
}, "rejected");
/** Payload of `tool_call`, Runtime to Core, with the Run id. `id` is the native call id. */
export type ToolCall = Wire<typeof toolCallWire>;

/** Reads `tool_call`. */
export function decodeToolCall(envelope: InboundEnvelope): Decoded<ToolCall> {
  const value = readPayload(toolCallWire, envelope);
  if (value === undefined) return refused("the tool_call payload is malformed");
  const { observation, stage } = value;
  if (observation === undefined) return accepted(value);
  if (stage === "before" && observation.status !== "in_progress") {
    return refused("a tool that has not run reports an end");
  }
  return namesItsSubject(observation) &&
      (observation.content ?? []).every(isContentPart)
    ? accepted(value)
    : refused("the tool observation is incomplete");
}

/** A command without a command line, or an MCP call without a server, identifies nothing. */
function namesItsSubject(observation: ToolObservation): boolean {
  switch (observation.kind) {
    case "command":
      return observation.command !== undefined;
    case "mcp":
      return observation.server !== undefined;
    case "function":
    case "web_search":
      return true;
  }
}
