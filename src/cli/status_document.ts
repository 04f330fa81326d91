/**
 * `status.json`: what the daemon last proved. Instants are Unix milliseconds, so that a reader can
 * say how old each fact is. Never a secret, a payload or a text of a peer.
 */
import { join } from "@std/path";
import { z } from "zod";

/** The newest form. A reader refuses a newer one instead of guessing. */
export const STATUS_SCHEMA = 1;

const instant = z.number();
const fact = z.object({ description: z.string(), at: instant });

/** The form of the file. Unknown members are ignored, so that an older reader still works. */
export const statusDocument = z.object({
  schema: z.literal(STATUS_SCHEMA),
  written_at: instant,
  process: z.object({
    pid: z.number(),
    /** Tells this process from a later one with its pid; unit of the system. */
    start_time: z.number().nullable(),
    boot_id: z.string().nullable(),
    version: z.string(),
    protocol_version: z.string(),
    started_at: instant,
  }),
  core_url: z.string(),
  device_id: z.string(),
  workspace: z.string().nullable(),
  environment_id: z.string().nullable(),
  session_id: z.string().nullable(),
  connection: z.object({
    phase: z.string(),
    since: instant,
    attempt: z.number(),
    sessions: z.number(),
    next_attempt_at: instant.nullable(),
    opened_at: instant.nullable(),
    last_inbound_at: instant.nullable(),
    last_pong_at: instant.nullable(),
    last_heartbeat_at: instant.nullable(),
    last_end: fact.nullable(),
    last_refusal: fact.nullable(),
    shared_device_suspected: z.boolean(),
  }),
  harnesses: z.array(z.object({
    kind: z.string(),
    available: z.boolean(),
    version: z.string().nullable(),
    program: z.string().nullable(),
    reason: z.string().nullable(),
  })),
  /** Counts of what the daemon owns. */
  work: z.record(z.string(), z.number()),
  /** Present from the first stop, or while an old connection is being settled. */
  waiting: z.object({
    reason: z.enum(["stopping", "reconnecting"]),
    since: instant,
    attempt: z.number(),
    for: z.array(z.string()),
  }).nullable(),
  /** Owners whose outcome is unknown, and what to do about each. */
  unknown: z.array(z.object({ owner: z.string(), remedy: z.string() })),
  /** Processes of an earlier daemon that could not be ended. */
  orphans: z.array(z.string()),
});

/** The content of the file. */
export type StatusDocument = z.infer<typeof statusDocument>;

/** The path of the file in a state directory. */
export function statusPath(stateDirectory: string): string {
  return join(stateDirectory, "status.json");
}

/** What a reader found. */
export type StatusReading =
  | { readonly kind: "document"; readonly document: StatusDocument }
  | { readonly kind: "none" }
  | { readonly kind: "unreadable"; readonly rule: string };

/** Reads the file of a state directory. */
export async function readStatus(
  stateDirectory: string,
): Promise<StatusReading> {
  let text: string;
  try {
    text = await Deno.readTextFile(statusPath(stateDirectory));
  } catch (error) {
    return error instanceof Deno.errors.NotFound
      ? { kind: "none" }
      : { kind: "unreadable", rule: "cannot be read by this user" };
  }
  try {
    const parsed = statusDocument.safeParse(JSON.parse(text));
    return parsed.success
      ? { kind: "document", document: parsed.data }
      : { kind: "unreadable", rule: "is of another version" };
  } catch {
    return { kind: "unreadable", rule: "is damaged" };
  }
}
