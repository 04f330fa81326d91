/**
 * The native messages this adapter depends on. Unknown members and values are tolerated; a missing
 * required member makes the message unusable, and each caller says what that means.
 */
import * as z from "zod";

const turn = z.looseObject({
  id: z.string().min(1),
  status: z.string(),
  error: z.looseObject({
    message: z.string(),
    codexErrorInfo: z.unknown().optional(),
  }).nullish(),
  startedAt: z.number().nullish(),
  completedAt: z.number().nullish(),
});
/** A native Turn as its notifications carry it. */
export type NativeTurn = z.infer<typeof turn>;

const item = z.looseObject({ type: z.string(), id: z.string().min(1) });
/** A native item. Which other members it has depends on its type. */
export type NativeItem = z.infer<typeof item>;

/** `turn/started` and `turn/completed`. */
export const turnEvent = z.looseObject({ threadId: z.string(), turn });
/** `item/started` and `item/completed`. */
export const itemEvent = z.looseObject({
  threadId: z.string(),
  turnId: z.string(),
  item,
});
/** `item/agentMessage/delta` and both kinds of reasoning delta. */
export const deltaEvent = z.looseObject({
  threadId: z.string(),
  turnId: z.string(),
  itemId: z.string(),
  delta: z.string(),
});
/** `thread/tokenUsage/updated`. */
export const usageEvent = z.looseObject({
  threadId: z.string(),
  turnId: z.string().nullish(),
  tokenUsage: z.looseObject({ total: z.unknown() }),
});
/** `error`. */
export const errorEvent = z.looseObject({
  threadId: z.string(),
  turnId: z.string(),
  willRetry: z.boolean().optional(),
  error: z.looseObject({ message: z.string() }).nullish(),
});
/** `serverRequest/resolved`. */
export const resolvedEvent = z.looseObject({
  threadId: z.string(),
  requestId: z.union([z.number(), z.string()]),
});
/** `mcpServer/startupStatus/updated`. */
export const mcpStatusEvent = z.looseObject({
  name: z.string(),
  status: z.string(),
});

const thread = z.looseObject({
  id: z.string().min(1),
  environments: z.array(z.unknown()).nullish(),
  cwd: z.string().nullish(),
  path: z.string().nullish(),
  ephemeral: z.boolean().nullish(),
  parentThreadId: z.string().nullish(),
  forkedFromId: z.string().nullish(),
  source: z.unknown().optional(),
  createdAt: z.number().nullish(),
  agentNickname: z.string().nullish(),
});
/** A native thread. */
export type NativeThread = z.infer<typeof thread>;

/** Answer of `initialize`. */
export const initializeAnswer = z.looseObject({ userAgent: z.string() });
/** Answers of `thread/start` and `thread/resume`. */
export const threadAnswer = z.looseObject({
  thread,
  model: z.string().nullish(),
});
/** Answer of `thread/read`. */
export const threadReadAnswer = z.looseObject({ thread });
/** Answer of `thread/list`. */
export const threadListAnswer = z.looseObject({
  data: z.array(thread),
  nextCursor: z.string().nullable(),
});
/** Answer of `turn/start`; its id may be missing, then `turn/started` tells it. */
export const turnStartAnswer = z.looseObject({
  turn: z.looseObject({ id: z.string().min(1).optional() }).optional(),
});
/** Answer of `turn/steer`. */
export const steerAnswer = z.looseObject({ turnId: z.string().min(1) });
/** Answer of `thread/backgroundTerminals/list`. */
export const terminalsAnswer = z.looseObject({
  data: z.array(z.looseObject({ processId: z.string().min(1) })),
  nextCursor: z.string().nullish(),
});
/** Answer of `thread/backgroundTerminals/terminate`. */
export const terminatedAnswer = z.looseObject({ terminated: z.boolean() });
/** Answer of `config/read`. */
export const configAnswer = z.looseObject({
  config: z.looseObject({
    mcp_servers: z.record(z.string(), z.unknown()).nullish(),
  }),
});
/** Answer of `configRequirements/read`. */
export const requirementsAnswer = z.looseObject({
  requirements: z.looseObject({
    featureRequirements: z.record(z.string(), z.unknown()).nullish(),
  }).nullable(),
});

/** What every request about a Turn names. */
export const turnRequest = z.looseObject({
  threadId: z.string(),
  turnId: z.string().nullish(),
});
/** `item/tool/call`. */
export const toolCallRequest = z.looseObject({
  threadId: z.string(),
  turnId: z.string(),
  callId: z.string().min(1),
  namespace: z.string().nullish(),
  tool: z.string(),
  arguments: z.unknown(),
});
/** `item/tool/requestUserInput`. */
export const userInputRequest = z.looseObject({
  threadId: z.string(),
  turnId: z.string(),
  itemId: z.string().nullish(),
  autoResolutionMs: z.number().nullish(),
  questions: z.array(z.looseObject({
    id: z.string().nullish(),
    header: z.string().nullish(),
    question: z.string(),
    isOther: z.boolean().nullish(),
    isSecret: z.boolean().nullish(),
    options: z.array(z.looseObject({
      label: z.string(),
      description: z.string().nullish(),
    })).nullish(),
  })),
});
/** `mcpServer/elicitation/request`. */
export const elicitationRequest = z.looseObject({
  threadId: z.string(),
  turnId: z.string().nullish(),
  serverName: z.string().min(1),
  mode: z.string(),
  message: z.string().min(1),
  requestedSchema: z.looseObject({
    type: z.string(),
    properties: z.record(z.string(), z.unknown()).nullish(),
    required: z.array(z.string()).nullish(),
  }).nullish(),
});
