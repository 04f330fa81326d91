// Owns every duration and count of the dispatcher, each with its reason. Sizes and counts of single
// frames are in `src/protocol/limits.ts`.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Life of an admission handle. Granted once; retries and republications never move it. */
export const ADMISSION_LIFETIME_MS = 5 * MINUTE;
/** Admission records of one connection, so that old handles cannot fill the memory. */
export const MAX_ADMISSION_RECORDS = 64;
/** Admissions that own a preparation, executable and read-only together. */
export const MAX_OWNING_ADMISSIONS = 4;
/** Executors that prepare, are admitted, run, close or are uncertain. */
export const MAX_ACTIVE_EXECUTORS = 4;
/** Executors kept between Turns; one more is closed at the moment it becomes idle. */
export const MAX_IDLE_EXECUTORS = 16;
/** All Executors: the active and the idle ones. */
export const MAX_EXECUTORS = MAX_ACTIVE_EXECUTORS + MAX_IDLE_EXECUTORS;
/** How long an idle Executor is kept when the operator sets nothing else. */
export const EXECUTOR_IDLE_MS = 60 * MINUTE;

/** One attempt to close an Executor. */
export const CLOSE_BUDGET_MS = 10 * SECOND;
/** Native cancel and native settlement of a Turn together. */
export const SETTLEMENT_BUDGET_MS = 10 * SECOND;
/** First pause before a failed close or release is tried again; doubled up to the maximum. */
export const RETRY_FIRST_MS = 1 * SECOND;
/** Longest pause between two background attempts. */
export const RETRY_MAXIMUM_MS = 60 * SECOND;
/**
 * How often a native cancel may be refused before the Executor is closed instead. One refusal leaves
 * a healthy Executor its chance; a dead one must not hold its Run for ever.
 */
export const MAX_REFUSED_CANCELS = 2;

/** One `preparation_status`, receipt or refusal from the call to the local write. */
export const REPLY_BUDGET_MS = 5 * SECOND;
/** Refusals and receipts waiting to be written; a peer that floods and does not read gets no more. */
export const MAX_WAITING_REPLIES = 256;
/** How long a cancellation receipt waits for the settlement; with its send, the 15 s Core waits. */
export const CANCEL_RECEIPT_MS = 10 * SECOND;
/** Cancellation receipts that may wait for one Run. */
export const MAX_WAITING_CANCELS = 64;

/** Events between an adapter and the connection. A slow peer blocks the adapter, not the memory. */
export const OUTPUT_QUEUE = 64;
/** Bytes of an error text that goes to Core. */
export const MAX_ERROR_TEXT_BYTES = 1_024;

/** From the start of a native input to its `written`. */
export const INPUT_WRITE_BUDGET_MS = 10 * SECOND;
/** Input ids of one Run; none is forgotten while the Run lives. */
export const MAX_INPUTS_PER_RUN = 256;
/** Decisions and function results of one Run that wait behind a native submission. */
export const MAX_WAITING_SUBMISSIONS = 64;
/** How long admitted operations may outlive the native settlement before they count as unknown. */
export const OPERATION_GRACE_MS = 10 * SECOND;

/** Remembered decisions of one connection. */
export const MAX_REMEMBERED_DECISIONS = 1_024;
/** Age at which remembered decisions go first when the memory is full. */
export const REMEMBERED_DECISION_MS = 60 * MINUTE;

/** Reads that may be pending on one connection, from the wire. */
export const MAX_READS = 4;
/** A workspace read from admission to its answer; Core waits 17 s. */
export const READ_BUDGET_MS = 12 * SECOND;
/** What was begun before a suspension must be sent within this, or the suspension is broken off. */
export const SUSPENSION_DRAIN_MS = 5 * SECOND;
/** A whole export, from the wire. */
export const EXPORT_BUDGET_MS = 180 * SECOND;
