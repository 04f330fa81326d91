// A Harness whose every native answer a test decides. Harsher than a real one: it ignores signals
// unless told otherwise, reports late, and fails in each place where a real one can.
import { type Deferred, deferred } from "../../src/platform/deferred.ts";
import type {
  ActiveInput,
  DiscoveredHarness,
  Executor,
  ExecutorFactory,
  PreparedConfiguration,
  Refusal,
  Settlement,
  StartedTurn,
  Turn,
  TurnEvent,
  TurnStart,
} from "../../src/harness/contract.ts";
import { PreparationFailed } from "../../src/harness/contract.ts";
import {
  CAPABILITY_NAMES,
  type CapabilityDeclaration,
} from "../../src/protocol/capabilities.ts";
import type { FunctionResult } from "../../src/protocol/functions.ts";
import type {
  PermissionDecision,
  UserChoiceDecision,
} from "../../src/protocol/interactions.ts";
import type { Done } from "../../src/protocol/run_output.ts";
import type { MessageInput } from "../../src/protocol/message_input.ts";

/** Every capability the same, except the given ones. */
export function declaration(
  changes: Partial<CapabilityDeclaration> = {},
): CapabilityDeclaration {
  const all = Object.fromEntries(
    CAPABILITY_NAMES.map((name) => [name, "supported"]),
  );
  return { ...all, ...changes } as CapabilityDeclaration;
}

/** One active input as the engine saw it. */
export interface SteerCall {
  readonly steer: ActiveInput;
  readonly written: () => void;
  readonly signal: AbortSignal;
  readonly result: Deferred<void>;
}

/** One decision or function result as the engine saw it. */
export interface SubmitCall {
  readonly kind: "function" | "permission" | "user_choice";
  readonly id: string;
  readonly content: unknown;
  readonly signal: AbortSignal;
  readonly result: Deferred<void>;
}

export class ScriptedTurn implements Turn {
  readonly start: TurnStart;
  readonly settlement: Deferred<Settlement> = deferred();
  readonly steers: SteerCall[] = [];
  readonly submits: SubmitCall[] = [];
  cancels = 0;
  settlementWaits = 0;
  /** What a cancel does. */
  onCancel: "settle" | "accept" | "refuse" | "hang" = "settle";
  outcome: Done = { content: "", metadata: { agent_session_id: "native" } };
  ended = false;
  /** The native end was confirmed. */
  confirmed = false;

  constructor(start: TurnStart) {
    this.start = start;
  }

  emit(event: TurnEvent): Promise<void> {
    return this.start.sink.send(event);
  }

  delta(text: string): Promise<void> {
    return this.emit({ type: "delta", payload: { delta: text } });
  }

  /** A normal end: `done`, closed output, reusable settlement. */
  finish(
    content = "answer",
    settlement: Settlement = { reusable: true },
  ): void {
    void this.emit({ type: "done", payload: { content } });
    this.settle(settlement);
  }

  /** The native end without any further event. */
  settle(settlement: Settlement = { reusable: true }): void {
    if (!this.ended) this.confirmed = true;
    this.ended = true;
    this.start.sink.close();
    this.settlement.resolve(settlement);
  }

  /** The native end cannot be confirmed. */
  lose(): void {
    this.ended = true;
    this.settlement.reject(new Error("settlement lost"));
  }

  cancel(_signal: AbortSignal): Promise<void> {
    this.cancels++;
    if (this.ended) return Promise.resolve();
    switch (this.onCancel) {
      case "settle":
        this.settle();
        return Promise.resolve();
      case "accept":
        return Promise.resolve();
      case "refuse":
        return Promise.reject(new Error("cancel refused"));
      case "hang":
        return new Promise(() => {});
    }
  }

  cancellationOutcome(): Done {
    return this.outcome;
  }

  awaitSettlement(_signal: AbortSignal): Promise<Settlement> {
    this.settlementWaits++;
    return this.settlement.promise;
  }

  steerWithReceipt(
    steer: ActiveInput,
    written: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    const call = { steer, written, signal, result: deferred() };
    this.steers.push(call);
    return call.result.promise;
  }

  submitFunctionResult(
    result: FunctionResult,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#submit("function", result.call_id, result, signal);
  }

  submitPermission(
    id: string,
    decision: PermissionDecision,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#submit("permission", id, decision, signal);
  }

