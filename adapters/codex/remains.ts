/** What a failed preparation hands back when a process of it may live. */
import type { Executor } from "../../src/harness/contract.ts";

/** An Executor that can only be closed. `close` may be called again until it resolves. */
export function remains(close: () => Promise<void>): Executor {
  return {
    retired: Promise.resolve("preparation_failed"),
    startTurn: () =>
      Promise.resolve({ error: new Error("codex: executor unavailable") }),
    close,
  };
}
