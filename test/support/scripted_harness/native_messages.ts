/** What the scripted program sends, checked. */
import * as z from "zod";

const turn = z.string();

/** Every message of the program; an unknown type is `undefined` to the adapter. */
export const nativeMessage = z.discriminatedUnion("type", [
  z.object({ type: z.literal("ready"), session: z.string(), pid: z.number() }),
  z.object({ type: z.literal("refused"), reason: z.string() }),
  z.object({ type: z.literal("text"), turn, text: z.string() }),
  z.object({ type: z.literal("thought"), turn, text: z.string() }),
  z.object({ type: z.literal("usage"), turn, tokens: z.number() }),
  z.object({
    type: z.literal("tool"),
    turn,
    stage: z.enum(["before", "after"]),
    call: z.string(),
    command: z.string(),
  }),
  z.object({
    type: z.literal("call"),
    turn,
    call: z.string(),
    name: z.string(),
    arguments: z.record(z.string(), z.unknown()),
  }),
  z.object({ type: z.literal("call_settled"), turn, call: z.string() }),
  z.object({ type: z.literal("permission"), turn, ask: z.string() }),
  z.object({ type: z.literal("choose"), turn, ask: z.string() }),
  z.object({ type: z.literal("ask_settled"), turn, ask: z.string() }),
  z.object({ type: z.literal("consumed"), turn, input: z.string() }),
  z.object({ type: z.literal("refused_input"), input: z.string() }),
  z.object({
    type: z.literal("end"),
    turn,
    status: z.enum(["completed", "cancelled", "failed"]),
    text: z.string(),
  }),
]);

/** One message of the program. */
export type NativeMessage = z.infer<typeof nativeMessage>;