  submitUserChoice(
    id: string,
    decision: UserChoiceDecision,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#submit("user_choice", id, decision, signal);
  }

  #submit(
    kind: SubmitCall["kind"],
    id: string,
    content: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    const call = { kind, id, content, signal, result: deferred() };
    this.submits.push(call);
    return call.result.promise;
  }
}

/** What a start does; a gate is waited for first. */
export type StartMode =
  | "turn"
  | "turn_and_error"
  | "no_turn"
  | "throw"
  | "hang_until_close";

export class ScriptedExecutor implements Executor {
  readonly #retired: Deferred<string> = deferred();
  readonly #closed: Deferred<void> = deferred();
  readonly turns: ScriptedTurn[] = [];
  readonly configuration: PreparedConfiguration;
  startMode: StartMode = "turn";
  startGate: Deferred<void> | undefined;
  /** Configures each Turn as it is made. */
  onTurn: (turn: ScriptedTurn) => void = () => {};
  starts = 0;
  closes = 0;
  closedForGood = false;
  onClose: "confirm" | "refuse" | "hang" = "confirm";
  closeGate: Deferred<void> | undefined;

  constructor(configuration: PreparedConfiguration) {
    this.configuration = configuration;
  }

  get retired(): Promise<string> {
    return this.#retired.promise;
  }

  retire(): void {
    this.#retired.resolve("native_execution_unavailable");
  }

  get turn(): ScriptedTurn {
    const turn = this.turns.at(-1);
    if (turn === undefined) throw new Error("no Turn was started");
    return turn;
  }

  async startTurn(start: TurnStart): Promise<StartedTurn> {
    this.starts++;
    const error = new Error("native start failed");
    const turn = new ScriptedTurn(start);
    if (this.startMode === "turn" || this.startMode === "turn_and_error") {
      this.turns.push(turn);
      this.onTurn(turn);
    }
    await this.startGate?.promise;
    switch (this.startMode) {
      case "turn":
        return { turn };
      case "turn_and_error":
        return { turn, error };
      case "no_turn":
        return { error };
      case "throw":
        throw error;
      case "hang_until_close":
        await this.#closed.promise;
        return { error };
    }
  }

  async close(_signal: AbortSignal): Promise<void> {
    this.closes++;
    await this.closeGate?.promise;
    if (this.onClose === "hang") return await new Promise(() => {});
    if (this.onClose === "refuse") throw new Error("close refused");
    this.closedForGood = true;
    this.#closed.resolve();
    this.#retired.resolve("closed");
    for (const turn of this.turns) {
      if (!turn.ended) turn.lose();
    }
  }
}

/** The factory of the kind `contract`. */
export class ScriptedFactory implements ExecutorFactory {
  readonly executors: ScriptedExecutor[] = [];
  readonly owners: AbortSignal[] = [];
  prepareMode: "ready" | "fail" | "fail_retained" = "ready";
  prepareGate: Deferred<void> | undefined;
  configurationRefusal: Refusal | undefined;
  inputRefusal: Refusal | undefined;
  onExecutor: (executor: ScriptedExecutor) => void = () => {};
  prepares = 0;

  get executor(): ScriptedExecutor {
    const executor = this.executors.at(-1);
    if (executor === undefined) throw new Error("nothing was prepared");
    return executor;
  }

  checkConfiguration(): Refusal | undefined {
    return this.configurationRefusal;
  }

  checkInput(
    _configuration: PreparedConfiguration,
    _input: MessageInput,
  ): Refusal | undefined {
    return this.inputRefusal;
  }

  async prepare(
    configuration: PreparedConfiguration,
    owner: AbortSignal,
  ): Promise<Executor> {
    this.prepares++;
    this.owners.push(owner);
    const executor = new ScriptedExecutor(configuration);
    await this.prepareGate?.promise;
    if (this.prepareMode === "fail") throw new Error("preparation failed");
    this.executors.push(executor);
    this.onExecutor(executor);
    if (this.prepareMode === "fail_retained") {
      throw new PreparationFailed("preparation failed", executor);
    }
    return executor;
  }
}

/** The kind as discovery would report it. */
export function discovered(
  factory: ScriptedFactory,
  changes: Partial<DiscoveredHarness> = {},
): DiscoveredHarness {
  return {
    kind: "contract",
    available: true,
    version: "1",
    declaration: declaration(),
    factory,
    ...changes,
  };
}
