/**
 * Judges a schema for structured output. The program reads JSON numbers as binary64, so a schema
 * with a number that binary64 cannot hold would be another schema.
 */
import type { OutputFormat } from "../../src/protocol/configuration.ts";

/** Whether the format is one that the program enforces unchanged: an object at its root. */
export function checkOutputFormat(format: OutputFormat): boolean {
  if (format.type !== "json_schema") return false;
  const schema = format.schema;
  return typeof schema === "object" && schema !== null &&
    !Array.isArray(schema) &&
    (schema as { readonly type?: unknown }).type === "object" &&
    numbersSurvive(schema);
}

/**
 * Numbers are already binary64 here: which digits a literal had cannot be seen any more. Beyond the
 * exact integers two literals share a value, so those are refused.
 */
function numbersSurvive(value: unknown): boolean {
  if (typeof value === "number") {
    return Number.isFinite(value) &&
      (!Number.isInteger(value) || Number.isSafeInteger(value));
  }
  if (typeof value !== "object" || value === null) return true;
  return Object.values(value).every(numbersSurvive);
}
