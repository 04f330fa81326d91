/**
 * What a Harness adapter must provide and what the Runtime guarantees in return.
 *
 * Three owners: a {@linkcode HarnessAdapter} discovers its program; the {@linkcode ExecutorFactory}
 * it returns prepares an {@linkcode Executor}, the native resource of one Session; an Executor
 * starts one {@linkcode Turn} at a time. An adapter never sees envelopes, handles, connections or
 * admissions; the Runtime never sees a native message or an engine name.
 *
 * Three facts never stand for one another: a native Turn ended, a resource was cleaned up, an
 * Executor can be used again.
 */
import type { CapabilityDeclaration } from "../protocol/capabilities.ts";
import type { MessageInput } from "../protocol/message_input.ts";
import type { RuntimeFrames } from "../protocol/frames.ts";
import type { Done } from "../protocol/run_output.ts";
import type { FunctionResult } from "../protocol/functions.ts";
import type {
  PermissionDecision,
  UserChoiceDecision,
} from "../protocol/interactions.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import type { SpawnChild } from "./child.ts";
import type { Finding } from "./finding.ts";
import type { PreparedConfiguration } from "./prepared_configuration.ts";

export type {
  McpBinding,
  PreparedConfiguration,
  PreparedEnvironment,
} from "./prepared_configuration.ts";

/** One Harness: a kind on the wire and a way to find the program behind it. */
export interface HarnessAdapter {
  /** The wire identifier, such as `codex`. */
  readonly kind: string;
  /**
   * Looks for the program once. `undefined` means the operator turned the kind off. A missing or
   * unusable program is a result with `available: false`, never an exception. Bounded by 15 s.
   */
  discover(context: DiscoveryContext): Promise<DiscoveredHarness | undefined>;
}

/** What discovery may use. Nothing else of the outside reaches an adapter. */
export interface DiscoveryContext {
  /** An absolute path given by the operator; then nothing else is tried. */
  readonly program?: string;
  /** The daemon's own environment. Children get an allow-list of it, see `child_environment.ts`. */
  readonly environment: Readonly<Record<string, string>>;
  /** A 0700 directory; the adapter keeps one native home per Session below it. */
  readonly stateDirectory: string;
  /** Whether this daemon serves a bound workspace; decides the two Environment capabilities. */
  readonly bound: boolean;
  /** `ask` sends native questions to Core; `unattended` never asks. */
  readonly permissions: "unattended" | "ask";
  readonly operatingSystem: "linux" | "darwin" | "windows";
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Starts every native process; the only way an adapter may start one. */
  readonly spawn: SpawnChild;
}

/** The outcome of discovery: what the heartbeat declares and, when available, the factory. */
export interface DiscoveredHarness {
  readonly kind: string;
  readonly available: boolean;
  /** The program's own version line, without its name. */
  readonly version?: string;
  /** The resolved program; probe and execution use the same one. */
  readonly program?: string;
  /** Why `available` is false, or what an operator should know. Local only, never on the wire. */
  readonly reason?: string;
  /** Complete, also when unavailable: each field decided. */
  readonly declaration: CapabilityDeclaration;
  /** Absent when unavailable. */
  readonly factory?: ExecutorFactory;
  /** Looks closer, for a person who asks. No model is asked; 15 s at most; never throws. */
  inspect?(): Promise<readonly Finding[]>;
}

/** Why a configuration or an input is refused before any native effect. Echoes no value. */
export interface Refusal {
  /** One fixed sentence for the local log. */
  readonly reason: string;
}

/** Prepares Executors of one kind. */
export interface ExecutorFactory {
  /** Pure and synchronous. A refusal becomes `unsupported_configuration`. */
  checkConfiguration(configuration: PreparedConfiguration): Refusal | undefined;
  /** Pure and synchronous: refuses input the engine cannot take unchanged. */
  checkInput(
    configuration: PreparedConfiguration,
    input: MessageInput,
  ): Refusal | undefined;
  /**
   * Starts and verifies the native resource without any model input. `owner` spans all Turns of
   * the Executor; its abort cancels a preparation in progress.
   *
   * @throws {PreparationFailed} with the Executor when its cleanup is unconfirmed; the caller then
   * keeps and closes it. Any other error means nothing is left.
   */
  prepare(
    configuration: PreparedConfiguration,
    owner: AbortSignal,
  ): Promise<Executor>;
}

