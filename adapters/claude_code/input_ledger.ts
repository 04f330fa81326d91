/**
 * Owns the fate of every message that one Turn submitted. Decides when active input counts as
 * consumed and when nothing of the Turn is outstanding; decides nothing else about the Turn.
 */
import { type Deferred, deferred } from "../../src/platform/deferred.ts";

/** Consumption of an input cannot be told; it is neither accepted nor refused. */
export class UnknownConsumption extends Error {
  override readonly name = "UnknownConsumption";
  constructor() {
    super("The Turn ended without proof that the input was consumed");
  }
}

interface Entry {
  started: boolean;
  terminal: boolean;
  readonly consumed: Deferred<void>;
}

const TERMINAL_STATES: ReadonlySet<string> = new Set([
  "completed",
  "cancelled",
  "discarded",
  "refused",
]);

/** The messages of one Turn by the uuid that was written with them. */
export class InputLedger {
  readonly #entries = new Map<string, Entry>();

  /** Records a message before its write. Resolves at consumption, rejects with the Turn's end. */
  add(uuid: string): Promise<void> {
    const entry = { started: false, terminal: false, consumed: deferred() };
    this.#entries.set(uuid, entry);
    return entry.consumed.promise;
  }

  /** Forgets a message that provably never reached the program. */
  remove(uuid: string): void {
    this.#entries.get(uuid)?.consumed.reject(new UnknownConsumption());
    this.#entries.delete(uuid);
  }

  /** Whether this Turn wrote the message. */
  owns(uuid: string): boolean {
    return this.#entries.has(uuid);
  }

  /** Whether every message has ended. */
  get allTerminal(): boolean {
    for (const entry of this.#entries.values()) {
      if (!entry.terminal) return false;
    }
    return true;
  }

  /**
   * The program's own word on a message. `started` means it was taken from the queue, which a later
   * request must confirm; only `completed` says that its request was answered.
   */
  lifecycle(uuid: string, state: string): void {
    const entry = this.#entries.get(uuid);
    if (!entry) return;
    if (state === "started") entry.started = true;
    if (state === "completed" && entry.started) entry.consumed.resolve();
    // Terminal is not consumed: the `result` of the same native turn may still bring the proof.
    if (TERMINAL_STATES.has(state)) entry.terminal = true;
  }

  /** A provider answer began: every message taken from the queue by now was in its request. */
  answerBegan(): void {
    for (const entry of this.#entries.values()) {
      if (entry.started) entry.consumed.resolve();
    }
  }

  /** A root frame of the model's work names these messages as its origin. */
  named(list: readonly string[]): void {
    for (const uuid of list) {
      const entry = this.#entries.get(uuid);
      if (entry?.started) entry.consumed.resolve();
    }
  }

  /** A native turn ended for these messages. Tells whether one of them is ours. */
  ended(list: readonly string[]): boolean {
    let own = false;
    for (const uuid of list) {
      const entry = this.#entries.get(uuid);
      if (!entry) continue;
      own = true;
      entry.terminal = true;
    }
    return own;
  }

  /** The Turn is over: what has no proof by now never gets one. */
  close(): void {
    for (const entry of this.#entries.values()) {
      entry.consumed.reject(new UnknownConsumption());
    }
  }
}
