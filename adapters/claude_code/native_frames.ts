/**
 * The frames that `claude` writes, as far as this adapter reads them. Unknown members and unknown
 * frame types are tolerated: a newer program adds both. A known frame without a member that a
 * decision rests on is a protocol failure.
 */
import * as z from "zod";

const uuids = z.object({
  user_message_uuid: z.string().optional(),
  user_message_uuids: z.array(z.string()).optional(),
});

const parent = { parent_tool_use_id: z.string().nullish() };

/** A block of a finished assistant message. */
const assistantBlock = z.union([
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({
    type: z.literal("tool_use"),
    id: z.string(),
    name: z.string(),
    input: z.unknown(),
  }),
  z.object({ type: z.string() }).transform(() => ({ type: "other" as const })),
]);

/** A block of a user frame. */
const userBlock = z.union([
  z.object({
    type: z.literal("tool_result"),
    tool_use_id: z.string(),
    is_error: z.boolean().nullish(),
    content: z.unknown().optional(),
  }),
  z.object({ type: z.string() }).transform(() => ({ type: "other" as const })),
]);

const streamEvent = z.union([
  z.object({
    type: z.literal("message_start"),
    message: z.object({ id: z.string() }),
  }),
  z.object({
    type: z.literal("content_block_start"),
    index: z.number(),
    content_block: z.object({
      type: z.string(),
      text: z.string().optional(),
      id: z.string().optional(),
      name: z.string().optional(),
    }),
  }),
  z.object({
    type: z.literal("content_block_delta"),
    index: z.number(),
    delta: z.object({
      type: z.string(),
      text: z.string().optional(),
      thinking: z.string().optional(),
      partial_json: z.string().optional(),
    }),
  }),
  z.object({ type: z.literal("content_block_stop"), index: z.number() }),
  z.object({ type: z.literal("message_delta") }),
  z.object({ type: z.literal("message_stop") }),
  z.object({ type: z.string() }).transform(() => ({ type: "other" as const })),
]);

const frames = {
  command_lifecycle: z.object({
    type: z.literal("command_lifecycle"),
    command_uuid: z.string(),
    state: z.string(),
  }),
  stream_event: z.object({
    type: z.literal("stream_event"),
    event: streamEvent,
    ...parent,
    ...uuids.shape,
  }),
  assistant: z.object({
    type: z.literal("assistant"),
    message: z.object({
      id: z.string(),
      model: z.string().nullish(),
      content: z.array(assistantBlock),
    }),
    error: z.string().nullish(),
    aborted: z.boolean().optional(),
    isReplay: z.boolean().optional(),
    ...parent,
    ...uuids.shape,
  }),
  user: z.object({
    type: z.literal("user"),
    message: z.object({
      content: z.union([z.string(), z.array(userBlock)]),
    }),
    isReplay: z.boolean().optional(),
    isSynthetic: z.boolean().optional(),
    tool_use_result: z.unknown().optional(),
    ...parent,
  }),
  result: z.object({
    type: z.literal("result"),
    subtype: z.string(),
    is_error: z.boolean(),
    session_id: z.string(),
    uuid: z.string(),
    result: z.string().optional(),
    api_error_status: z.number().nullish(),
    terminal_reason: z.string().nullish(),
    startup_failure_reason: z.string().nullish(),
    structured_output: z.unknown().optional(),
    usage: z.unknown().optional(),
    modelUsage: z.unknown().optional(),
    model_usage_since_last_result: z.unknown().optional(),
    total_cost_usd: z.unknown().optional(),
    ...uuids.shape,
  }),
  control_request: z.object({
    type: z.literal("control_request"),
    request_id: z.string(),
    request: z.looseObject({ subtype: z.string() }),
  }),
  control_response: z.object({
    type: z.literal("control_response"),
    response: z.object({
      subtype: z.string(),
      request_id: z.string(),
      response: z.unknown().optional(),
      error: z.string().optional(),
    }),
  }),
  control_cancel_request: z.object({
    type: z.literal("control_cancel_request"),
    request_id: z.string(),
  }),
} as const;

const systemFrames = {
  init: z.object({
    type: z.literal("system"),
    subtype: z.literal("init"),
    session_id: z.string(),
    tools: z.array(z.string()),
    mcp_servers: z.array(z.object({ name: z.string(), status: z.string() })),
    capabilities: z.array(z.string()).default([]),
  }),
  session_state_changed: z.object({
    type: z.literal("system"),
    subtype: z.literal("session_state_changed"),
    state: z.string(),
  }),
  task_started: z.object({
    type: z.literal("system"),
    subtype: z.literal("task_started"),
    task_id: z.string(),
  }),
  task_notification: z.object({
    type: z.literal("system"),
    subtype: z.literal("task_notification"),
    task_id: z.string(),
  }),
  model_refusal_no_fallback: z.object({
    type: z.literal("system"),
    subtype: z.literal("model_refusal_no_fallback"),
    api_refusal_category: z.string().nullish(),
  }),
} as const;

type FrameSchemas = typeof frames;
type SystemSchemas = typeof systemFrames;

/** One frame of each type that is read, by type or by subtype of `system`. */
export type NativeFrames =
  & { [T in keyof FrameSchemas]: z.output<FrameSchemas[T]> }
  & { [T in keyof SystemSchemas]: z.output<SystemSchemas[T]> };

/** A frame that this adapter reads. */
export type NativeFrame =
  | NativeFrames[keyof FrameSchemas]
  | NativeFrames[keyof SystemSchemas];

/** A frame that breaks the protocol. Carries only its type, never its content. */
export class MalformedFrame extends Error {
  override readonly name = "MalformedFrame";
  constructor(readonly frame: string) {
    super(`The program wrote a malformed ${frame} frame`);
  }
}

const header = z.object({
  type: z.string(),
  subtype: z.string().optional(),
});

/**
 * Reads one line's value. `undefined` for a frame that nothing here needs.
 *
 * @throws {MalformedFrame} for a known frame that lacks a needed member.
 */
export function readFrame(value: unknown): NativeFrame | undefined {
  const kind = header.safeParse(value);
  if (!kind.success) return undefined;
  const { type, subtype } = kind.data;
  const known = type === "system"
    ? member(systemFrames, subtype ?? "")
    : member(frames, type);
  if (!known) return undefined;
  const frame = known.schema.safeParse(value);
  if (!frame.success) throw new MalformedFrame(known.name);
  return frame.data as NativeFrame;
}

function member(
  schemas: Readonly<Record<string, z.ZodType>>,
  name: string,
): { readonly name: string; readonly schema: z.ZodType } | undefined {
  if (!Object.hasOwn(schemas, name)) return undefined;
  const schema = schemas[name];
  return schema && { name, schema };
}

/** The own message identities a frame names. */
export function namedUuids(
  frame: z.output<typeof uuids>,
): readonly string[] {
  return frame.user_message_uuids ??
    (frame.user_message_uuid === undefined ? [] : [frame.user_message_uuid]);
}
