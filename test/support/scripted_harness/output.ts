import type { TurnEvent } from "../../../src/harness/contract.ts";
import type { Done } from "../../../src/protocol/run_output.ts";
import type { ScriptedTurnParts } from "./turn_parts.ts";

/** Events that may wait for the sink before reading stops; receipts stay readable below that. */
const WAITING_EVENTS = 256;

/** What one Turn says: its events in order, and the snapshot of them. */
export class ScriptedOutput {
  readonly #parts: ScriptedTurnParts;
  readonly #itemId: string;
  #sending: Promise<void> = Promise.resolve();
  #waiting = 0;
  #text = "";
  #tokens: number | undefined;

  constructor(turn: string, parts: ScriptedTurnParts) {
    this.#itemId = `${turn}-message`;
    this.#parts = parts;
  }

  /** Events keep their order; the sink's pace is theirs, not that of receipts. */
  emit(event: TurnEvent): void {
    this.#waiting += 1;
    this.#sending = this.#sending.then(async () => {
      await this.#parts.sink.send(event);
      this.#waiting -= 1;
    });
  }

  /** Waits while the sink is far behind. */
  async keepPace(): Promise<void> {
    if (this.#waiting > WAITING_EVENTS) await this.#sending;
  }

  say(text: string): void {
    const observed = this.#parts.configuration.observeMessages;
    if (observed && this.#text === "") {
      this.emit({
        type: "output_message",
        payload: { id: this.#itemId, status: "in_progress" },
      });
    }
    this.#text += text;
    this.emit({
      type: "delta",
      payload: { ...(observed ? { item_id: this.#itemId } : {}), delta: text },
    });
  }

  use(tokens: number): void {
    this.#tokens = tokens;
    this.emit({
      type: "usage",
      payload: { provider: "contract", raw: { tokens } },
    });
  }

  completeMessage(): void {
    const observed = this.#parts.configuration.observeMessages;
    if (!observed || this.#text === "") return;
    this.emit({
      type: "output_message",
      payload: { id: this.#itemId, status: "completed", text: this.#text },
    });
  }

  /** What was observed so far. */
  snapshot(): Done {
    return {
      content: this.#text,
      ...(this.#tokens === undefined ? {} : {
        usage: { provider: "contract", raw: { tokens: this.#tokens } },
      }),
      metadata: {
        agent_session_id: this.#parts.session,
        agent_session_type: "contract_session",
      },
    };
  }

  /** Emits `done` and closes the sink after everything before it was taken. */
  async end(): Promise<void> {
    this.emit({ type: "done", payload: this.snapshot() });
    await this.#sending;
    this.#parts.sink.close();
  }
}
