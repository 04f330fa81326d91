// Owns the question whether a JSON text survives this program: every number in it is read into a
// binary64 and written again, so one that changes on the way must be refused, not altered.
import { numberTokens } from "./raw.ts";
import { isJsonObject } from "./wire_object.ts";

/** Whether every number of the JSON text keeps its exact value through binary64. */
export function keepsNumbers(text: string): boolean {
  for (const token of numberTokens(text)) {
    if (!keepsNumber(token)) return false;
  }
  return true;
}

/**
 * Whether a schema can be handed to an engine that reads numbers as binary64: its root is an object
 * schema and every number in it is exact. `text` is the schema as received.
 */
export function isBinary64Schema(text: string): boolean {
  const schema: unknown = JSON.parse(text);
  return isJsonObject(schema) && schema.type === "object" && keepsNumbers(text);
}

function keepsNumber(token: string): boolean {
  return decimal(token) === decimal(`${Number(token)}`);
}

/** One spelling for each finite value, and none for an infinite one: significant digits without zeros around them, and an exponent. */
function decimal(token: string): string {
  const negative = token.startsWith("-");
  const [mantissa = "", exponent = "0"] = token.slice(negative ? 1 : 0)
    .toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const digits = whole + fraction;
  let first = 0;
  while (digits[first] === "0") first++;
  let end = digits.length;
  while (end > first && digits[end - 1] === "0") end--;
  if (first === end) return "0";
  const scale = Number(exponent) - fraction.length + digits.length - end;
  return `${negative ? "-" : ""}${digits.slice(first, end)}e${scale}`;
}
