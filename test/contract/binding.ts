/**
 * Owns the comparison of frames with a scenario's, and the placeholders for values that only the
 * Runtime can choose: the first value it sends binds the placeholder, later frames must repeat it.
 */
import { equal } from "./equal.ts";
import type { ScenarioFrame } from "./scenario.ts";

/** Payload members whose values the Runtime assigns. */
const ASSIGNED: readonly string[] = ["executor_id", "handle", "expires_at"];
/** Assigned members where two placeholders never mean the same value. */
const DISTINCT: readonly string[] = ["executor_id", "handle"];
/** Receipts whose `error` is free text for people; only its code is compared. */
const FREE_TEXT: readonly string[] = [
  "interaction_decision_ack",
  "prompt_steer_ack",
];

type Members = Record<string, unknown>;

/** The bound values of one replay. */
export class Binding {
  readonly #values = new Map<string, unknown>();

  /**
   * Compares a frame of the Runtime and binds what it assigns. Returns what differs, or nothing; a
   * difference binds nothing.
   */
  match(expected: ScenarioFrame, sent: ScenarioFrame): string | undefined {
    const wanted = members(expected);
    const got = members(sent);
    const fresh = new Map<string, unknown>();
    const resolved: Members = { ...wanted };
    for (const name of ASSIGNED) {
      const placeholder = wanted[name];
      if (placeholder === undefined) continue;
      const value = got[name];
      if (!value) return `lacks the Runtime-assigned field ${name}`;
      const key = `${name} ${placeholder}`;
      if (!this.#values.has(key)) {
        if (DISTINCT.includes(name) && this.#isTaken(name, value)) {
          return `${name} repeats the value of another placeholder`;
        }
        fresh.set(key, value);
        resolved[name] = value;
      } else resolved[name] = this.#values.get(key);
    }
    const difference = compare({ ...expected, payload: resolved }, {
      ...sent,
      payload: got,
    });
    if (difference) return difference;
    for (const [key, value] of fresh) this.#values.set(key, value);
    return undefined;
  }

  /** A frame of Core with every bound placeholder replaced. */
  resolve(frame: ScenarioFrame): ScenarioFrame {
    if (frame.payload === undefined) return frame;
    const payload: Members = { ...members(frame) };
    for (const name of ASSIGNED) {
      const key = `${name} ${payload[name]}`;
      if (this.#values.has(key)) payload[name] = this.#values.get(key);
    }
    return { ...frame, payload };
  }

  #isTaken(name: string, value: unknown): boolean {
    return [...this.#values].some(([key, bound]) =>
      key.startsWith(`${name} `) && bound === value
    );
  }
}

/** What differs between two frames, or nothing. `trace` is not compared. */
export function compare(
  expected: ScenarioFrame,
  sent: ScenarioFrame,
): string | undefined {
  if (expected.type !== sent.type) {
    return `${sent.type} ${
      JSON.stringify(sent.payload)
    } instead of ${expected.type}`;
  }
  if ((expected.id ?? "") !== (sent.id ?? "")) {
    return `id ${sent.id} instead of ${expected.id}`;
  }
  const wanted = { ...members(expected) };
  const got = { ...members(sent) };
  if (FREE_TEXT.includes(sent.type)) {
    delete wanted["error"];
    delete got["error"];
  }
  return equal(wanted, got)
    ? undefined
    : `${sent.type} ${JSON.stringify(got)} instead of ${
      JSON.stringify(wanted)
    }`;
}

function members(frame: ScenarioFrame): Members {
  return typeof frame.payload === "object" && frame.payload !== null
    ? frame.payload as Members
    : {};
}
