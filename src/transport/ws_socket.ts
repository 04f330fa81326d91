// Owns one WebSocket of the `ws` package behind the WireSocket shape.
import type { Socket } from "node:net";
import type WebSocket from "ws";
import type {
  WireSocket,
  WireSocketEvents,
  WireSocketFault,
} from "./wire_socket.ts";

/** What the package reports for an end without a close frame. */
const NO_CLOSE_FRAME = 1006;

/**
 * Wraps a socket at the moment it opens. Reading stops until `listen`, so that no message is lost
 * between the open event and the owner's first turn.
 */
export function wrapSocket(
  socket: WebSocket,
  transport: Socket | undefined,
): WireSocket {
  socket.pause();
  return {
    get bytesRead() {
      return transport?.bytesRead ?? 0;
    },
    listen(events) {
      attach(socket, events);
      // An end between the opening and this call had no listener; it is told now.
      if (socket.readyState === socket.CLOSED) {
        queueMicrotask(() => events.closed(NO_CLOSE_FRAME));
      }
      socket.resume();
    },
    write: (text, written) => socket.send(text, written),
    ping() {
      // A socket that is closing reports itself through its close event.
      socket.ping(undefined, undefined, () => {});
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close: (code, reason) => socket.close(code, reason),
    destroy: () => socket.terminate(),
  };
}

function attach(socket: WebSocket, events: WireSocketEvents): void {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  socket.on("message", (data, isBinary) => {
    const bytes = data as Uint8Array;
    events.message(
      isBinary ? undefined : decode(decoder, bytes),
      bytes.byteLength,
    );
  });
  socket.on("ping", () => events.control("ping"));
  socket.on("pong", () => events.control("pong"));
  socket.on("error", (error) => events.fault(faultOf(error)));
  socket.on("close", (code) => events.closed(code));
}

function decode(decoder: TextDecoder, bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined; // reported as a dropped message by the connection
  }
}

function faultOf(error: Error): WireSocketFault {
  const { code } = error as Error & { readonly code?: unknown };
  if (typeof code !== "string") return "network";
  if (code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH") return "message_too_large";
  return code.startsWith("WS_ERR") ? "protocol" : "network";
}
