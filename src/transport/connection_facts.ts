// Owns what is known about the link to Core, for `status`. Only proven facts, each with its age;
// there is no word here that says more than the last proof.
import type { Clock } from "../platform/clock.ts";
import type { ConnectionProof } from "./connection.ts";
import { type ConnectionEnd, describeEnd } from "./connection_end.ts";
import { describeRefusal, type Refusal } from "./refusal.ts";
import type { UnconfirmedShutdown } from "./router_shutdown.ts";

/** What the session loop does now. */
export type LoopPhase =
  | "reading_credential"
  | "bootstrapping"
  | "dialling"
  | "socket_open"
  | "waiting_for_shutdown"
  | "waiting_to_dial"
  | "parked"
  | "suspended"
  | "ended";

/** A snapshot. Ages and waits are milliseconds at the moment of the snapshot. */
export interface ConnectionFacts {
  readonly phase: LoopPhase;
  readonly phaseAge: number;
  /** Attempts since the last session that lasted a minute. */
  readonly attempt: number;
  /** Sockets opened by this process. */
  readonly sessions: number;
  /** Until the next attempt, in `waiting_to_dial`. */
  readonly nextAttemptIn?: number;
  readonly lastDialAge?: number;
  /** Proofs of the current socket, or of the last one when none is open. */
  readonly socket?: SocketFacts;
  readonly lastEnd?: { readonly description: string; readonly age: number };
  readonly lastRefusal?: {
    readonly kind: Refusal["kind"];
    readonly description: string;
    readonly status?: number;
    readonly age: number;
  };
  /** Several short sessions in a row: another daemon probably uses this device id. */
  readonly sharedDeviceSuspected: boolean;
  /** Present while the old router has not confirmed its shutdown. */
  readonly shutdown?: UnconfirmedShutdown & { readonly age: number };
}

/** Ages of the proofs of one socket; absent before there was one. */
export interface SocketFacts {
  readonly openedAge: number;
  readonly lastInboundAge?: number;
  readonly lastPongAge?: number;
  readonly lastHeartbeatWrittenAge?: number;
  readonly droppedMessages: number;
}

interface Stamped<T> {
  readonly value: T;
  readonly at: number;
}

/** Collects facts as they happen. */
export class FactsRecorder {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #phase: Stamped<LoopPhase>;
  #attempt = 0;
  #sessions = 0;
  #nextAttemptAt: number | undefined;
  #lastDial: number | undefined;
  #proof: (() => ConnectionProof) | undefined;
  #lastHeartbeat: number | undefined;
  #lastEnd: Stamped<ConnectionEnd> | undefined;
  #lastRefusal: Stamped<Refusal> | undefined;
  #shared = false;
  #shutdown: UnconfirmedShutdown | undefined;

  /** `onChange` runs after each new fact; it must not throw. */
  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
    this.#phase = this.#stamp("reading_credential");
  }

  phase(phase: Exclude<LoopPhase, "waiting_to_dial">): void {
    this.#nextAttemptAt = undefined;
    if (phase === "dialling") this.#lastDial = this.#clock.monotonic();
    if (phase !== "waiting_for_shutdown") this.#shutdown = undefined;
    this.#phase = this.#stamp(phase);
    this.#onChange();
  }

  waiting(delay: number): void {
    this.#phase = this.#stamp("waiting_to_dial");
    this.#shutdown = undefined;
    this.#nextAttemptAt = this.#clock.monotonic() + delay;
    this.#onChange();
  }

  attempt(count: number): void {
    this.#attempt = count;
  }

  opened(proof: () => ConnectionProof): void {
    this.#sessions++;
    this.#lastHeartbeat = undefined;
    this.#proof = proof;
    this.phase("socket_open");
  }

  heartbeatWritten(): void {
    this.#lastHeartbeat = this.#clock.monotonic();
    this.#onChange();
  }

  sessionEnded(end: ConnectionEnd): void {
    this.#lastEnd = this.#stamp(end);
    this.phase("waiting_for_shutdown");
  }

  shutdownUnconfirmed(state: UnconfirmedShutdown): void {
    this.#shutdown = state;
    this.#onChange();
  }

  refused(refusal: Refusal): void {
    this.#lastRefusal = this.#stamp(refusal);
    this.#onChange();
  }

  sharedDevice(suspected: boolean): void {
    this.#shared = suspected;
  }

  /** What is known now. */
  snapshot(): ConnectionFacts {
    const socket = this.#socketFacts();
    const refusal = this.#lastRefusal;
    return {
      phase: this.#phase.value,
      phaseAge: this.#age(this.#phase.at),
      attempt: this.#attempt,
      sessions: this.#sessions,
      ...(this.#nextAttemptAt === undefined ? {} : {
        nextAttemptIn: Math.max(0, -this.#age(this.#nextAttemptAt)),
      }),
      ...(this.#lastDial === undefined
        ? {}
        : { lastDialAge: this.#age(this.#lastDial) }),
      ...(socket === undefined ? {} : { socket }),
      ...(this.#lastEnd === undefined ? {} : {
        lastEnd: {
          description: describeEnd(this.#lastEnd.value),
          age: this.#age(this.#lastEnd.at),
        },
      }),
      ...(refusal === undefined ? {} : {
        lastRefusal: {
          kind: refusal.value.kind,
          description: describeRefusal(refusal.value),
          ...("status" in refusal.value.source
            ? { status: refusal.value.source.status }
            : {}),
          age: this.#age(refusal.at),
        },
      }),
      sharedDeviceSuspected: this.#shared,
      ...(this.#shutdown === undefined ? {} : {
        shutdown: { ...this.#shutdown, age: this.#age(this.#phase.at) },
      }),
    };
  }

  #socketFacts(): SocketFacts | undefined {
    if (!this.#proof) return undefined;
    const { opened, lastInbound, lastPong, droppedMessages } = this.#proof();
    return {
      openedAge: this.#age(opened),
      ...(lastInbound === undefined
        ? {}
        : { lastInboundAge: this.#age(lastInbound) }),
      ...(lastPong === undefined ? {} : { lastPongAge: this.#age(lastPong) }),
      ...(this.#lastHeartbeat === undefined
        ? {}
        : { lastHeartbeatWrittenAge: this.#age(this.#lastHeartbeat) }),
      droppedMessages,
    };
  }

  #age(at: number): number {
    return this.#clock.monotonic() - at;
  }

  #stamp<T>(value: T): Stamped<T> {
    return { value, at: this.#clock.monotonic() };
  }
}
