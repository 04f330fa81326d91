/**
 * The tokens of one Run out of counters that native threads keep over their whole history. Owns
 * the baseline; never adds a repeated report, never turns an unknown counter into zero.
 */
import type { TokenUsage, Usage } from "../../src/protocol/run_output.ts";

/** The counters of a thread as last reported; a member is absent when its report was unusable. */
export type ThreadTotal = Readonly<Partial<TokenUsage>>;

const COUNTERS = [
  ["input_tokens", "inputTokens"],
  ["cached_input_tokens", "cachedInputTokens"],
  ["output_tokens", "outputTokens"],
  ["reasoning_output_tokens", "reasoningOutputTokens"],
  ["total_tokens", "totalTokens"],
] as const;

/** The counters of a thread without history. */
export const NO_HISTORY: ThreadTotal = {
  input_tokens: 0,
  cached_input_tokens: 0,
  output_tokens: 0,
  reasoning_output_tokens: 0,
  total_tokens: 0,
};

/** Reads the native counters; only non-negative integers count. */
export function readTotal(native: unknown): ThreadTotal {
  const source = typeof native === "object" && native !== null
    ? native as Record<string, unknown>
    : {};
  const total: Partial<Record<keyof TokenUsage, number>> = {};
  for (const [name, nativeName] of COUNTERS) {
    const value = source[nativeName];
    if (
      typeof value === "number" && Number.isSafeInteger(value) && value >= 0
    ) {
      total[name] = value;
    }
  }
  return total;
}

/** The usage of one Run. */
export class RunUsage {
  #baseline: ThreadTotal;
  #total: ThreadTotal | undefined;
  #incomplete = false;
  readonly #model: string | undefined;

  /** `baseline` is what the thread had used before this Run. */
  constructor(baseline: ThreadTotal, model: string | undefined) {
    this.#baseline = baseline;
    this.#model = model;
  }

  /** A report about earlier Turns that came late: history, as long as this Run has no own report. */
  history(total: ThreadTotal): void {
    if (this.#total === undefined) this.#baseline = total;
  }

  /** A report of this Run. It replaces the former one. */
  report(total: ThreadTotal): void {
    this.#total = total;
  }

  /** An answer of the provider was lost: what it used is in no counter. */
  lost(): void {
    this.#incomplete = true;
  }

  /** What is known so far; `undefined` when nothing was measured. */
  snapshot(): Usage | undefined {
    const total = this.#total;
    if (!total) return undefined;
    const spent = (name: keyof TokenUsage): number | undefined => {
      const now = total[name];
      const before = this.#baseline[name];
      return now === undefined || before === undefined
        ? undefined
        : Math.max(0, now - before);
    };
    const input = spent("input_tokens");
    const output = spent("output_tokens");
    if (!input && !output && !spent("total_tokens")) return undefined;
    const tokens = this.#incomplete ? undefined : this.#complete(total);
    return {
      provider: "openai",
      ...(this.#model === undefined ? {} : { model: this.#model }),
      ...(input === undefined ? {} : { input_tokens: input }),
      ...(output === undefined ? {} : { output_tokens: output }),
      ...(tokens ? { tokens } : {}),
    };
  }

  /** All five counters of this Run, when each is known, grew, and they agree with each other. */
  #complete(total: ThreadTotal): TokenUsage | undefined {
    const tokens: Partial<Record<keyof TokenUsage, number>> = {};
    for (const [name] of COUNTERS) {
      const now = total[name];
      const before = this.#baseline[name];
      if (now === undefined || before === undefined || now < before) {
        return undefined;
      }
      tokens[name] = now - before;
    }
    const whole = tokens as TokenUsage;
    const consistent = whole.cached_input_tokens <= whole.input_tokens &&
      whole.reasoning_output_tokens <= whole.output_tokens &&
      whole.input_tokens <= whole.total_tokens &&
      whole.output_tokens === whole.total_tokens - whole.input_tokens;
    return consistent ? whole : undefined;
  }
}
