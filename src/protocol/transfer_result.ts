// Owns what `runtime_prepare_result` and `workspace_write_result` share: a result is judged against
// the step it must answer.

/** The success a step is answered with, as Core expects it. */
export type ExpectedTransferResult =
  | { readonly outcome: "ready" }
  /** Cumulative bytes after the chunk. */
  | { readonly outcome: "received"; readonly offset: number }
  /** The declared size; 0 for a step without a body. */
  | { readonly outcome: "completed"; readonly size_bytes: number };

/** The success members of a result. */
export interface TransferProgress {
  readonly outcome: string;
  readonly offset?: number;
  readonly size_bytes?: number;
  readonly error_code?: string;
}

/** Whether a success result answers exactly the expected step: no other progress, no code. */
export function isExpectedProgress(
  result: TransferProgress,
  expected: ExpectedTransferResult,
): boolean {
  const offset = expected.outcome === "received" ? expected.offset : 0;
  const size = expected.outcome === "completed" ? expected.size_bytes : 0;
  return result.outcome === expected.outcome &&
    result.error_code === undefined && (result.offset ?? 0) === offset &&
    (result.size_bytes ?? 0) === size;
}

/** Whether a result claims no progress at all. */
export function claimsNoProgress(result: TransferProgress): boolean {
  return (result.offset ?? 0) === 0 && (result.size_bytes ?? 0) === 0;
}
