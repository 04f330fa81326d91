/**
 * Processes that the engine's tools left running: ended through the engine and proved by its own
 * list. Its bulk request only queues and proves nothing.
 */
import { MAX_TERMINAL_ROUNDS } from "./limits.ts";
import { terminalsAnswer, terminatedAnswer } from "./native_schema.ts";
import type { TurnHost } from "./turn_host.ts";

/** Ends the background terminals of a thread within `budget`. True when none is left, proved. */
export async function terminateBackgroundTerminals(
  host: TurnHost,
  threadId: string,
  budget: number,
): Promise<boolean> {
  const { rpc, clock, log } = host;
  const deadline = clock.monotonic() + budget;
  const timeout = () => Math.max(0, deadline - clock.monotonic());
  const ended = new Set<string>();
  try {
    for (let round = 0; round < MAX_TERMINAL_ROUNDS; round++) {
      const { data, nextCursor } = terminalsAnswer.parse(
        await rpc.request("thread/backgroundTerminals/list", {
          threadId,
          limit: 100,
        }, { timeout: timeout() }),
      );
      if (data.length === 0) return !nextCursor;
      for (const { processId } of data) {
        if (ended.has(processId)) return false;
        const answer = terminatedAnswer.parse(
          await rpc.request("thread/backgroundTerminals/terminate", {
            threadId,
            processId,
          }, { timeout: timeout() }),
        );
        if (!answer.terminated) return false;
        ended.add(processId);
      }
    }
  } catch (error) {
    log.warn("codex.terminals.unconfirmed", {
      error: error instanceof Error ? error : String(error),
    });
  }
  return false;
}
