// Owns when to try again. It remembers how attempts and sessions ended, and nothing about sockets.
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/ids.ts";
import { backoffDelay, DEFAULT_BACKOFF, jittered } from "./backoff.ts";
import {
  type ConnectionEnd,
  endedWithoutCloseFrame,
} from "./connection_end.ts";
import {
  BACKOFF_CAP,
  BACKOFF_JITTER,
  CONTESTED_CAP,
  CONTESTED_FACTOR,
  FLAP_SESSIONS,
  FLAP_WINDOW,
  SESSION_PAUSE,
  STABLE_SESSION,
} from "./limits.ts";
import type { Refusal } from "./refusal.ts";

/** When to try again. */
export interface RetryDecision {
  /** Milliseconds until the next attempt. */
  readonly delay: number;
  /** True once per flap window when short sessions pile up: the operator should be told. */
  readonly warnOfSharedDevice: boolean;
}

/**
 * Delays that grow with every failed attempt and with every session that did not last a minute,
 * whichever way it ended. Opening a socket proves nothing; only a session of a minute does.
 */
export class ReconnectPolicy {
  readonly #clock: Clock;
  readonly #random: Random;
  #failures = 0;
  /** Short sessions in a row that ended without a close frame. */
  #contested = 0;
  /** Ends of short sessions, oldest first, at most {@linkcode FLAP_SESSIONS}. */
  #shortSessions: number[] = [];
  #warned: number | undefined;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Failed attempts and short sessions since the last stable session. */
  get failures(): number {
    return this.#failures;
  }

  /** Whether short sessions piled up and none of a minute came since. */
  get flapping(): boolean {
    return this.#shortSessions.length >= FLAP_SESSIONS;
  }

  /** The delay after an attempt that opened no socket. */
  afterRefusal(refusal: Exclude<Refusal, { kind: "permanent" }>): number {
    this.#failures++;
    const ordinary = refusal.kind === "slow" ? BACKOFF_CAP : this.#ordinary();
    const wish = refusal.kind === "transient" ? refusal.retryAfter ?? 0 : 0;
    return Math.max(this.#jittered(ordinary, BACKOFF_CAP), wish);
  }

  /** The delay after a connection that should have resumed a suspended session and did not. */
  afterAttempt(): number {
    this.#failures++;
    return this.#jittered(this.#ordinary(), BACKOFF_CAP);
  }

  /**
   * The delay after a session.
   *
   * @param lived milliseconds from its opening to its end, cleanup not included.
   */
  afterSession(end: ConnectionEnd, lived: number): RetryDecision {
    if (lived >= STABLE_SESSION) {
      this.#failures = 0;
      this.#contested = 0;
      this.#shortSessions = [];
      return { delay: SESSION_PAUSE, warnOfSharedDevice: false };
    }
    this.#failures++;
    this.#contested = endedWithoutCloseFrame(end) ? this.#contested + 1 : 0;
    const warnOfSharedDevice = this.#countShortSession();
    const ordinary = this.#jittered(this.#ordinary(), BACKOFF_CAP);
    const contested = this.#jittered(this.#contestedDelay(), Infinity);
    return { delay: Math.max(ordinary, contested), warnOfSharedDevice };
  }

  #ordinary(): number {
    return this.flapping
      ? BACKOFF_CAP
      : backoffDelay(DEFAULT_BACKOFF, this.#failures);
  }

  #contestedDelay(): number {
    if (this.#contested === 0) return 0;
    return backoffDelay({
      ...DEFAULT_BACKOFF,
      cap: CONTESTED_CAP,
      factor: CONTESTED_FACTOR,
    }, this.#contested);
  }

  #jittered(delay: number, cap: number): number {
    return Math.min(cap, jittered(delay, BACKOFF_JITTER, this.#random));
  }

  /** Once flapping it stays so until a stable session; the warning comes back each window. */
  #countShortSession(): boolean {
    const now = this.#clock.monotonic();
    if (!this.flapping) {
      this.#shortSessions = this.#shortSessions.filter((at) =>
        now - at < FLAP_WINDOW
      );
      this.#shortSessions.push(now);
    }
    if (!this.flapping) return false;
    if (this.#warned !== undefined && now - this.#warned < FLAP_WINDOW) {
      return false;
    }
    this.#warned = now;
    return true;
  }
}
