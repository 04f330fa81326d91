/** Native delegation items as wire observations. Pure. */
import type {
  SubagentCoordination,
  SubagentLifecycle,
} from "../../src/protocol/subagents.ts";
import type { NativeItem } from "./native_schema.ts";

const KINDS: Readonly<Record<string, SubagentCoordination["kind"]>> = {
  spawnAgent: "create_subagent_call",
  sendInput: "send_subagent_input_call",
  wait: "wait_for_subagents_call",
  closeAgent: "close_subagent_call",
  resumeAgent: "resume_subagent_call",
};

/** Whether the item is a call of a delegation tool. */
export function isDelegation(item: NativeItem): boolean {
  return item.type === "collabAgentToolCall";
}

/** The native ids of the children that the call concerns. */
export function receiversOf(item: NativeItem): readonly string[] {
  return Array.isArray(item.receiverThreadIds)
    ? item.receiverThreadIds.filter((id) => typeof id === "string")
    : [];
}

/** The call as a snapshot; `actor` is the empty string for the root. */
export function coordinationOf(
  item: NativeItem,
  stage: "started" | "completed",
  actor = "",
): SubagentCoordination | undefined {
  const kind = KINDS[String(item.tool)];
  if (!kind) return undefined;
  return {
    id: item.id,
    kind,
    status: stage === "started" ? "in_progress" : statusOf(item.status),
    actor_id: actor,
    recipients: [...receiversOf(item)],
    text: textOrNull(item.prompt),
    model: textOrNull(item.model),
    reasoning_effort: textOrNull(item.reasoningEffort),
  };
}

/** The proved close or reopening of a child by a completed call of `actor`. */
export function lifecycleOf(
  item: NativeItem,
  actor: string,
): SubagentLifecycle | undefined {
  const status = item.tool === "closeAgent"
    ? "closed"
    : item.tool === "resumeAgent"
    ? "active"
    : undefined;
  const [child] = receiversOf(item);
  const at = item.completedAtMs;
  if (!status || child === undefined || typeof at !== "number") {
    return undefined;
  }
  return {
    native_id: child,
    effect_id: `${actor}:${item.id}`,
    status,
    occurred_at_ms: at,
  };
}

function statusOf(native: unknown): SubagentCoordination["status"] {
  switch (native) {
    case "completed":
    case "failed":
      return native;
    default:
      return "incomplete";
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
