// Owns the life of the daemon's link to Core: bootstrap, dial, session, wait, again. At every
// moment there is an attempt, an open socket, a wait for the old router, or a wait with an end;
// an exception of any part becomes one more failed attempt, never silence.
//
// The router of a suspended session is not shut down: the next socket gets it, once it was woken.
import { type Clock, sleep } from "../platform/clock.ts";
import type { Random } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { bootstrap } from "./bootstrap.ts";
import { type ConnectionFacts, FactsRecorder } from "./connection_facts.ts";
import type { CoreUrl } from "./core_url.ts";
import type { dial } from "./dial.ts";
import { BACKOFF_CAP } from "./limits.ts";
import type { Network } from "./network.ts";
import { ReconnectPolicy } from "./reconnect_policy.ts";
import { describeRefusal, type Refusal } from "./refusal.ts";
import { runSession, type SessionOutcome } from "./session.ts";
import type { OpenRouter } from "./session_router.ts";
import { SocketOpener } from "./socket_opener.ts";
import { SuspendedSession } from "./suspended_session.ts";

/** What the loop needs. */
export interface SessionLoopOptions {
  readonly core: CoreUrl;
  readonly deviceId: string;
  /** Name and build version, such as `agent-daemon/1.0.0`. */
  readonly userAgent: string;
  readonly network: Network;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Reads the credential; called before each attempt, so that a rotated one is used. */
  readonly readCredential: () => string | Promise<string>;
  readonly openRouter: OpenRouter;
  /** The first stop signal. It ends waits and sessions, never the wait for a router. */
  readonly stop: AbortSignal;
  /** What a permanent refusal does: end the loop, or make no request until a stop or a change. */
  readonly onPermanent: "exit" | "park";
  /** Resolves when the credential's file changed; ends a park over a rejected credential. */
  readonly credentialChanged?: (signal: AbortSignal) => Promise<void>;
  /** Runs after each new fact. */
  readonly onFacts?: () => void;
  /** The two requests; the real ones unless a test gives others. */
  readonly requests?: {
    readonly bootstrap: typeof bootstrap;
    readonly dial: typeof dial;
  };
}

/** Why the loop ended. Every router it opened has confirmed by then. */
export type LoopExit =
  | { readonly reason: "stopped" }
  /** Core asked this device to shut down. */
  | { readonly reason: "shutdown_requested" }
  | {
    readonly reason: "permanent";
    readonly refusal: PermanentRefusal;
  };

/** A refusal that only an operator can change. */
export type PermanentRefusal = Extract<Refusal, { kind: "permanent" }>;

/** What to do after an attempt or a session. */
type Next =
  | { readonly step: "wait"; readonly delay: number }
  | { readonly step: "refused_for_good"; readonly refusal: PermanentRefusal }
  | { readonly step: "exit"; readonly exit: LoopExit };

/** The loop of one process. */
export class SessionLoop {
  readonly #options: SessionLoopOptions;
  readonly #policy: ReconnectPolicy;
  readonly #facts: FactsRecorder;
  readonly #opener: SocketOpener;
  #suspended: SuspendedSession | undefined;

  constructor(options: SessionLoopOptions) {
    this.#options = options;
    this.#policy = new ReconnectPolicy(options.clock, options.random);
    this.#facts = new FactsRecorder(options.clock, () => this.#tellFacts());
    this.#opener = new SocketOpener(options, this.#facts);
  }

  /** What is proven about the link now. */
  get facts(): ConnectionFacts {
    return this.#facts.snapshot();
  }

  /**
   * Runs until a stop, a shutdown asked for by Core, or a permanent refusal. Called once.
   *
   * @throws only what makes going on impossible, such as a broken clock: the process must end.
   */
  async run(): Promise<LoopExit> {
    const { stop } = this.#options;
    while (!stop.aborted) {
      const next = await this.#once();
      if (stop.aborted && next.step !== "exit") break;
      if (next.step === "exit") return await this.#ended(next.exit);
      if (next.step === "wait") {
        this.#facts.waiting(next.delay);
        await this.#pause(next.delay);
        continue;
      }
      const exit = await this.#permanent(next.refusal);
      if (exit) return await this.#ended(exit);
    }
    return await this.#ended({ reason: "stopped" });
  }

