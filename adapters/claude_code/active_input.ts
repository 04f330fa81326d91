/**
 * Owns active input of one Turn: who may be admitted, the one complete write, and the wait for
 * consumption. One input at a time: the receipt of a second could not be told from the first's.
 */
import {
  type ActiveInput,
  SteeringRefused,
} from "../../src/harness/contract.ts";
import { WriteNotStarted } from "../../src/harness/child.ts";
import { type Clock, deadlineSignal } from "../../src/platform/clock.ts";
import type { Ids } from "../../src/platform/ids.ts";
import { asError } from "./as_error.ts";
import { abortable } from "./abortable.ts";
import { checkClaudeInput, userLine } from "./input.ts";
import type { InputLedger } from "./input_ledger.ts";

/** The pipe has this long to take a line of active input. */
const WRITE_MILLISECONDS = 10_000;

/** What active input needs of its Turn's surroundings. */
export interface ActiveInputHost {
  readonly clock: Clock;
  readonly ids: Ids;
  write(value: unknown, signal: AbortSignal): Promise<void>;
  /** A line was cut: the program's input is unusable from here on. */
  invalidate(reason: Error): void;
}

/** Whether the Turn takes input now. */
export type Admission = "open" | "not_ready" | "closed";

/** The active inputs of one Turn. */
export class ActiveInputs {
  readonly #given = new Set<string>();
  #waiting = false;

  constructor(
    private readonly host: ActiveInputHost,
    private readonly ledger: InputLedger,
  ) {}

  /**
   * Submits one input. Calls `written` after the complete write; resolves at consumption.
   *
   * @throws {SteeringRefused} when nothing was written; anything else leaves the outcome unknown.
   */
  async submit(
    steer: ActiveInput,
    admission: Admission,
    written: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    this.#admit(steer, admission);
    const uuid = this.host.ids.uuid();
    // Before the write: from its first byte on the Turn must not end without this message.
    const consumed = this.ledger.add(uuid);
    this.#given.add(steer.inputId);
    this.#waiting = true;
    void consumed.then(() => {}, () => {}).then(() => {
      this.#waiting = false;
    });
    await this.#write(uuid, steer, signal);
    written();
    await abortable(consumed, signal);
  }

  #admit(steer: ActiveInput, admission: Admission): void {
    if (admission === "closed") {
      throw new SteeringRefused("inactive", "The Turn takes no more input");
    }
    if (this.#given.has(steer.inputId)) {
      throw new SteeringRefused("rejected", "The input was given before");
    }
    if (checkClaudeInput(steer.input)) {
      throw new SteeringRefused("rejected", "The input cannot be taken whole");
    }
    if (admission === "not_ready" || this.#waiting) {
      throw new SteeringRefused("not_ready", "The Turn cannot take input yet");
    }
  }

  async #write(
    uuid: string,
    steer: ActiveInput,
    signal: AbortSignal,
  ): Promise<void> {
    const deadline = deadlineSignal(
      this.host.clock,
      WRITE_MILLISECONDS,
      "The write of active input",
      signal,
    );
    try {
      await this.host.write(userLine(steer.input, uuid), deadline.signal);
    } catch (error) {
      if (error instanceof WriteNotStarted) {
        this.ledger.remove(uuid);
        throw new SteeringRefused("inactive", "The program takes no input");
      }
      this.host.invalidate(
        asError(error),
      );
      throw error;
    } finally {
      deadline.cancel();
    }
  }
}
