// Owns the fingerprints that decide whether a repeated request is the same request. They cover the
// decoded value: member order and members nobody reads do not count.
import { createHash } from "node:crypto";
import { writeWire } from "../protocol/wire_object.ts";
import { configurationWire } from "../protocol/configuration.ts";
import type { Configuration } from "../protocol/configuration.ts";
import type {
  ExecutionPrepare,
  ExecutionStart,
} from "../protocol/execution.ts";
import type { FunctionResult } from "../protocol/functions.ts";
import type { MessageInput } from "../protocol/message_input.ts";

/** SHA-256 over the canonical encoding of a JSON value, in hexadecimal. */
export function fingerprint(value: unknown): string {
  return createHash("sha256").update(canonical(value)).digest("hex");
}

/** Of a whole prepare request. Secrets enter the digest only. */
export function prepareFingerprint(prepare: ExecutionPrepare): string {
  return fingerprint([
    prepare.session_id,
    writeWire(configurationWire, prepare.configuration),
  ]);
}

/**
 * Of what an Executor is built from. The Run and the two assertions about native continuity are no
 * configuration; `resolved` stands for what the binding added.
 */
export function executorFingerprint(
  configuration: Configuration,
  resolved: string,
): string {
  const {
    run_id: _run,
    input: _input,
    agent_session_id: _session,
    require_existing_native_session: _required,
    ...fixed
  } = configuration;
  return fingerprint([fixed, resolved]);
}

/** Of a start: Executor, handle, Run and the ordered input. */
export function startFingerprint(start: ExecutionStart): string {
  return fingerprint([
    start.executor_id,
    start.handle,
    start.run_id,
    start.input,
  ]);
}

/** Of an active input; its id is the key, the receipt mode is compared apart. */
export function inputFingerprint(input: MessageInput): string {
  return fingerprint(input);
}

/** Of a decision without its delivery id. */
export function decisionFingerprint(
  decision: { readonly delivery_id: string },
): string {
  const { delivery_id: _delivery, ...content } = decision;
  return fingerprint(content);
}

/** Of a function result without its delivery id. */
export function resultFingerprint(result: FunctionResult): string {
  return fingerprint([result.call_id, result.success, result.content]);
}

/** JSON with members sorted by code unit and absent members left out. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) {
    return JSON.stringify(value) ?? "null";
  }
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => a < b ? -1 : 1)
    .map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`);
  return `{${members.join(",")}}`;
}
