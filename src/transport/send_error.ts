// Owns the errors of `send`. None of them carries a payload.
import { type ConnectionEnd, describeEnd } from "./connection_end.ts";

/** A frame over the limit of the wire. It was not sent; the connection goes on. */
export class FrameTooLarge extends Error {
  override readonly name = "FrameTooLarge";
  /** Names the frame type and its encoded size in bytes. */
  constructor(readonly type: string, readonly bytes: number) {
    super(`A ${type} frame of ${bytes} bytes is over the limit`);
  }
}

/** The connection ended before the frame was known to be written. Whether it arrived is unknown. */
export class ConnectionEnded extends Error {
  override readonly name = "ConnectionEnded";
  /** `end` is why, as far as it is known yet. */
  constructor(readonly end: ConnectionEnd) {
    super(`The connection ended: ${describeEnd(end)}`);
  }
}
