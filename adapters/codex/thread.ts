/**
 * The root thread of an Executor: started new, resumed by its id, or found as the one history of
 * its home. Never falls back from a history to a new thread.
 */
import { isAbsolute, relative } from "@std/path";
import type { PreparedConfiguration } from "../../src/harness/contract.ts";
import { dynamicTools } from "./functions.ts";
import { recordedTools, type SessionHome, toolFingerprint } from "./home.ts";
import type { CodexLimits } from "./limits.ts";
import {
  type NativeThread,
  threadAnswer,
  threadListAnswer,
} from "./native_schema.ts";
import type { Rpc } from "./rpc.ts";

/** A thread that is ready for its first Turn in this process. */
export interface BoundThread {
  readonly id: string;
  /** The model the engine resolved. */
  readonly model: string | undefined;
  readonly resumed: boolean;
}

/** Where and how a thread is bound. */
export interface ThreadRequest {
  readonly rpc: Rpc;
  readonly configuration: PreparedConfiguration;
  /** From `threadParameters`. */
  readonly parameters: Record<string, unknown>;
  readonly home: SessionHome;
  readonly workingDirectory: string;
  readonly limits: CodexLimits;
}

const OWN_SOURCES = ["vscode", "cli", "appServer"];

/** Starts or resumes. @throws when the history is missing, foreign, ambiguous or has other tools. */
export async function bindThread(
  request: ThreadRequest,
): Promise<BoundThread> {
  const { agentSessionId, requireExistingNativeSession } =
    request.configuration;
  if (agentSessionId !== undefined) {
    return await resume(request, agentSessionId);
  }
  return requireExistingNativeSession
    ? await resume(request, await recover(request))
    : await start(request);
}

async function start(request: ThreadRequest): Promise<BoundThread> {
  const { rpc, configuration, parameters, limits } = request;
  const none = configuration.environment.kind === "none";
  const tools = configuration.functionTools;
  const { thread, model } = threadAnswer.parse(
    await rpc.request("thread/start", {
      ...parameters,
      ...(none ? { environments: [] } : {}),
      ...(tools.length > 0 ? { dynamicTools: dynamicTools(tools) } : {}),
      ...(configuration.observeSubagentIdentities
        ? { historyMode: "paginated" }
        : {}),
    }, { timeout: limits.request }),
  );
  if (none && thread.environments?.length !== 0) {
    throw new Error("codex: cannot confirm disabled execution environment");
  }
  return { id: thread.id, model: model ?? undefined, resumed: false };
}

async function resume(
  request: ThreadRequest,
  threadId: string,
): Promise<BoundThread> {
  const { rpc, configuration, parameters, home, limits } = request;
  const recorded = await recordedTools(home, threadId);
  // The engine keeps the tools of the start and ignores others without a word.
  if (recorded !== toolFingerprint(configuration.functionTools)) {
    throw new Error("codex: the history is unknown or has other functions");
  }
  const { thread, model } = threadAnswer.parse(
    await rpc.request("thread/resume", {
      ...parameters,
      developerInstructions: configuration.systemPrompt ?? "",
      threadId,
      excludeTurns: true,
    }, { timeout: limits.request }),
  );
  if (thread.id !== threadId) {
    throw new Error("codex: the engine resumed another history");
  }
  return { id: thread.id, model: model ?? undefined, resumed: true };
}

/** The id of the one root history of this home and working directory. */
async function recover(request: ThreadRequest): Promise<string> {
  const live = await list(request, "live");
  const archived = await list(request, "archived");
  if (live.length > 1 || archived.length > 0) {
    throw new Error("codex: native history is ambiguous or archived");
  }
  const [thread] = live;
  if (!thread) throw new Error("codex: required native history is missing");
  if (!isOwn(thread, request)) {
    throw new Error("codex: native history ownership is unverified");
  }
  return thread.id;
}

async function list(
  { rpc, limits }: ThreadRequest,
  which: "live" | "archived",
): Promise<readonly NativeThread[]> {
  const answer = threadListAnswer.safeParse(
    await rpc.request("thread/list", {
      limit: 2,
      modelProviders: [],
      sourceKinds: [],
      archived: which === "archived",
      useStateDbOnly: false,
    }, { timeout: limits.request }),
  );
  if (!answer.success || answer.data.nextCursor !== null) {
    throw new Error("codex: native history lookup incomplete");
  }
  return answer.data.data;
}

function isOwn(thread: NativeThread, request: ThreadRequest): boolean {
  const { path } = thread;
  if (typeof path !== "string" || !isAbsolute(path)) return false;
  const inside = relative(`${request.home.codex}/sessions`, path);
  return thread.ephemeral === false && thread.parentThreadId === null &&
    thread.forkedFromId === null &&
    typeof thread.source === "string" && OWN_SOURCES.includes(thread.source) &&
    thread.cwd === request.workingDirectory &&
    inside !== "" && !inside.startsWith("..") && !isAbsolute(inside);
}
