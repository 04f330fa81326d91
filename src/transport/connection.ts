// Owns one open socket from its opening to its end: one reader, one writer, two bounded queues and
// the watch on the peer. It knows envelopes, not what they mean.
import type { Clock, Timer } from "../platform/clock.ts";
import { deferred } from "../platform/deferred.ts";
import type { Log } from "../platform/log.ts";
import {
  decodeEnvelope,
  type Envelope,
  type InboundEnvelope,
} from "../protocol/envelope.ts";
import {
  type ConnectionEnd,
  describeEnd,
  endOfCloseCode,
} from "./connection_end.ts";
import { InboundQueue } from "./inbound_queue.ts";
import { CLOSE_DEADLINE, MAX_PING_INTERVAL } from "./limits.ts";
import { Liveness } from "./liveness.ts";
import { OutboundQueue } from "./outbound_queue.ts";
import { ConnectionEnded } from "./send_error.ts";
import type { WireSocket, WireSocketFault } from "./wire_socket.ts";

/** What the rest of the daemon sees of a connection. */
export interface FrameSender {
  /**
   * Sends one frame and resolves after the local write. Frames leave in the order of the calls.
   *
   * @throws {FrameTooLarge} over 4 MiB; the connection goes on.
   * @throws {ConnectionEnded} at once after the end; earlier, when the end came first.
   * @throws the reason of `signal`: the frame may still go out.
   */
  send(envelope: Envelope, signal?: AbortSignal): Promise<void>;
  /** Aborts when the connection ends; its reason is a {@linkcode ConnectionEnded}. */
  readonly signal: AbortSignal;
}

/** A connection as its router gets it. */
export interface SessionConnection extends FrameSender {
  /** Frames that were not written yet, and callers that wait for a place among them. */
  readonly pendingFrames: number;
}

/** Instants of `clock.monotonic()` at which something was proven; absent before it was. */
export interface ConnectionProof {
  readonly opened: number;
  readonly lastInbound?: number;
  readonly lastPong?: number;
  /** Messages that were not envelopes and were dropped. */
  readonly droppedMessages: number;
}

/** What a connection is opened with. */
export interface ConnectionOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds between heartbeats; pings go out as often, and at least every 15 s. */
  readonly heartbeatInterval: number;
}

/** One connection. Created over an open socket, which it owns from then on. */
export class Connection implements SessionConnection {
  readonly #socket: WireSocket;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #inbound: InboundQueue;
  readonly #outbound: OutboundQueue;
  readonly #liveness: Liveness;
  readonly #abort = new AbortController();
  readonly #ended = deferred<ConnectionEnd>();
  readonly #gone = deferred();
  readonly #opened: number;
  #lastInbound: number | undefined;
  #lastPong: number | undefined;
  #dropped = 0;
  #fault: WireSocketFault | undefined;
  #writeFailed = false;
  #end: ConnectionEnd | undefined;
  #timer: Timer | undefined;

