/** A thrown value as an error; anything else is named by its text. */
export function asError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value));
}
