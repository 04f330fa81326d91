/**
 * Judges a format for structured output. That its numbers survive a binary64 was judged on the
 * received text, before it was parsed; here it is too late to see.
 */
import type { OutputFormat } from "../../src/protocol/configuration.ts";

/** Whether the format is one that the program enforces unchanged: an object at its root. */
export function checkOutputFormat(format: OutputFormat): boolean {
  if (format.type !== "json_schema") return false;
  const schema = format.schema;
  return typeof schema === "object" && schema !== null &&
    !Array.isArray(schema) &&
    (schema as { readonly type?: unknown }).type === "object";
}
