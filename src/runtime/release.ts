// Owns the one permanent claim that ends a Run, and the attempts made under it. A claim is never
// taken back; an attempt that failed with ownership kept may be followed by another.
import { type Deferred, deferred } from "../platform/deferred.ts";
import type { Settlement } from "../harness/contract.ts";
import type { Done } from "../protocol/run_output.ts";

/**
 * How an attempt ended. `kept`: the Run and its Executor stay owned. `finished`: the Run is retired;
 * `confirmed` says whether the native settlement proved what happened.
 */
export type AttemptResult =
  | { readonly kind: "kept"; readonly cause: "cancel_refused" | "close" }
  | { readonly kind: "finished"; readonly confirmed: boolean };

/** See the file comment. */
export class Release {
  readonly #claim = new AbortController();
  readonly #abort = new AbortController();
  /** `error` and `done` were sent or cannot be sent any more; the Run is gone. */
  readonly settled: Deferred<void> = deferred();
  failureText: string | undefined;
  /** The attempt in progress or the last one. */
  attempt: Promise<AttemptResult> | undefined;
  /** Set when the attempt ended. */
  result: AttemptResult | undefined;
  /** A confirmed native settlement; later attempts do not ask again. */
  settlement: Settlement | undefined;
  /** The snapshot after a confirmed settlement. */
  outcome: Done | undefined;
  refusedCancels = 0;

  /** Whether the Run is ending, for whatever reason. */
  get claimed(): boolean {
    return this.#claim.signal.aborted;
  }

  /** Aborts when the Run begins to end. */
  get claimSignal(): AbortSignal {
    return this.#claim.signal;
  }

  claim(): void {
    this.#claim.abort();
  }

  /** Whether the native Turn is to be cancelled. May be set after a natural claim. */
  get aborting(): boolean {
    return this.#abort.signal.aborted;
  }

  /** Aborts when the native Turn is to be cancelled. */
  get abortSignal(): AbortSignal {
    return this.#abort.signal;
  }

  abort(): void {
    this.#abort.abort();
  }
}
