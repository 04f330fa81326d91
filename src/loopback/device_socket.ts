/**
 * Owns one accepted WebSocket: text frames within the size limit, the silence limit, and how each
 * end looks on the wire. Evicting, refusing and giving up end it without a close frame, as a Core
 * does.
 */
import type { WebSocket } from "ws";
import type { Clock, Timer } from "../platform/clock.ts";
import { deferred } from "../platform/deferred.ts";
import { encodeEnvelope, type Envelope } from "../protocol/envelope.ts";
import { MAX_FRAME_BYTES } from "../protocol/limits.ts";
import { utf8Bytes } from "../protocol/text.ts";
import { CoreRuleBroken, type LossReason } from "./observation.ts";

/** Milliseconds without a data frame after which Core gives a connection up. */
export const SILENCE_LIMIT_MS = 60_000;
/** Close code for a device whose row was removed. */
const CLOSE_RETIRED = 4001;
/** Close code of an ordinary stop. */
const CLOSE_NORMAL = 1000;

/** What happens on a socket. */
export interface SocketEvents {
  text(text: string): void;
  /** The socket is gone; `reason` is what Core saw. */
  gone(end: { readonly reason: LossReason; readonly detail?: string }): void;
}

/** One accepted WebSocket. */
export class DeviceSocket {
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  readonly #closed = deferred<void>();
  #silence: Timer | undefined;
  #lastData: number;

  constructor(socket: WebSocket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    this.#lastData = clock.monotonic();
  }

  /** Resolves when the socket is closed; a close handshake takes as long as the peer does. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Starts delivering events. */
  listen(events: SocketEvents): void {
    const decoder = new TextDecoder("utf-8", { fatal: true });
    this.#socket.on("message", (data, isBinary) => {
      this.#lastData = this.#clock.monotonic();
      if (isBinary) {
        const detail = "a binary message";
        return events.gone({ reason: "violation", detail });
      }
      events.text(decoder.decode(data as Uint8Array));
    });
    this.#socket.on("error", () => {
      const detail = "the socket failed or a message was too large";
      events.gone({ reason: "connection_lost", detail });
    });
    this.#socket.on("close", (code: number) => {
      this.#closed.resolve();
      const detail = `close code ${code}`;
      events.gone({ reason: "connection_lost", detail });
    });
    this.#watch(events, SILENCE_LIMIT_MS);
  }

  /**
   * Puts a frame into the local queue; that proves nothing about the peer.
   *
   * @throws {CoreRuleBroken} for a frame over 4 MiB.
   */
  send(frame: Envelope): void {
    const text = encodeEnvelope(frame);
    if (utf8Bytes(text) > MAX_FRAME_BYTES) {
      throw new CoreRuleBroken("the frame is over 4 MiB");
    }
    this.#socket.send(text, () => {}); // a failed write is followed by the close event
  }

  /** Ends the socket the way this reason looks on the wire. */
  end(reason: LossReason): void {
    this.#silence?.cancel();
    if (reason === "retired") this.#socket.close(CLOSE_RETIRED, "retired");
    else if (reason === "core_shutdown") this.#socket.close(CLOSE_NORMAL);
    else this.#socket.terminate();
  }

  /** Ends the socket now. */
  destroy(): void {
    this.#silence?.cancel();
    this.#socket.terminate();
  }

  #watch(events: SocketEvents, milliseconds: number): void {
    this.#silence = this.#clock.after(milliseconds, () => {
      const quiet = this.#clock.monotonic() - this.#lastData;
      if (quiet >= SILENCE_LIMIT_MS) events.gone({ reason: "silence" });
      else this.#watch(events, SILENCE_LIMIT_MS - quiet);
    });
  }
}
