// Owns the capability declaration: its 29 fields, the three-valued form inside the daemon and the
// boolean form on the wire. It never fills in a field that nobody decided.
import * as z from "zod";
import { accepted, type Decoded, refused } from "./decoded.ts";

/** Every capability field, listed by hand: a new one must be decided in every declaration. */
export const CAPABILITY_NAMES = [
  "subagent_observations",
  "streaming",
  "permissions",
  "usage",
  "resume",
  "native_session_recovery",
  "steering",
  "message_items",
  "tool_observations",
  "environment_none",
  "local_environment",
  "preparation",
  "workspace_read_preparation",
  "workspace_output_export",
  "programmatic_tool_calling_disable",
  "web_search_control",
  "execution_controls",
  "text_verbosity",
  "structured_output",
  "tool_search",
  "message_images",
  "function_result_images",
  "subagent_control",
  "durable_input_receipts",
  "durable_turns",
  "function_tools",
  "mcp_http_tools",
  "mcp_http_required",
  "mcp_http_bearer_auth",
] as const;

/** One capability field. */
export type CapabilityName = typeof CAPABILITY_NAMES[number];

/** `unspecified` is the value before a decision; a declaration that holds one is invalid. */
export type CapabilitySupport = "supported" | "unsupported" | "unspecified";

/** What one combination of Runtime and Harness can do, each field decided. */
export type CapabilityDeclaration = Readonly<
  Record<CapabilityName, CapabilitySupport>
>;

/** The wire form: one boolean for each field, `false` included. */
export type Capabilities = Readonly<Record<CapabilityName, boolean>>;

/** A declaration that leaves a field open. Names no field and no value. */
export class IncompleteDeclaration extends Error {
  override readonly name = "IncompleteDeclaration";
  constructor() {
    super("the capability declaration is incomplete");
  }
}

/** Schema of the wire form: exactly the 29 members, each a JSON boolean. */
export const capabilitiesWire: z.ZodType<Capabilities> = z.strictObject(
  Object.fromEntries(CAPABILITY_NAMES.map((name) => [name, z.boolean()])),
) as unknown as z.ZodType<Capabilities>;

/** Whether every field, and nothing else, is decided. */
export function validateDeclaration(
  declaration: CapabilityDeclaration,
): Decoded<CapabilityDeclaration> {
  const decided = CAPABILITY_NAMES.every((name) =>
    declaration[name] === "supported" || declaration[name] === "unsupported"
  );
  const complete = Object.keys(declaration).length === CAPABILITY_NAMES.length;
  return decided && complete
    ? accepted(declaration)
    : refused("the capability declaration is incomplete");
}

/**
 * The wire form of a complete declaration.
 *
 * @throws {IncompleteDeclaration} when a field is undecided.
 */
export function encodeDeclaration(
  declaration: CapabilityDeclaration,
): Capabilities {
  if (!validateDeclaration(declaration).ok) throw new IncompleteDeclaration();
  return Object.fromEntries(
    CAPABILITY_NAMES.map((name) => [name, declaration[name] === "supported"]),
  ) as Capabilities;
}

/** Reads the wire form. Every field must be there as `true` or `false`, and no other. */
export function decodeCapabilities(
  value: unknown,
): Decoded<CapabilityDeclaration> {
  const result = capabilitiesWire.safeParse(value);
  if (!result.success) return refused("the capability object is invalid");
  const { data } = result;
  return accepted(
    Object.fromEntries(
      CAPABILITY_NAMES.map((
        name,
      ) => [name, data[name] ? "supported" : "unsupported"]),
    ) as CapabilityDeclaration,
  );
}
