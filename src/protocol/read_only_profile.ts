// Owns the read-only preparation profile: what a configuration that only lends a workspace for
// reading may say. Judged on the received members, because the profile also refuses members that
// decoding drops.
import type { InboundEnvelope } from "./envelope.ts";
import { isJsonObject } from "./wire_object.ts";

/** The members that make the profile. */
const PROFILE: ReadonlySet<string> = new Set([
  "agent_kind",
  "workspace_read_only",
  "agent_state_key",
  "local_environment",
]);

/** Members whose presence alone is a choice, even when they are empty or zero. */
const CHOICES: ReadonlySet<string> = new Set([
  "execution_controls",
  "mcp_http_servers",
  "max_concurrent_subagents",
]);

/**
 * Why an `execution_prepare` is not the read-only profile; `undefined` when it is. A refusal is
 * `unsupported_read_preparation`. Every other member must be empty, retired ones included.
 */
export function readOnlyProfileRefusal(
  envelope: InboundEnvelope,
): string | undefined {
  const { payload } = envelope;
  const configuration = isJsonObject(payload)
    ? payload.configuration
    : undefined;
  if (!isJsonObject(configuration)) return "there is no configuration";
  const { workspace_read_only, agent_state_key, local_environment } =
    configuration;
  if (
    workspace_read_only !== true || !isJsonObject(local_environment) ||
    typeof agent_state_key !== "string" || agent_state_key === ""
  ) {
    return "the read-only profile is incomplete";
  }
  for (const [name, value] of Object.entries(configuration)) {
    if (PROFILE.has(name)) continue;
    if (CHOICES.has(name) ? value !== null : !isEmpty(value)) {
      return "the read-only profile takes no other option";
    }
  }
  return undefined;
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === "" || value === 0 || value === false) {
    return true;
  }
  return typeof value === "object" && Object.keys(value).length === 0;
}
