// Owns received frames between the socket and the dispatcher. When they pile up the socket is not
// read, so that the peer feels it.
import type { InboundEnvelope } from "../protocol/envelope.ts";
import { INBOUND_QUEUE_FRAMES } from "./limits.ts";

/** The valve of the socket. */
export interface Reading {
  pause(): void;
  resume(): void;
}

/**
 * A first-in first-out queue with one consumer. At 64 frames reading stops; what the system had
 * already handed over in one piece (at most 64 KiB) may still come in.
 */
export class InboundQueue {
  readonly #reading: Reading;
  #frames: InboundEnvelope[] = [];
  #next = 0;
  #paused = false;
  #ended = false;
  #consumer: ((frame: InboundEnvelope | undefined) => void) | undefined;

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  /** Frames that wait. */
  get length(): number {
    return this.#frames.length - this.#next;
  }

  /** Takes a frame in. After the end it is dropped. */
  push(frame: InboundEnvelope): void {
    if (this.#ended) return;
    const consumer = this.#consumer;
    if (consumer) {
      this.#consumer = undefined;
      return consumer(frame);
    }
    this.#frames.push(frame);
    if (this.length >= INBOUND_QUEUE_FRAMES && !this.#paused) {
      this.#paused = true;
      this.#reading.pause();
    }
  }

  /** The next frame, or `undefined` after the last one of an ended queue. One caller at a time. */
  next(): Promise<InboundEnvelope | undefined> {
    const frame = this.#frames[this.#next];
    if (frame) {
      this.#take();
      return Promise.resolve(frame);
    }
    if (this.#ended) return Promise.resolve(undefined);
    return new Promise((resolve) => this.#consumer = resolve);
  }

  /** No frame will follow. Waiting ones can still be taken. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#consumer?.(undefined);
    this.#consumer = undefined;
  }

  /** Drops what waits and ends. */
  discard(): void {
    this.#frames = [];
    this.#next = 0;
    this.end();
  }

  #take(): void {
    this.#next++;
    if (this.#next === this.#frames.length) {
      this.#frames = [];
      this.#next = 0;
    }
    if (this.#paused && this.length < INBOUND_QUEUE_FRAMES / 2) {
      this.#paused = false;
      this.#reading.resume();
    }
  }
}