  async #ended(exit: LoopExit): Promise<LoopExit> {
    await this.#giveUpSuspended();
    this.#facts.phase("ended");
    return exit;
  }

  /**
   * One attempt and, when it opens a socket, its session. An exception out of a session is not
   * caught: its router may not have confirmed, so that going on would be a lie.
   */
  async #once(): Promise<Next> {
    const { stop } = this.#options;
    const suspended = this.#suspended;
    if (suspended && !suspended.woken) {
      this.#facts.phase("suspended");
      await suspended.wake(stop);
      if (stop.aborted) return { step: "exit", exit: { reason: "stopped" } };
    }
    const attempt = suspended?.attempt(stop);
    const until = attempt?.signal ?? stop;
    try {
      this.#facts.attempt(this.#policy.failures + 1);
      const opened = await this.#opener.open(until);
      if (!opened.ok) {
        return this.#decide(() => this.#afterRefusal(opened.refusal));
      }
      this.#suspended = undefined; // the session has it now
      const outcome = await runSession(opened.socket, {
        ...this.#options,
        facts: this.#facts,
        heartbeatInterval: opened.heartbeatInterval,
        ...(suspended
          ? { suspended: { router: suspended.router, until } }
          : {}),
      });
      if (outcome.suspended) {
        this.#suspended = outcome.suspended.anew || !suspended
          ? new SuspendedSession(outcome.suspended.router, this.#options)
          : suspended;
      }
      return this.#decide(() => this.#afterSession(outcome));
    } finally {
      attempt?.cancel();
    }
  }

  /** A decision always comes out: where its parts throw, the longest delay. */
  #decide(decision: () => Next): Next {
    try {
      return decision();
    } catch (error) {
      this.#report("decision_failed", error);
      return { step: "wait", delay: BACKOFF_CAP };
    }
  }

  #afterRefusal(refusal: Refusal): Next {
    this.#facts.refused(refusal);
    if (this.#options.stop.aborted) {
      return { step: "exit", exit: { reason: "stopped" } };
    }
    if (refusal.kind === "permanent") {
      return { step: "refused_for_good", refusal };
    }
    const delay = this.#policy.afterRefusal(refusal);
    this.#options.log[refusal.kind === "slow" ? "error" : "warn"](
      "dial_retry",
      {
        attempt: this.#policy.failures,
        delay: Math.round(delay),
        cause: describeRefusal(refusal),
      },
    );
    return { step: "wait", delay };
  }

  #afterSession(outcome: SessionOutcome): Next {
    const { end, lived, shutdownRequested, suspended } = outcome;
    if (shutdownRequested) {
      return { step: "exit", exit: { reason: "shutdown_requested" } };
    }
    const refusal = permanentRefusal(outcome);
    if (refusal) {
      this.#facts.refused(refusal);
      return { step: "refused_for_good", refusal };
    }
    if (suspended?.anew) return { step: "wait", delay: 0 };
    if (suspended) return { step: "wait", delay: this.#policy.afterAttempt() };
    const { delay, warnOfSharedDevice } = this.#policy.afterSession(end, lived);
    this.#facts.sharedDevice(this.#policy.flapping);
    if (warnOfSharedDevice) {
      this.#options.log.warn("short_sessions", {
        remark: "another daemon probably uses this device id",
        deviceId: this.#options.deviceId,
      });
    }
    return { step: "wait", delay };
  }

  /** Ends the loop, or waits without any request until a stop or another credential. */
  async #permanent(refusal: PermanentRefusal): Promise<LoopExit | undefined> {
    const { credentialChanged, log, onPermanent, stop } = this.#options;
    this.#opener.forgetBootstrap();
    await this.#giveUpSuspended();
    log.error("refused_for_good", {
      reason: refusal.reason,
      cause: describeRefusal(refusal),
      then: onPermanent,
    });
    if (onPermanent === "exit") return { reason: "permanent", refusal };
    this.#facts.phase("parked");
    const renewable = refusal.reason === "credential_rejected" ||
      refusal.reason === "retired";
    const waits = [stopped(stop)];
    if (renewable && credentialChanged) waits.push(credentialChanged(stop));
    try {
      await Promise.race(waits);
    } catch (error) {
      if (!stop.aborted) this.#report("credential_watch_failed", error);
      await stopped(stop);
    }
    return undefined;
  }

  async #giveUpSuspended(): Promise<void> {
    const suspended = this.#suspended;
    this.#suspended = undefined;
    if (!suspended) return;
    this.#facts.phase("waiting_for_shutdown");
    await suspended.giveUp((state) => this.#facts.shutdownUnconfirmed(state));
  }

  /** Waits; a stop ends it early. */
  async #pause(delay: number): Promise<void> {
    try {
      await sleep(this.#options.clock, delay, this.#options.stop);
    } catch (error) {
      if (!this.#options.stop.aborted) throw error;
    }
  }

  #tellFacts(): void {
    try {
      this.#options.onFacts?.();
    } catch (error) {
      this.#report("facts_listener_failed", error);
    }
  }

  #report(event: string, error: unknown): void {
    if (this.#options.stop.aborted) return;
    this.#options.log.error(event, {
      error: error instanceof Error ? error : "not an error",
    });
  }
}

/** Why no session can follow, if so. */
function permanentRefusal(
  { end, resumeRefused }: SessionOutcome,
): PermanentRefusal | undefined {
  if (end.kind === "retired") {
    const source = { from: "close_frame", code: end.code } as const;
    return { kind: "permanent", reason: "retired", source };
  }
  const source = { from: "first_frame" } as const;
  return resumeRefused
    ? { kind: "permanent", reason: "not_resumed", source }
    : undefined;
}

function stopped(stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (stop.aborted) return resolve();
    stop.addEventListener("abort", () => resolve(), { once: true });
  });
}
