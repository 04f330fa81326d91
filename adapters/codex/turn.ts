/**
 * One native Turn from its start to its settlement. Owns its sink, its waiting receipts and its one
 * interrupt. The end is the engine's own terminal; nothing else stands for it.
 */
import type {
  ActiveInput,
  Settlement,
  Turn,
} from "../../src/harness/contract.ts";
import { type Deferred, deferred } from "../../src/platform/deferred.ts";
import type { FunctionResult } from "../../src/protocol/functions.ts";
import type {
  PermissionDecision,
  UserChoiceDecision,
} from "../../src/protocol/interactions.ts";
import type { Done } from "../../src/protocol/run_output.ts";
import { Cancellation } from "./cancellation.ts";
import { endingOf, outcomeOf, settlementOf } from "./ending.ts";
import { InvalidObservation } from "./items.ts";
import type { NativeTurn } from "./native_schema.ts";
import { beginNative, type Begun } from "./native_start.ts";
import { rootNotified } from "./root_events.ts";
import { SilenceWatch } from "./silence.ts";
import { abortable } from "./steering.ts";
import { terminateBackgroundTerminals } from "./terminals.ts";
import type { TurnParts } from "./turn_parts.ts";

const UNCONFIRMED = "codex: native Turn settlement is unconfirmed";

/** See the file comment. */
export class CodexTurn implements Turn {
  readonly #parts: TurnParts;
  readonly #started = deferred();
  readonly #terminal: Deferred<NativeTurn> = deferred<NativeTurn>();
  /** The process is gone. */
  readonly #ended = deferred();
  readonly #settled: Deferred<Settlement> = deferred<Settlement>();
  #nativeId: string | undefined;
  #interrupt: Promise<void> | undefined;
  readonly #cancellation: Cancellation;
  /** Why the adapter itself stopped the Turn. */
  #fault: string | undefined;
  readonly #silence: SilenceWatch;

