// Owns the shape of an open WebSocket as the connection uses it. `ws_socket.ts` is the real one.

/** What a socket reports. None of these is called before {@linkcode WireSocket.listen}. */
export interface WireSocketEvents {
  /** One complete message; `undefined` for a binary one or one that is not valid UTF-8. */
  message(text: string | undefined, bytes: number): void;
  /** A ping or a pong of the peer. */
  control(kind: "ping" | "pong"): void;
  /** A fault of the socket; `closed` follows. */
  fault(fault: WireSocketFault): void;
  /** The socket is gone. 1006 means without a close frame, 1005 a close frame without a code. */
  closed(code: number): void;
}

/** Faults of an open socket. */
export type WireSocketFault = "message_too_large" | "protocol" | "network";

/** An open socket. It holds no queue of its own: what is written is the system's. */
export interface WireSocket {
  /** Bytes received so far, so that a long message that is still arriving counts as life. */
  readonly bytesRead: number;
  /** Starts delivery. Called once, by the one owner. */
  listen(events: WireSocketEvents): void;
  /** Writes one text message. `written` runs once, after the system took it or with an error. */
  write(text: string, written: (error?: unknown) => void): void;
  /** Sends a ping; failure shows as the end of the socket. */
  ping(): void;
  /** Stops reading, so that the peer feels it. */
  pause(): void;
  /** Reads again. */
  resume(): void;
  /** Sends a close frame and waits for the peer's. */
  close(code: number, reason: string): void;
  /** Ends the socket now, without a close frame. */
  destroy(): void;
}