  constructor(socket: WireSocket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#opened = options.clock.monotonic();
    this.#outbound = new OutboundQueue(
      socket,
      options.clock,
      (cause) => this.#onWriteFailure(cause),
    );
    this.#inbound = new InboundQueue({
      pause: () => {
        socket.pause();
        this.#liveness.paused();
      },
      resume: () => {
        if (this.#end) return;
        socket.resume();
        this.#liveness.resumed();
      },
    });
    socket.listen({
      message: (text, bytes) => this.#onMessage(text, bytes),
      control: (kind) => this.#onControl(kind),
      fault: (fault) => this.#onFault(fault),
      closed: (code) => this.#onClosed(code),
    });
    this.#liveness = new Liveness({
      clock: options.clock,
      interval: Math.min(options.heartbeatInterval, MAX_PING_INTERVAL),
      bytesRead: () => socket.bytesRead,
      ping: () => this.#ping(),
      onDead: (cause) => this.#lose(cause),
    });
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get pendingFrames(): number {
    return this.#outbound.pending;
  }

  /** Resolves with the first end. Never rejects. */
  get ended(): Promise<ConnectionEnd> {
    return this.#ended.promise;
  }

  /** What is proven about this connection so far. */
  get proof(): ConnectionProof {
    return {
      opened: this.#opened,
      ...(this.#lastInbound === undefined
        ? {}
        : { lastInbound: this.#lastInbound }),
      ...(this.#lastPong === undefined ? {} : { lastPong: this.#lastPong }),
      droppedMessages: this.#dropped,
    };
  }

  send(envelope: Envelope, signal?: AbortSignal): Promise<void> {
    return this.#outbound.send(envelope, signal);
  }

  /** The next received frame, or `undefined` when none will follow. One caller at a time. */
  receive(): Promise<InboundEnvelope | undefined> {
    return this.#inbound.next();
  }

  /**
   * Closes with code 1000. What waits to be sent is rejected; what the socket holds goes out
   * first. Resolves when the socket is gone, after 1 s at the latest. Further calls wait along.
   */
  close(): Promise<void> {
    if (!this.#gone.settled && !this.#end) {
      this.#finish({ kind: "closed_here" });
      this.#timer?.cancel();
      this.#socket.close(1000, "client closing");
      this.#timer = this.#clock.after(CLOSE_DEADLINE, () => this.#destroy());
    }
    return this.#gone.promise;
  }

  #ping(): void {
    try {
      this.#socket.ping();
    } catch (error) {
      this.#log.warn("ping_failed", {
        error: error instanceof Error ? error : "not an error",
      });
      queueMicrotask(() => this.#lose("write_failed"));
    }
  }

  #onMessage(text: string | undefined, bytes: number): void {
    this.#lastInbound = this.#clock.monotonic();
    this.#liveness.heard();
    if (this.#end) return;
    const decoded = text === undefined ? undefined : decodeEnvelope(text);
    if (decoded?.ok) return this.#inbound.push(decoded.value);
    this.#dropped++;
    this.#log.warn("frame_dropped", {
      reason: decoded?.reason ?? "the message is not text",
      bytes,
      dropped: this.#dropped,
    });
  }

  #onControl(kind: "ping" | "pong"): void {
    if (kind === "pong") this.#lastPong = this.#clock.monotonic();
    this.#liveness.heard();
  }

  #onFault(fault: WireSocketFault): void {
    this.#fault = fault;
    if (fault === "message_too_large") this.#lose("frame_too_large");
    if (fault === "protocol") this.#lose("protocol");
  }

  #onClosed(code: number): void {
    this.#timer?.cancel();
    const end = endOfCloseCode(code);
    const unexplained = end.kind === "lost" && end.cause === "no_close_frame";
    this.#finish(
      unexplained && this.#writeFailed
        ? { kind: "lost", cause: "write_failed" }
        : end,
    );
    this.#gone.resolve();
  }

  /**
   * A failed write often means that a close frame is on its way here. It gets a moment to be read,
   * because its code decides whether we may come back; nothing is sent meanwhile.
   */
  #onWriteFailure(cause: "write_failed" | "write_timeout"): void {
    if (cause === "write_timeout") return this.#lose(cause);
    if (this.#end || this.#writeFailed) return;
    this.#writeFailed = true;
    const end = { kind: "lost", cause } as const;
    this.#outbound.fail(new ConnectionEnded(end));
    this.#timer = this.#clock.after(CLOSE_DEADLINE, () => this.#lose(cause));
  }

  #lose(
    cause: (ConnectionEnd & { readonly kind: "lost" })["cause"],
  ): void {
    if (this.#end) return;
    this.#finish({ kind: "lost", cause });
    this.#destroy();
  }

  #destroy(): void {
    this.#timer?.cancel();
    this.#socket.destroy();
    // The socket may be too broken to report its own end; it is out of our hands either way.
    this.#gone.resolve();
  }

  #finish(end: ConnectionEnd): void {
    if (this.#end) return;
    this.#end = end;
    this.#liveness.stop();
    const reason = new ConnectionEnded(end);
    this.#outbound.fail(reason);
    this.#abort.abort(reason);
    if (end.kind === "closed_here") this.#inbound.discard();
    else this.#inbound.end();
    this.#log.info("connection_ended", {
      end: end.kind,
      detail: describeEnd(end),
      ...(this.#fault === undefined ? {} : { fault: this.#fault }),
    });
    this.#ended.resolve(end);
  }
}