  constructor(parts: TurnParts) {
    this.#parts = parts;
    const { host, observation, functions, interactions, children } = parts;
    this.#cancellation = new Cancellation(host, this.#ended.promise);
    this.#silence = new SilenceWatch(
      host.clock,
      host.limits.silentProvider,
      () =>
        observation.toolRuns || children.toolRuns || functions.waiting ||
        interactions.waiting,
    );
    this.#silence.watch(() =>
      this.#stop("codex: the model provider stayed silent")
    );
  }

  /** The native id, once it is known. */
  get nativeId(): string | undefined {
    return this.#nativeId;
  }

  /** Whether the settlement is decided, as confirmed or as never to be confirmed. */
  get over(): boolean {
    return this.#settled.settled;
  }

  /** Forgets a Turn whose input was never submitted. */
  dispose(): void {
    this.#silence.stop();
  }

  /** Submits the input. Never throws; never submits twice. */
  async begin(
    parameters: object,
    signal: AbortSignal,
  ): Promise<Begun> {
    const begun = await beginNative(this.#parts.host, parameters, signal, {
      bind: (id) => this.bind(id),
      isBound: () => this.#nativeId !== undefined,
      started: this.#started.promise,
    });
    if (begun.outcome === "unsubmitted") this.dispose();
    return begun;
  }

  /** The native id became known, by the answer or by `turn/started`. */
  bind(id: string): void {
    this.#nativeId ??= id;
    if (this.#nativeId !== id) {
      this.#parts.host.lose("codex: the engine names two Turns for one");
    }
  }

  /** A notification of the root Turn or of a child; `threadId` and `turnId` as it names them. */
  notified(threadId: string, method: string, params: unknown): void {
    this.#silence.sign();
    try {
      if (threadId !== this.#parts.threadId) {
        return this.#parts.children.notified(threadId, method, params);
      }
      rootNotified(this.#parts, method, params);
    } catch (error) {
      if (!(error instanceof InvalidObservation)) throw error;
      this.#stop(error.message);
    }
  }

  /** The native Turn began. */
  nativeStarted(id: string): void {
    this.bind(id);
    this.#started.resolve();
  }

  /** The native terminal of this Turn. */
  nativeCompleted(turn: NativeTurn): void {
    if (this.#terminal.settled) return;
    this.#terminal.resolve(turn);
    this.#finish(turn).catch((error) => {
      this.#parts.host.log.error("codex.turn.finish_failed", { error });
      this.#parts.host.lose("codex: the Turn could not be finished");
    });
  }

  /** The process ended. `gone` tells whether its end is confirmed. Call it once. */
  async nativeEnded(gone: Promise<boolean>): Promise<void> {
    this.#ended.resolve();
    this.#parts.children.lost();
    if (this.#terminal.settled) return;
    this.#closeAdmission();
    const confirmed = await gone;
    const { observation, outbox, sink } = this.#parts;
    if (confirmed) {
      observation.closeOpenTools();
      const error = this.#fault ??
        "codex: the native process ended before the Turn did";
      outbox.push({ type: "error", payload: { error } });
      outbox.push({ type: "done", payload: this.cancellationOutcome() });
      await outbox.empty();
    }
    sink.close();
    this.#settled.reject(new Error(UNCONFIRMED));
  }

  cancel(signal: AbortSignal): Promise<void> {
    if (this.#settled.settled) return Promise.resolve();
    this.#interrupt ??= this.#runInterrupt();
    return abortable(signal, this.#interrupt);
  }

  cancellationOutcome(): Done {
    return outcomeOf(this.#parts.observation, this.#parts.threadId);
  }

  awaitSettlement(signal: AbortSignal): Promise<Settlement> {
    return abortable(signal, this.#settled.promise);
  }

  steerWithReceipt(
    steer: ActiveInput,
    written: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#parts.steering.steer(this.#nativeId, steer, written, signal);
  }

  submitFunctionResult(
    result: FunctionResult,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#parts.functions.submit(result, signal);
  }

  submitPermission(
    requestId: string,
    decision: PermissionDecision,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#parts.interactions.permit(requestId, decision, signal);
  }

  submitUserChoice(
    askId: string,
    decision: UserChoiceDecision,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#parts.interactions.choose(askId, decision, signal);
  }

  /** Stops the Turn for a reason of our own; it ends with that error. */
  #stop(reason: string): void {
    this.#fault ??= reason;
    this.#interrupt ??= this.#runInterrupt();
    this.#interrupt.catch((error) => {
      this.#parts.host.log.warn("codex.turn.stop_failed", { error });
    });
  }

  /** The one native interrupt, and the wait for what it is to bring about. */
  async #runInterrupt(): Promise<void> {
    const { host, threadId, children, steering, functions } = this.#parts;
    this.#cancellation.begin();
    steering.close();
    functions.close();
    try {
      // Between the answer to the start and `turn/started` the engine refuses an interrupt.
      await this.#cancellation.inTime(
        "turn/started",
        Promise.race([this.#started.promise, this.#terminal.promise]),
      );
      if (!this.#terminal.settled) {
        const turnId = this.#nativeId ?? "";
        const asked = this.#cancellation.interrupt({ threadId, turnId });
        await Promise.race([asked, this.#terminal.promise]);
      }
      await this.#cancellation.interruptChildren(children.running());
      await this.#cancellation.inTime("cancellation", this.#settled.promise);
    } catch (error) {
      host.lose("codex: cancellation could not be confirmed");
      throw error;
    }
  }

  #closeAdmission(): boolean {
    this.#silence.stop();
    this.#parts.steering.end();
    this.#parts.interactions.end();
    return this.#parts.functions.end();
  }

  async #finish(turn: NativeTurn): Promise<void> {
    const { observation, outbox, sink, children, host } = this.#parts;
    const receipts = this.#closeAdmission();
    const childrenDone = await this.#settleChildren();
    observation.closeOpenTools();
    const terminalsDone = this.#interrupt === undefined ||
      await terminateBackgroundTerminals(
        host,
        this.#parts.threadId,
        this.#cancellation.left(),
      );
    const { error, content } = endingOf({
      turn,
      observation,
      structured: this.#parts.structured,
      fault: this.#fault ??
        (children.failed
          ? "codex: subagent facts could not be confirmed"
          : undefined),
    });
    const usage = observation.usage();
    if (usage) outbox.push({ type: "usage", payload: usage });
    if (error) outbox.push({ type: "error", payload: error });
    const { completedAt } = turn;
    outbox.push({
      type: "done",
      payload: {
        ...this.cancellationOutcome(),
        content,
        ...(turn.status === "completed" && typeof completedAt === "number"
          ? { source_completed_at_ms: Math.round(completedAt * 1000) }
          : {}),
      },
    });
    await outbox.empty();
    sink.close();
    this.#settled.resolve(settlementOf({
      processLives: !this.#ended.settled,
      childrenDone: childrenDone && !children.failed,
      terminalsDone,
      receipts,
    }));
  }

  /** Waits for the children; after a cancellation only within its budget. */
  async #settleChildren(): Promise<boolean> {
    const { children, host } = this.#parts;
    if (this.#interrupt === undefined) {
      const stopped = deferred();
      this.#silence.watch(() => stopped.resolve());
      await Promise.race([children.settled(), stopped.promise]);
      this.#silence.stop();
      if (!stopped.settled) return true;
    }
    try {
      this.#cancellation.begin();
      await this.#cancellation.interruptChildren(children.running());
      await this.#cancellation.inTime("child cancellation", children.settled());
      return true;
    } catch (error) {
      host.log.warn("codex.children.unconfirmed", {
        error: error instanceof Error ? error : String(error),
      });
      return false;
    }
  }
}
