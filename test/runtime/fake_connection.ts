// A connection that a test can hold, break and end. It keeps the order of the calls, as a real one.
import type { FrameSender } from "../../src/runtime/frame_sender.ts";
import { type Deferred, deferred } from "../../src/platform/deferred.ts";
import { encodeEnvelope, type Envelope } from "../../src/protocol/envelope.ts";

/** One written frame, as its peer reads it. */
export interface SentFrame {
  readonly type: string;
  readonly id?: string;
  readonly trace?: string;
  // deno-lint-ignore no-explicit-any -- assertions look into every family's payload
  readonly payload?: any;
}

interface Waiting {
  readonly envelope: Envelope;
  readonly done: Deferred<void>;
}

type Match = (envelope: Envelope) => boolean;

/** Matches frames of a type, and of a preparation state where one is given. */
export function frameOf(type: string, state?: string): Match {
  return (envelope) =>
    envelope.type === type &&
    (state === undefined ||
      (envelope.payload as { state?: string }).state === state);
}

export class FakeConnection implements FrameSender {
  readonly frames: SentFrame[] = [];
  readonly #queue: Waiting[] = [];
  #hold: Match | undefined;
  #fail: Match | undefined;
  #ended = false;
  /** Frames over the limit of the wire: refused at once, and the connection goes on. */
  refuses: Match = () => false;
  /** Called for each written frame. */
  onWritten: (frame: SentFrame) => void = () => {};

  send(envelope: Envelope, signal?: AbortSignal): Promise<void> {
    if (this.#ended) return Promise.reject(new Error("connection ended"));
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.refuses(envelope)) {
      const error = new Error("frame too large");
      error.name = "FrameTooLarge";
      return Promise.reject(error);
    }
    const waiting: Waiting = { envelope, done: deferred() };
    this.#queue.push(waiting);
    // Harsher than a queue that forgets: an aborted frame stays in line and is written later.
    signal?.addEventListener("abort", () => waiting.done.reject(signal.reason));
    this.#pump();
    return waiting.done.promise;
  }

  /** Lets no matching frame pass, nor anything behind it, until `release`. */
  hold(match: Match): void {
    this.#hold = match;
  }

  release(): void {
    this.#hold = undefined;
    this.#pump();
  }

  /** Makes every matching frame fail without being written. */
  fail(match: Match): void {
    this.#fail = match;
  }

  heal(): void {
    this.#fail = undefined;
  }

  /** The socket is gone: everything waiting and everything later fails. */
  end(): void {
    this.#ended = true;
    for (const { done } of this.#queue.splice(0)) {
      done.reject(new Error("connection ended"));
    }
  }

  get waiting(): number {
    return this.#queue.length;
  }

  #pump(): void {
    for (;;) {
      const [head] = this.#queue;
      if (head === undefined || this.#hold?.(head.envelope)) return;
      this.#queue.shift();
      if (this.#fail?.(head.envelope)) {
        head.done.reject(new Error("write failed"));
        continue;
      }
      const frame: SentFrame = JSON.parse(encodeEnvelope(head.envelope));
      this.frames.push(frame);
      head.done.resolve();
      this.onWritten(frame);
    }
  }
}
