/**
 * Active input of one Turn, one at a time. `written` is the complete write of the native line;
 * acceptance is the engine's own user message with our id, never the reply to the request.
 */
import { WriteNotStarted } from "../../src/harness/child.ts";
import {
  type ActiveInput,
  SteeringRefused,
} from "../../src/harness/contract.ts";
import { type Deferred, deferred } from "../../src/platform/deferred.ts";
import { checkNativeInput, nativeInput } from "./input.ts";
import { type NativeItem, steerAnswer } from "./native_schema.ts";
import { RpcError } from "./rpc.ts";
import type { TurnHost } from "./turn_host.ts";

/** Steers one native Turn. */
export class Steering {
  readonly #host: TurnHost;
  readonly #threadId: string;
  #pending:
    | { readonly clientId: string; readonly consumed: Deferred<void> }
    | undefined;
  #open = true;

  constructor(host: TurnHost, threadId: string) {
    this.#host = host;
    this.#threadId = threadId;
  }

  /** No further input is taken; a pending one keeps waiting for its proof. */
  close(): void {
    this.#open = false;
  }

  /** The Turn ended: an input without its proof stays unknown for ever. */
  end(): void {
    this.#open = false;
    this.#pending?.consumed.reject(
      new Error("codex: the Turn ended before the input was seen consumed"),
    );
  }

  /** The engine took a user message into the Turn. */
  consumed(item: NativeItem): void {
    const pending = this.#pending;
    if (pending && item.clientId === pending.clientId) {
      pending.consumed.resolve();
    }
  }

  /** See the contract's `steerWithReceipt`. `turnId` is the bound native Turn. */
  async steer(
    turnId: string | undefined,
    steer: ActiveInput,
    written: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    if (!this.#open) throw refused("inactive", "the Turn takes no more input");
    if (turnId === undefined) {
      throw refused("not_ready", "the Turn is starting");
    }
    if (this.#pending) throw refused("rejected", "another input is pending");
    const refusal = checkNativeInput(steer.input);
    if (refusal) throw new SteeringRefused("rejected", refusal.reason);
    const pending = {
      clientId: this.#host.ids.uuid(),
      consumed: deferred(),
    };
    this.#pending = pending;
    try {
      await abortable(
        signal,
        this.#submit(turnId, steer, pending, written, signal),
      );
    } finally {
      // A wait that was cut after the write leaves the input pending: no second one beside it.
      if (!signal.aborted || pending.consumed.settled) {
        this.#pending = undefined;
      }
    }
  }

  async #submit(
    turnId: string,
    steer: ActiveInput,
    pending: { readonly clientId: string; readonly consumed: Deferred<void> },
    written: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    const answer = this.#host.rpc.request("turn/steer", {
      threadId: this.#threadId,
      expectedTurnId: turnId,
      clientUserMessageId: pending.clientId,
      input: nativeInput(steer.input),
    }, { written, signal });
    const refusedOrOdd = answer.then((result) => {
      const queued = steerAnswer.safeParse(result);
      if (queued.success && queued.data.turnId === turnId) {
        return pending.consumed.promise;
      }
      throw new Error("codex: the answer to the input is unusable");
    }, (error) => {
      if (error instanceof RpcError) {
        throw refused("rejected", "the engine refused the input");
      }
      if (error instanceof WriteNotStarted) {
        throw refused("inactive", "the engine takes no more input");
      }
      throw error;
    });
    await Promise.race([pending.consumed.promise, refusedOrOdd]);
  }
}

function refused(
  refusal: SteeringRefused["refusal"],
  reason: string,
): SteeringRefused {
  return new SteeringRefused(refusal, `codex: ${reason}`);
}

/** Ends the wait, not the work, when `signal` aborts. */
export function abortable<T>(
  signal: AbortSignal,
  work: Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() =>
      signal.removeEventListener("abort", onAbort)
    );
  });
}
