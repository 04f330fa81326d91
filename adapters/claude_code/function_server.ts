/**
 * The in-process MCP server that offers Core's functions to the program. Answers the handshake and
 * the listing itself; a call is handed to the Turn it belongs to.
 */
import * as z from "zod";
import type { FunctionTool } from "../../src/protocol/configuration.ts";
import { functionSchema } from "./configuration.ts";
import { MAXIMUM_RESULT_CHARACTERS } from "./function_calls.ts";

/** JSON-RPC's code for parameters that name no valid call. */
export const INVALID_PARAMETERS = -32602;
const METHOD_NOT_FOUND = -32601;

const message = z.object({
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string(),
  params: z.looseObject({}).optional(),
});

const callParameters = z.object({
  name: z.string(),
  arguments: z.unknown().optional(),
  _meta: z.object({ "claudecode/toolUseId": z.string().min(1) }),
});

const cancelParameters = z.object({
  requestId: z.union([z.string(), z.number()]),
});

/** What a message of the program asks of the host. */
export type FunctionServerDemand =
  /** Answered by this JSON-RPC message, at once. */
  | { readonly type: "reply"; readonly response: unknown }
  /** A call to make; answer it with {@linkcode rpcResult} of its `rpcId`. */
  | {
    readonly type: "call";
    readonly rpcId: string | number;
    readonly callId: string;
    readonly name: string;
    readonly arguments: unknown;
  }
  /** The program gave up the call with this JSON-RPC id. The notification itself wants an answer. */
  | {
    readonly type: "cancelled";
    readonly rpcId: string | number;
    readonly response: unknown;
  };

/** A JSON-RPC result. */
export function rpcResult(id: string | number, result: unknown): unknown {
  return { jsonrpc: "2.0", id, result };
}

/** A JSON-RPC error. */
export function rpcError(
  id: string | number,
  code: number,
  text: string,
): unknown {
  return { jsonrpc: "2.0", id, error: { code, message: text } };
}

/** Notifications have no id, yet the control request that carries one must be answered. */
const ACKNOWLEDGED = { jsonrpc: "2.0", id: 0, result: {} };

/** Judges one JSON-RPC message for the functions of a Session. */
export function serveFunctions(
  tools: readonly FunctionTool[],
  value: unknown,
): FunctionServerDemand {
  const read = message.safeParse(value);
  if (!read.success) {
    return { type: "reply", response: rpcError(0, -32600, "Invalid request") };
  }
  const { id, method, params } = read.data;
  if (id === undefined) return notification(method, params);
  switch (method) {
    case "initialize":
      return {
        type: "reply",
        response: rpcResult(id, {
          protocolVersion: String(params?.["protocolVersion"] ?? "2025-11-25"),
          capabilities: { tools: {} },
          serverInfo: { name: "functions", version: "1.0.0" },
        }),
      };
    case "ping":
      return { type: "reply", response: rpcResult(id, {}) };
    case "tools/list":
      return {
        type: "reply",
        response: rpcResult(id, { tools: tools.map(listing) }),
      };
    case "tools/call":
      return call(tools, id, params);
    default:
      return {
        type: "reply",
        response: rpcError(id, METHOD_NOT_FOUND, "Method not found"),
      };
  }
}

function notification(method: string, params: unknown): FunctionServerDemand {
  const read = cancelParameters.safeParse(params);
  return method === "notifications/cancelled" && read.success
    ? {
      type: "cancelled",
      rpcId: read.data.requestId,
      response: ACKNOWLEDGED,
    }
    : { type: "reply", response: ACKNOWLEDGED };
}

function call(
  tools: readonly FunctionTool[],
  id: string | number,
  params: unknown,
): FunctionServerDemand {
  const read = callParameters.safeParse(params);
  if (!read.success) {
    return {
      type: "reply",
      response: rpcError(id, INVALID_PARAMETERS, "The call has no identity"),
    };
  }
  if (!tools.some((tool) => tool.name === read.data.name)) {
    return {
      type: "reply",
      response: rpcError(id, INVALID_PARAMETERS, "Unknown tool"),
    };
  }
  return {
    type: "call",
    rpcId: id,
    callId: read.data._meta["claudecode/toolUseId"],
    name: read.data.name,
    arguments: read.data.arguments ?? {},
  };
}

/**
 * `readOnlyHint` lets the program run the calls of one answer side by side; whether a function
 * changes anything is Core's to decide, and asks are answered before they arise.
 */
function listing(tool: FunctionTool): unknown {
  return {
    name: tool.name,
    description: tool.description,
    inputSchema: functionSchema(tool),
    annotations: { readOnlyHint: true },
    _meta: {
      "anthropic/alwaysLoad": tool.defer_loading !== true,
      "anthropic/maxResultSizeChars": MAXIMUM_RESULT_CHARACTERS + 100_000,
    },
  };
}
