// Owns the `rejected` status: it answers one operation and says nothing about the state of a handle.
import type { Envelope } from "../protocol/envelope.ts";
import type {
  PreparationOperation,
  PrepareErrorCode,
  ReleaseErrorCode,
  StartErrorCode,
} from "../protocol/execution.ts";
import { runtimeFrame } from "../protocol/frames.ts";

/** What was refused and why. */
export interface Rejection {
  readonly operation: PreparationOperation;
  readonly code: PrepareErrorCode | StartErrorCode | ReleaseErrorCode;
  /** Only after the reservation was consumed. */
  readonly handle?: string;
  readonly executorId?: string;
}

/** The frame that refuses an operation, with the request's id and trace. */
export function rejection(
  requestId: string | undefined,
  trace: string,
  { operation, code, handle, executorId }: Rejection,
): Envelope {
  return runtimeFrame("preparation_status", requestId, {
    ...(executorId === undefined ? {} : { executor_id: executorId }),
    ...(handle === undefined ? {} : { handle }),
    revision: 0,
    state: "rejected",
    error_code: code,
    operation,
  }, trace);
}
