/**
 * The stdout of a native process: its messages for one reader, and its draining when nobody reads.
 * Owns the pipe until the end of the stream.
 */
import type { Clock, Timer } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { BrokenStream, type LineReader } from "./json_lines.ts";

/** After the exit of the process: silence of whoever else holds the pipe, in milliseconds. */
const SILENCE_AFTER_EXIT = 1_000;
/** Between the parts of a message that a raw line feed broke: they were written at once. */
const BROKEN_MESSAGE_WAIT = 5_000;

/** Reads the pipe on demand, so that a slow reader slows the process and nothing piles up. */
export class ChildOutput {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #lines: LineReader;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #ended = Promise.withResolvers<void>();
  #use: "none" | "messages" | "drain" = "none";
  #reading = false;
  #exited = false;
  #timer: Timer | undefined;
  #brokenOff = false;

  constructor(
    stream: ReadableStream<Uint8Array>,
    lines: LineReader,
    clock: Clock,
    log: Log,
  ) {
    this.#reader = stream.getReader();
    this.#lines = lines;
    this.#clock = clock;
    this.#log = log;
  }

  /** Resolves when nothing more is read: end of stream, silence after exit, or a cancellation. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** The process was reaped: what it wrote is still read, but others that hold the pipe may stop. */
  processExited(): void {
    this.#exited = true;
    if (this.#reading) this.#startTimer();
  }

  /** Throws the rest of the stream away, unless a reader takes it. */
  drain(): void {
    if (this.#use !== "none") return;
    this.#use = "drain";
    this.#discard();
  }

  /** Stops reading at once. */
  cancel(): void {
    this.#reader.cancel().catch(() => {}); // a stream that failed has nothing to cancel
    this.#ended.resolve();
  }

  /** The messages, once. A reader that leaves early makes the rest be thrown away. */
  async *messages(): AsyncGenerator<unknown> {
    if (this.#use !== "none") return; // a close has thrown them away
    this.#use = "messages";
    let finished = false;
    try {
      for (;;) {
        const chunk = await this.#read();
        if (!chunk) break;
        yield* this.#lines.push(chunk);
      }
      finished = true;
      const last = this.#lines.end();
      if (last !== undefined) yield last;
    } finally {
      if (this.#lines.skippedLines > 0) {
        const lines = this.#lines.skippedLines;
        this.#log.debug("child.stdout.skipped", { lines });
      }
      if (!finished) this.#discard();
    }
  }

  async #discard(): Promise<void> {
    this.#use = "drain";
    try {
      while (await this.#read());
    } catch {
      this.#ended.resolve(); // a broken pipe has nothing more to drain
    }
  }

  async #read(): Promise<Uint8Array | undefined> {
    this.#reading = true;
    this.#startTimer();
    try {
      const { value } = await this.#reader.read();
      if (this.#brokenOff) {
        this.#brokenOff = false;
        throw new BrokenStream("A message broke off");
      }
      if (!value) this.#ended.resolve();
      return value;
    } finally {
      this.#reading = false;
      this.#timer?.cancel();
      this.#timer = undefined;
    }
  }

  #startTimer(): void {
    this.#timer?.cancel();
    if (this.#exited) {
      this.#timer = this.#clock.after(SILENCE_AFTER_EXIT, () => {
        this.#log.warn("child.stdout.held");
        this.cancel();
      });
    } else if (this.#use === "messages" && this.#lines.insideBrokenMessage) {
      this.#timer = this.#clock.after(BROKEN_MESSAGE_WAIT, () => {
        this.#brokenOff = true;
        this.cancel();
      });
    }
  }
}
