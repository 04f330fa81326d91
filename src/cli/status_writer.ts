/** Keeps `status.json` up to date: one write at a time, the newest facts last, at most every 250 ms. */
import { writeFileAtomically } from "../platform/atomic_file.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { type StatusDocument, statusPath } from "./status_document.ts";

/** The shortest time between two writes in milliseconds: a burst of facts is one write. */
const PAUSE = 250;

/** What the writer needs. */
export interface StatusWriterOptions {
  readonly stateDirectory: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** The facts at the moment of the call. */
  readonly snapshot: () => StatusDocument;
}

/** Writes the facts when told that they changed. */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #closed = new AbortController();
  #dirty = false;
  #writing: Promise<void> | undefined;
  #failed = false;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** Says that a fact changed. Returns at once; a failed write is logged once per series. */
  changed(): void {
    if (this.#closed.signal.aborted) return;
    this.#dirty = true;
    this.#writing ??= this.#run().finally(() => this.#writing = undefined);
  }

  /** Writes the last facts and stops. Resolves when nothing is being written. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#writing;
    await this.#write();
  }

  async #run(): Promise<void> {
    while (this.#dirty && !this.#closed.signal.aborted) {
      this.#dirty = false;
      await this.#write();
      try {
        await sleep(this.#options.clock, PAUSE, this.#closed.signal);
      } catch {
        return; // closed: the last write is the closer's
      }
    }
  }

  async #write(): Promise<void> {
    const { stateDirectory, snapshot, log } = this.#options;
    try {
      await writeFileAtomically(
        statusPath(stateDirectory),
        `${JSON.stringify(snapshot())}\n`,
        this.#options,
      );
      this.#failed = false;
    } catch (error) {
      if (this.#failed) return;
      this.#failed = true;
      log.warn("status_not_written", {
        error: error instanceof Error ? error : "not an error",
      });
    }
  }
}
