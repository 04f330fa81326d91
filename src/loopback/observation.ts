/**
 * Owns the words for what Core does not know: why an observation ended without a proven outcome,
 * and what in a frame contradicted the protocol. Loss is never an engine failure.
 */

/** Why a connection, and with it every observation on it, ended. */
export type LossReason =
  /** The socket ended, with or without a close frame. */
  | "connection_lost"
  /** A newer connection of the same device took over. */
  | "evicted"
  /** No data frame for the silence limit. */
  | "silence"
  /** A heartbeat that is no complete declaration. */
  | "invalid_heartbeat"
  /** A frame that is malformed or contradicts what was proven before. */
  | "violation"
  /** The device row was removed. */
  | "retired"
  /** This Core stopped. */
  | "core_shutdown";

/** How a session ended. `detail` is fixed text. */
export interface SessionEnd {
  readonly reason: LossReason;
  readonly detail?: string;
}

/**
 * The observation ended; the native effect is unknown. It is no failure of the engine and
 * authorises no second execution.
 */
export class ObservationLost extends Error {
  override readonly name = "ObservationLost";
  constructor(readonly reason: LossReason, detail?: string) {
    super(detail ? `${reason}: ${detail}` : reason);
  }
}

/** A frame that a correct Runtime never sends. The message is fixed text with the frame's type. */
export class ProtocolViolation extends Error {
  override readonly name = "ProtocolViolation";
  constructor(readonly frameType: string, readonly rule: string) {
    super(`${frameType}: ${rule}`);
  }
}

/** The driver asked for something Core may not send; nothing was sent. */
export class CoreRuleBroken extends Error {
  override readonly name = "CoreRuleBroken";
}
