// Owns the result of every decoder and check: a value, or one fixed sentence. Never an exception.

/**
 * What a decoder returns. `reason` is fixed text for the local log: it never holds a member name,
 * an id or a value that the peer sent. `Extra` is what a refusal still carries so that it can be
 * answered, such as the input id of a malformed `prompt_steer`.
 */
export type Decoded<T, Extra = unknown> =
  | { readonly ok: true; readonly value: T }
  | ({ readonly ok: false; readonly reason: string } & Extra);

/** A decoded value. */
export function accepted<T>(
  value: T,
): { readonly ok: true; readonly value: T } {
  return { ok: true, value };
}

/** A refusal without anything to answer with. */
export function refused(
  reason: string,
): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}
