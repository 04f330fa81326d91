/**
 * Native requests for a permission or a choice, as wire events, and the native replies to them.
 */
import type { TurnEvent } from "../../src/harness/contract.ts";
import type { Ids } from "../../src/platform/ids.ts";
import type {
  PermissionRequest,
  UserChoiceQuestion,
} from "../../src/protocol/interactions.ts";
import {
  elicitationRequest,
  turnRequest,
  userInputRequest,
} from "./native_schema.ts";
import { boundText, boundValue } from "./oversize.ts";

/** A permission request. */
export interface PermissionQuestion {
  readonly kind: "permission";
  readonly id: string;
  readonly event: TurnEvent;
  /** Milliseconds to the default answer; absent takes the adapter's. */
  readonly timeout?: number;
  reply(verdict: "approve" | "decline"): object;
}

/** One or several questions to the user. */
export interface ChoiceQuestion {
  readonly kind: "choice";
  readonly id: string;
  readonly event: TurnEvent;
  readonly timeout?: number;
  readonly questions: readonly UserChoiceQuestion[];
  reply(answers: ReadonlyMap<string, readonly string[]>): object;
}

/** Anything that waits for a decision. */
export type Question = PermissionQuestion | ChoiceQuestion;

/** The question behind a native request; `undefined` when the method asks nothing. */
export function describe(
  method: string,
  params: unknown,
  ids: Ids,
): Question | "malformed" | undefined {
  switch (method) {
    case "item/commandExecution/requestApproval":
      return approval(params, ids, "command_execution", (native) => ({
        title: text(native.command) ?? "Run command",
        detail: text(native.reason),
      }));
    case "item/fileChange/requestApproval":
      return approval(params, ids, "file_change", (native) => ({
        title: text(native.grantRoot) ?? "Apply file changes",
        detail: text(native.reason),
      }));
    case "item/permissions/requestApproval":
      return permissions(params, ids);
    case "mcpServer/elicitation/request":
      return elicitation(params, ids);
    case "item/tool/requestUserInput":
      return userInput(params, ids);
    default:
      return undefined;
  }
}

function approval(
  params: unknown,
  ids: Ids,
  tool: string,
  words: (
    native: Record<string, unknown>,
  ) => { title: string; detail: string | undefined },
): PermissionQuestion | "malformed" {
  const native = turnRequest.safeParse(params);
  if (!native.success) return "malformed";
  return permission(ids, tool, words(native.data), native.data, (verdict) => ({
    decision: verdict === "approve" ? "accept" : "decline",
  }));
}

function permissions(
  params: unknown,
  ids: Ids,
): PermissionQuestion | "malformed" {
  const native = turnRequest.safeParse(params);
  if (!native.success) return "malformed";
  const { permissions: requested, cwd, reason } = native.data;
  const words = {
    title: text(cwd) ?? "Grant additional permissions",
    detail: text(reason),
  };
  return permission(
    ids,
    "permission_request",
    words,
    native.data,
    (verdict) => ({
      permissions: verdict === "approve" ? requested ?? {} : {},
      scope: "turn",
    }),
  );
}

/** Only a plain confirmation can be put: a form with fields has no wire shape. */
function elicitation(
  params: unknown,
  ids: Ids,
): PermissionQuestion | "malformed" {
  const native = elicitationRequest.safeParse(params);
  if (!native.success) return "malformed";
  const { serverName, message, mode, requestedSchema: schema } = native.data;
  const plain = mode === "form" &&
    (!schema || schema.type === "object" &&
        Object.keys(schema.properties ?? {}).length === 0 &&
        (schema.required ?? []).length === 0);
  if (!plain) return "malformed";
  const words = { title: message, detail: undefined };
  return permission(
    ids,
    `mcp:${serverName}`,
    words,
    native.data,
    (verdict) => ({
      action: verdict === "approve" ? "accept" : "decline",
      content: verdict === "approve" ? {} : null,
      _meta: null,
    }),
  );
}

function permission(
  ids: Ids,
  tool: string,
  words: { title: string; detail: string | undefined },
  payload: Record<string, unknown>,
  reply: PermissionQuestion["reply"],
): PermissionQuestion {
  const id = `perm_${ids.hex(8)}`;
  const request: PermissionRequest = {
    request_id: id,
    tool,
    title: boundText(words.title),
    ...(words.detail === undefined ? {} : { detail: words.detail }),
    // What does not fit a frame is left out: the title still names what is asked.
    ...(boundValue(payload) === payload ? { payload } : {}),
  };
  return {
    kind: "permission",
    id,
    event: { type: "permission_request", payload: request },
    reply,
  };
}

function userInput(params: unknown, ids: Ids): ChoiceQuestion | "malformed" {
  const native = userInputRequest.safeParse(params);
  if (!native.success) return "malformed";
  const { itemId, autoResolutionMs: timeout } = native.data;
  const questions = native.data.questions.map((question) => ({
    id: question.id || `question_${ids.hex(8)}`,
    ...(question.header ? { header: question.header } : {}),
    question: question.question,
    is_other: question.isOther ?? false,
    is_secret: question.isSecret ?? false,
    options: (question.options ?? []).map(({ label, description }) => ({
      label,
      ...(description ? { description } : {}),
    })),
  }));
  const id = `ask_${ids.hex(8)}`;
  const automatic = typeof timeout === "number" && timeout >= 0
    ? Math.floor(timeout)
    : undefined;
  return {
    kind: "choice",
    id,
    questions,
    ...(automatic === undefined ? {} : { timeout: automatic }),
    event: {
      type: "prompt_for_user_choice",
      payload: {
        ask_id: id,
        questions,
        ...(itemId ? { tool_use_id: itemId } : {}),
        ...(automatic === undefined ? {} : { auto_resolution_ms: automatic }),
      },
    },
    reply: (answers) => ({
      answers: Object.fromEntries(
        [...answers].map(([question, given]) => [question, { answers: given }]),
      ),
    }),
  };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