/** A failed preparation whose native resource may still exist. */
export class PreparationFailed extends Error {
  override readonly name = "PreparationFailed";
  /** `retained` must be closed by the receiver. */
  constructor(
    message: string,
    readonly retained?: Executor,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The native resource of one Session, kept over all its Turns. */
export interface Executor {
  /** Settles once, with a fixed reason, when no further Turn can start; never rejects. */
  readonly retired: Promise<string>;
  /**
   * Starts one Turn. Without a Turn no input was submitted and the sink stays with the caller.
   * With a Turn, even beside an error, input may have been submitted: never start it again.
   */
  startTurn(start: TurnStart): Promise<StartedTurn>;
  /**
   * Stops all native work and its output. Resolving confirms that nothing of it lives; rejecting
   * keeps ownership and may be repeated. `signal` ends the wait only.
   */
  close(signal: AbortSignal): Promise<void>;
}

/** What a Turn starts with. */
export interface TurnStart {
  readonly runId: string;
  readonly input: MessageInput;
  readonly sink: TurnSink;
  /** Aborts a start that has not returned yet. */
  readonly signal: AbortSignal;
}

/** See {@linkcode Executor.startTurn}. */
export type StartedTurn =
  | { readonly turn: Turn; readonly error?: Error }
  | { readonly turn?: undefined; readonly error: Error };

/** How a Turn settled. */
export type Settlement =
  | { readonly reusable: true }
  | { readonly reusable: false; readonly reason: string };

/** One native execution. All methods may be called at any time, also after settlement. */
export interface Turn {
  /**
   * Asks the engine to stop exactly this Turn. Idempotent; on a settled Turn it returns at once.
   * Resolving does not prove cancellation: settlement does.
   */
  cancel(signal: AbortSignal): Promise<void>;
  /** What was observed so far: partial text, native Session id, usage. Never waits. */
  cancellationOutcome(): Done;
  /**
   * Resolves when the sink is closed and input, function, interaction and child work settled.
   * A rejection leaves the settlement unconfirmed; `signal` ends the wait only.
   */
  awaitSettlement(signal: AbortSignal): Promise<Settlement>;
  /**
   * Submits active input. Calls `written` once, right after the complete native write, and
   * resolves when the engine consumed it.
   *
   * @throws {SteeringRefused} when nothing was consumed and nothing will be.
   * @throws anything else when the outcome is unknown.
   */
  steerWithReceipt(
    steer: ActiveInput,
    written: () => void,
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Resolves at the native receipt of the result.
   *
   * @throws {UnknownInteraction} when the call is not pending.
   * @throws {UnsupportedOperation} before any native effect.
   */
  submitFunctionResult(
    result: FunctionResult,
    signal: AbortSignal,
  ): Promise<void>;
  /** Resolves when the engine settled the request. Throws as {@linkcode Turn.submitFunctionResult}. */
  submitPermission(
    requestId: string,
    decision: PermissionDecision,
    signal: AbortSignal,
  ): Promise<void>;
  /** Resolves when the engine settled the question. Throws as {@linkcode Turn.submitFunctionResult}. */
  submitUserChoice(
    askId: string,
    decision: UserChoiceDecision,
    signal: AbortSignal,
  ): Promise<void>;
}

/** Input for a running Turn. */
export interface ActiveInput {
  readonly inputId: string;
  readonly input: MessageInput;
}

/** Frame families a Turn may emit. The Runtime adds the Run id and the sequence numbers. */
export type TurnEventType =
  | "delta"
  | "thinking"
  | "output_message"
  | "tool_call"
  | "usage"
  | "error"
  | "done"
  | "function_call"
  | "permission_request"
  | "prompt_for_user_choice"
  | "subagent_identity"
  | "subagent_lifecycle"
  | "subagent_turn"
  | "subagent_item"
  | "subagent_coordination";

/**
 * One neutral event of a Turn. `delta` and `thinking` come without `sequence`: the Runtime counts
 * each per Run from 1; `thinking` with `unsequenced: true` gets none. `permission_cancel` withdraws
 * a permission request or a user choice of this Turn.
 */
export type TurnEvent =
  | {
    [T in Exclude<TurnEventType, "delta" | "thinking">]: {
      readonly type: T;
      readonly payload: RuntimeFrames[T];
    };
  }[Exclude<TurnEventType, "delta" | "thinking">]
  | {
    readonly type: "delta";
    readonly payload: { readonly item_id?: string; readonly delta: string };
  }
  | {
    readonly type: "thinking";
    readonly payload: { readonly text: string };
    readonly unsequenced?: true;
  }
  | { readonly type: "permission_cancel"; readonly requestId: string };

/**
 * Where a Turn puts its events: a bounded queue (64) that one Runtime task drains. Order: events,
 * at most one `error`, exactly one `done`, then `close`.
 */
export interface TurnSink {
  /** Resolves when the queue took the event. Never rejects: a lost observer is not the Turn's. */
  send(event: TurnEvent): Promise<void>;
  /** Called exactly once, by the Turn. */
  close(): void;
}

/** The operation exists on the wire but not in this adapter; nothing native happened. */
export class UnsupportedOperation extends Error {
  override readonly name = "UnsupportedOperation";
}

/** A steering refusal that proves nothing was and will be consumed. */
export class SteeringRefused extends Error {
  override readonly name = "SteeringRefused";
  /** `not_ready` may be tried again; `inactive` and `rejected` are final. */
  constructor(
    readonly refusal: "not_ready" | "inactive" | "rejected",
    message: string,
  ) {
    super(message);
  }
}

/** The call, permission or question is not pending: unknown, settled or withdrawn. */
export class UnknownInteraction extends Error {
  override readonly name = "UnknownInteraction";
}
