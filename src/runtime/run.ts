// Owns the facts of one Run from the accepted start to its retirement. The parts that act on it:
// `start.ts` hands it to the engine, `output.ts` forwards, `settlement.ts` ends it.
import type { Turn } from "../harness/contract.ts";
import { type Deferred, deferred } from "../platform/deferred.ts";
import type { Span } from "../platform/telemetry.ts";
import type { CapabilityDeclaration } from "../protocol/capabilities.ts";
import type { UserChoiceQuestion } from "../protocol/interactions.ts";
import type { Done, RunError } from "../protocol/run_output.ts";
import type { Admission } from "./admission.ts";
import type { ExecutorRecord } from "./executor.ts";
import { ActiveInputs } from "./active_inputs.ts";
import { Release } from "./release.ts";
import { SerialQueue } from "./serial_queue.ts";
import { TurnOutput } from "./turn_output.ts";
import { OperationCounter } from "./waiting.ts";

/** A question of a Run that waits for its decision. */
export type PendingInteraction =
  | { readonly kind: "permission"; readonly nativeId: string }
  | {
    readonly kind: "user_choice";
    readonly nativeId: string;
    readonly questions: readonly UserChoiceQuestion[];
  };

/** What a Run is created with. */
export interface RunIdentity {
  readonly id: string;
  /** Every frame of the Run carries it. */
  readonly trace: string;
  readonly executor: ExecutorRecord;
  /** The handle whose reservation the start consumed. */
  readonly admission: Admission;
  /** Ended with the retirement, never earlier. */
  readonly span: Span;
}

/** See the file comment. */
export class Run {
  readonly id: string;
  readonly trace: string;
  readonly executor: ExecutorRecord;
  readonly admission: Admission;
  readonly span: Span;
  readonly output = new TurnOutput();
  readonly release = new Release();
  /** Ends a native start that has not returned. */
  readonly startAbort = new AbortController();
  /** Gives up a native start that does not return although its Executor is closed. */
  readonly startForsaken = new AbortController();
  /** Ends native operations that outlive the settlement. */
  readonly operationsAbort = new AbortController();
  /** The native start returned, or is certain never to be called. */
  readonly startDone: Deferred<void> = deferred();
  /** The attempt to publish `started` ended. */
  readonly publicationDone: Deferred<void> = deferred();
  /** The forwarder sent or dropped everything up to the end of the output. */
  readonly outputDone: Deferred<void> = deferred();
  readonly operations = new OperationCounter();
  readonly submissions = new SerialQueue();
  readonly inputs = new ActiveInputs();
  /** Interaction ids this Run asked under; kept after the answer so that a withdrawal is known. */
  readonly asked = new Set<string>();
  turn: Turn | undefined;
  /** `started` was delivered: until a release is claimed, operations reach the Turn. */
  published = false;
  startError: Error | undefined;
  /** No Turn came back, and nothing proves that no input was submitted. */
  startUncertain = false;
  /** Fixed text: the adapter broke the order of its own output. */
  protocolError: string | undefined;
  outputFailed = false;
  /** A frame could not be sent at all; the rest is dropped, and the end still goes out. */
  outputRefused = false;
  /** The router closed before the output was delivered. */
  interrupted = false;
  /** An `error` of the adapter went out. */
  errorSent = false;
  done: Done | undefined;
  deltaSequence = 0;
  thinkingSequence = 0;
  waitingCancels = 0;

  constructor(identity: RunIdentity) {
    this.id = identity.id;
    this.trace = identity.trace;
    this.executor = identity.executor;
    this.admission = identity.admission;
    this.span = identity.span;
  }

  /** Whether events are only drained: Core has lost some of them. */
  get lossy(): boolean {
    return this.outputFailed || this.outputRefused || this.interrupted;
  }

  get declaration(): CapabilityDeclaration {
    return this.executor.identity.declaration;
  }

  get environmentId(): string {
    return this.executor.identity.environmentId;
  }

  /** The Turn, when operations may reach it now. */
  get reachable(): Turn | undefined {
    return this.published && !this.release.claimed ? this.turn : undefined;
  }

  /** The synthesised error of a failed end; fixed text, unclassified. */
  failure(): RunError | undefined {
    const text = this.protocolError ?? this.release.failureText;
    return text === undefined ? undefined : { error: text };
  }
}
