/**
 * The stdin of a native process: the one writer, one queue, and the one place where a broken pipe
 * is met. Owns the pipe until it is closed.
 */
import { WriteNotStarted } from "./child.ts";

/** What one system write takes: an abort is obeyed between two of them. */
const PIECE_BYTES = 64 * 1024;
/** Lines that may wait for their turn; a process that far behind does not read. */
const WAITING_LINES = 256;

// Line ends to readers that follow ECMAScript, legal inside JSON strings.
const SEPARATORS = /[\u2028\u2029]/g;

/** A part of a line may have reached the pipe, the rest never will. */
export class WriteInterrupted extends Error {
  override readonly name = "WriteInterrupted";
}

/** Writes JSON values as lines, in the order of the calls. */
export class ChildInput {
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  #tail: Promise<void> = Promise.resolve();
  #waiting = 0;
  /** Why no further line is taken. */
  #ended: string | undefined;
  #writing = false;

  constructor(stream: WritableStream<Uint8Array>) {
    this.#writer = stream.getWriter();
    // The outcome of each write is what counts; these two repeat it to nobody.
    this.#writer.closed.catch(() => {});
    this.#writer.ready.catch(() => {});
  }

  /**
   * Writes `value` as one line and resolves when the pipe took it whole. A process that does not
   * read blocks it without bound: `signal` is the bound. An abort in mid-line closes the input.
   *
   * @throws {WriteNotStarted} when nothing of the line reached the pipe.
   * @throws {WriteInterrupted} when a part may have.
   */
  write(value: unknown, signal?: AbortSignal): Promise<void> {
    const text = JSON.stringify(value).replace(
      SEPARATORS,
      (separator) => separator === "\u2028" ? "\\u2028" : "\\u2029",
    );
    if (this.#ended !== undefined) return refuse(this.#ended);
    if (signal?.aborted) return refuse("The write was cancelled");
    if (this.#waiting >= WAITING_LINES) return refuse("Too many lines wait");
    return this.#queue(new TextEncoder().encode(`${text}\n`), signal);
  }

  /**
   * Closes the pipe, after the line that is being written; where the process does not read it,
   * that is when the process ends. Lines that wait are refused. Idempotent; waits for nothing.
   */
  end(): void {
    if (this.#ended !== undefined) return;
    this.#ended = "The input is closed";
    if (!this.#writing) this.#closePipe();
  }

  async #queue(line: Uint8Array, signal?: AbortSignal): Promise<void> {
    const before = this.#tail;
    const turn = Promise.withResolvers<void>();
    this.#tail = turn.promise;
    this.#waiting += 1;
    try {
      await untilAborted(before, signal);
    } catch {
      // Its place in the queue stays: the lines behind it follow the one before it.
      before.then(turn.resolve);
      this.#waiting -= 1;
      throw new WriteNotStarted("The write was cancelled");
    }
    this.#waiting -= 1;
    try {
      if (this.#ended !== undefined) throw new WriteNotStarted(this.#ended);
      await this.#writeLine(line, signal);
    } finally {
      turn.resolve();
    }
  }

  async #writeLine(line: Uint8Array, signal?: AbortSignal): Promise<void> {
    this.#writing = true;
    try {
      for (let start = 0; start < line.length; start += PIECE_BYTES) {
        signal?.throwIfAborted();
        const piece = line.subarray(start, start + PIECE_BYTES);
        await untilAborted(this.#writer.write(piece), signal);
      }
    } catch (cause) {
      this.#ended ??= "The input broke off";
      // Takes effect after a piece that is still on its way: that one cannot be retracted.
      this.#writer.abort().catch(() => {});
      throw new WriteInterrupted("The line may have been written in part", {
        cause,
      });
    } finally {
      this.#writing = false;
    }
    if (this.#ended !== undefined) this.#closePipe();
  }

  #closePipe(): void {
    this.#writer.close().catch(() => {}); // a pipe that broke already is closed
  }
}

function refuse(reason: string): Promise<never> {
  return Promise.reject(new WriteNotStarted(reason));
}

/** Waits for `work`, or rejects at the abort; `work` goes on and its failure counts as handled. */
function untilAborted(
  work: Promise<void>,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() =>
      signal.removeEventListener("abort", onAbort)
    );
  });
}
