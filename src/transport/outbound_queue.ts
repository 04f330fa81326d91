// Owns the way of frames to the socket: strict order, a bounded queue, one deadline for its head.
import { Buffer } from "node:buffer";
import type { Clock, Timer } from "../platform/clock.ts";
import { encodeEnvelope, type Envelope } from "../protocol/envelope.ts";
import { MAX_FRAME_BYTES } from "../protocol/limits.ts";
import {
  OUTBOUND_QUEUE_FRAMES,
  SOCKET_WINDOW_BYTES,
  WRITE_DEADLINE,
} from "./limits.ts";
import { FrameTooLarge } from "./send_error.ts";
import type { WireSocket } from "./wire_socket.ts";

/** Longest encoding of one UTF-16 unit in UTF-8; shorter texts need no counting. */
const MAX_BYTES_PER_UNIT = 3;

interface Entry {
  readonly envelope: Envelope;
  text: string;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
  readonly forget: (() => void) | undefined;
}

/** A first-in first-out queue in front of one socket. */
export class OutboundQueue {
  readonly #socket: WireSocket;
  readonly #clock: Clock;
  readonly #onFailure: (cause: "write_failed" | "write_timeout") => void;
  /** Encoded frames; the first `#handed` of them are with the socket. */
  readonly #queue: Entry[] = [];
  /** Callers without a slot; their frames are not encoded yet. */
  readonly #waiting: Entry[] = [];
  #handed = 0;
  #handedLength = 0;
  #headSince = 0;
  #timer: Timer | undefined;
  #failure: Error | undefined;

  /** `onFailure` runs at most once; the owner then calls {@linkcode fail}. */
  constructor(
    socket: WireSocket,
    clock: Clock,
    onFailure: (cause: "write_failed" | "write_timeout") => void,
  ) {
    this.#socket = socket;
    this.#clock = clock;
    this.#onFailure = onFailure;
  }

  /**
   * Resolves once the system took the whole frame: a local write, nothing more.
   *
   * @throws {FrameTooLarge} for a frame over 4 MiB; the queue goes on.
   * @throws {TypeError} when the payload cannot be encoded; the queue goes on.
   * @throws the reason of `signal`. The frame may still be written: the outcome is unknown.
   * @throws the reason given to {@linkcode fail}.
   */
  send(envelope: Envelope, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure) return reject(this.#failure);
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = signal && (() => {
        entry.forget?.();
        this.#withdraw(entry);
        reject(signal.reason);
      });
      const entry: Entry = {
        envelope,
        text: "",
        resolve,
        reject,
        forget: onAbort && (() => signal.removeEventListener("abort", onAbort)),
      };
      if (onAbort) signal.addEventListener("abort", onAbort, { once: true });
      if (this.#queue.length < OUTBOUND_QUEUE_FRAMES) this.#admit(entry);
      else this.#waiting.push(entry);
    });
  }

  /** Frames accepted and not written, and callers waiting for a slot. */
  get pending(): number {
    return this.#queue.length + this.#waiting.length;
  }

  /** Rejects everything pending and later with `reason`. */
  fail(reason: Error): void {
    if (this.#failure) return;
    this.#failure = reason;
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const entry of [...this.#queue, ...this.#waiting]) {
      entry.forget?.();
      entry.reject(reason);
    }
    this.#queue.length = 0;
    this.#waiting.length = 0;
  }

  #admit(entry: Entry): void {
    try {
      entry.text = encode(entry.envelope);
    } catch (error) {
      entry.forget?.();
      return entry.reject(error);
    }
    this.#queue.push(entry);
    this.#hand();
  }

  /** Gives frames to the socket while its window has room; always at least one. */
  #hand(): void {
    while (!this.#failure && this.#handedLength < SOCKET_WINDOW_BYTES) {
      const entry = this.#queue[this.#handed];
      if (!entry) return;
      if (this.#handed === 0) this.#headSince = this.#clock.monotonic();
      this.#handed++;
      this.#handedLength += entry.text.length;
      this.#watch(WRITE_DEADLINE);
      this.#socket.write(entry.text, (error) => this.#written(error));
    }
  }

  /** The socket writes in order, so each report is about the head. */
  #written(error: unknown): void {
    if (this.#failure) return;
    if (error) return this.#onFailure("write_failed");
    const entry = this.#queue.shift();
    if (!entry) return;
    this.#handed--;
    this.#handedLength -= entry.text.length;
    this.#headSince = this.#clock.monotonic();
    entry.forget?.();
    entry.resolve();
    const next = this.#waiting.shift();
    if (next) this.#admit(next);
    else this.#hand();
  }

  /** One timer for all frames: it looks at the age of the head, and lapses when idle. */
  #watch(milliseconds: number): void {
    this.#timer ??= this.#clock.after(milliseconds, () => {
      this.#timer = undefined;
      if (this.#handed === 0 || this.#failure) return;
      const left = this.#headSince + WRITE_DEADLINE - this.#clock.monotonic();
      if (left <= 0) this.#onFailure("write_timeout");
      else this.#watch(left);
    });
  }

  /** Takes an aborted frame out, unless the socket has it already. */
  #withdraw(entry: Entry): void {
    const waiting = this.#waiting.indexOf(entry);
    if (waiting >= 0) {
      this.#waiting.splice(waiting, 1);
      return;
    }
    const queued = this.#queue.indexOf(entry, this.#handed);
    if (queued < 0) return;
    this.#queue.splice(queued, 1);
    const next = this.#waiting.shift();
    if (next) this.#admit(next);
  }
}

/** Encodes with one stringify. Counts bytes only where the limit is in reach. */
function encode(envelope: Envelope): string {
  const text = encodeEnvelope(envelope);
  if (text.length * MAX_BYTES_PER_UNIT > MAX_FRAME_BYTES) {
    const bytes = Buffer.byteLength(text);
    if (bytes > MAX_FRAME_BYTES) throw new FrameTooLarge(envelope.type, bytes);
  }
  return text;
}
