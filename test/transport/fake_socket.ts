// A WireSocket in memory, slower and ruder than a real one: a test decides when a write is done, when
// a pong comes, and how it ends. Latency runs on the virtual clock.
import type { Clock } from "../../src/platform/clock.ts";
import type {
  WireSocket,
  WireSocketEvents,
} from "../../src/transport/wire_socket.ts";

/** How the fake behaves. */
export interface FakeSocketOptions {
  /** `hold` leaves writes unfinished until {@linkcode FakeSocket.finishWrites}. */
  readonly writes?: "finish" | "hold";
  /** Milliseconds until a ping is answered; absent means never. */
  readonly pongAfter?: () => number;
  readonly clock?: Clock;
  /** Whether a close from this side is answered; absent means at once. */
  readonly answersClose?: boolean;
}

/** See the file comment. */
export class FakeSocket implements WireSocket {
  bytesRead = 0;
  readonly written: string[] = [];
  pings = 0;
  paused = false;
  destroyed = false;
  closedWith: number | undefined;
  #events: WireSocketEvents | undefined;
  #over = false;
  #endedWith: number | undefined;
  readonly #held: ((error?: unknown) => void)[] = [];
  #options: FakeSocketOptions;

  constructor(options: FakeSocketOptions = {}) {
    this.#options = options;
  }

  listen(events: WireSocketEvents): void {
    this.#events = events;
    const code = this.#endedWith;
    if (code !== undefined) queueMicrotask(() => events.closed(code));
  }

  write(text: string, written: (error?: unknown) => void): void {
    if (this.#over) return queueMicrotask(() => written(new Error("over")));
    this.written.push(text);
    if (this.#options.writes === "hold") this.#held.push(written);
    else queueMicrotask(() => written());
  }

  ping(): void {
    this.pings++;
    const { clock, pongAfter } = this.#options;
    if (!pongAfter || !clock) return;
    clock.after(pongAfter(), () => this.control("pong"));
  }

  pause(): void {
    this.paused = true;
  }
  resume(): void {
    this.paused = false;
  }

  close(code: number): void {
    this.closedWith = code;
    if (this.#options.answersClose !== false) {
      queueMicrotask(() => this.end(1005));
    }
  }

  destroy(): void {
    this.destroyed = true;
    queueMicrotask(() => this.end(1006));
  }

  /** Number of writes handed over and not finished. */
  get held(): number {
    return this.#held.length;
  }

  /** Finishes the oldest held writes. */
  finishWrites(count = this.#held.length): void {
    for (const written of this.#held.splice(0, count)) written();
  }

  /** Fails the oldest held write. */
  failWrite(error: Error): void {
    this.#held.shift()?.(error);
  }

  /** The peer sends a message. */
  receive(text: string | undefined): void {
    this.#events?.message(text, text?.length ?? 1);
  }

  control(kind: "ping" | "pong"): void {
    if (!this.#over) this.#events?.control(kind);
  }

  /** The peer breaks a rule. */
  fault(fault: Parameters<WireSocketEvents["fault"]>[0]): void {
    this.#events?.fault(fault);
  }

  /** The socket is gone. */
  end(code: number): void {
    if (this.#over) return;
    this.#over = true;
    this.#endedWith = code;
    for (const written of this.#held.splice(0)) written(new Error("over"));
    this.#events?.closed(code);
  }

  /** Types of the frames written so far. */
  get types(): string[] {
    return this.written.map((text) => JSON.parse(text).type);
  }
}
