/**
 * Owns one connection of one device as its driver sees it: subscribe first, send second, and answer
 * with promises that settle on proven facts only. Nothing is sent twice and nothing outlives the
 * connection.
 */
import type { Clock } from "../platform/clock.ts";
import { deferred } from "../platform/deferred.ts";
import type { Ids } from "../platform/ids.ts";
import type { Configuration } from "../protocol/configuration.ts";
import type { Envelope } from "../protocol/envelope.ts";
import { coreFrame, type CoreFrames } from "../protocol/frames.ts";
import type { FunctionResult } from "../protocol/functions.ts";
import type {
  PermissionDecision,
  UserChoiceDecision,
} from "../protocol/interactions.ts";
import type { MessageInput } from "../protocol/message_input.ts";
import type { InputDelivery } from "./active_inputs.ts";
import { Declarations } from "./declarations.ts";
import type { DeviceSocket } from "./device_socket.ts";
import type { ExchangeOutcome, ExchangeType } from "./exchanges.ts";
import { traceFrame, type TraceListener } from "./frame_trace.ts";
import { readInbound } from "./inbound.ts";
import {
  CoreRuleBroken,
  ProtocolViolation,
  type SessionEnd,
} from "./observation.ts";
import { ObservedRun } from "./observed_run.ts";
import { Preparation, type ReleaseOutcome } from "./preparation.ts";
import type { Receipt } from "./receipts.ts";
import { Routes, type SessionReport } from "./routes.ts";

/** What a session is made of. */
export interface DeviceSessionOptions {
  readonly deviceId: string;
  readonly socket: DeviceSocket;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly trace: TraceListener;
}

/** One connection, usable from its first valid heartbeat until {@linkcode ended}. */
export class DeviceSession {
  readonly deviceId: string;
  readonly #options: DeviceSessionOptions;
  readonly #routes: Routes;
  readonly #declarations = new Declarations();
  readonly #usable = deferred<void>();
  readonly #ended = deferred<SessionEnd>();

  constructor(options: DeviceSessionOptions) {
    this.deviceId = options.deviceId;
    this.#options = options;
    this.#routes = new Routes(options.clock);
  }

  /** Resolves at the first valid heartbeat; before it no capability is known. */
  get usable(): Promise<void> {
    return this.#usable.promise;
  }

  /** Resolves when the connection is gone; never rejects. */
  get ended(): Promise<SessionEnd> {
    return this.#ended.promise;
  }

  /** The kinds and declarations of the last heartbeat. */
  get declarations(): Declarations {
    return this.#declarations;
  }

  /** One word for each observation, for reports and tests: what is proven, and what is not. */
  report(): SessionReport {
    return this.#routes.report();
  }

  /**
   * Asks for a preparation.
   *
   * @throws {CoreRuleBroken} for an unknown or unavailable kind, a missing capability or a request
   * id that was used on this connection; nothing was sent then.
   */
  prepare(request: {
    readonly sessionId: string;
    readonly configuration: Configuration;
    readonly requestId?: string;
  }): Preparation {
    const requestId = request.requestId ?? this.#options.ids.uuid();
    const { sessionId, configuration } = request;
    if (this.#routes.preparations.has(requestId)) {
      throw new CoreRuleBroken("the preparation request id is used");
    }
    const declaration = this.#declarations.admit(configuration);
    const preparation = new Preparation({
      requestId,
      sessionId,
      configuration,
      declaration,
    });
    this.#routes.preparations.set(requestId, preparation);
    const payload = { session_id: sessionId, configuration };
    this.#send("execution_prepare", requestId, payload);
    return preparation;
  }

  /**
   * Uses a ready reservation for one Run.
   *
   * @throws {CoreRuleBroken} without a reservation, after a start, or for a used Run id.
   */
  start(
    preparation: Preparation,
    run: { readonly input: MessageInput; readonly runId?: string },
  ): ObservedRun {
    const { admission } = preparation;
    const executorId = admission?.executorId;
    const runId = run.runId ?? this.#options.ids.uuid();
    if (preparation.status?.state !== "ready" || !admission || !executorId) {
      throw new CoreRuleBroken("the preparation is not ready");
    }
    this.#own(preparation);
    if (preparation.startedRunId) throw new CoreRuleBroken("started before");
    if (this.#routes.runs.has(runId)) {
      throw new CoreRuleBroken("the Run id is used");
    }
    preparation.startedRunId = runId;
    const observed = new ObservedRun(runId, preparation, this.#options.clock);
    this.#routes.runs.set(runId, observed);
    this.#send("execution_start", preparation.request.requestId, {
      executor_id: executorId,
      handle: admission.handle,
      run_id: runId,
      input: run.input,
    });
    return observed;
  }

  /** Gives a reservation back. @throws {CoreRuleBroken} before the first status named a handle. */
  release(preparation: Preparation): Promise<ReleaseOutcome> {
    this.#own(preparation);
    const handle = preparation.status?.handle;
    if (!handle) throw new CoreRuleBroken("the preparation has no handle");
    const outcome = preparation.expectRelease();
    const { requestId } = preparation.request;
    this.#send("execution_release", requestId, { handle });
    return outcome;
  }

  /**
   * Delivers input to a running Turn, with a durable receipt.
   *
   * @throws {CoreRuleBroken} for an unknown Run or while another input of it waits.
   */
  steer(runId: string, inputId: string, input: MessageInput): InputDelivery {
    const delivery = this.#run(runId).expectInput(inputId);
    const payload = { input_id: inputId, input, durable_receipt: true };
    this.#send("prompt_steer", runId, payload);
    return delivery;
  }

  /** Cancels a Run and waits for the receipt; the receipt then owns the outcome of the Run. */
  cancel(runId: string, deliveryId = `cancel:${runId}`): Promise<Receipt> {
    const { receipts } = this.#routes;
    const receipt = receipts.expect(deliveryId, runId, "cancellation");
    this.#send("prompt_cancel", runId, { delivery_id: deliveryId });
    const run = this.#routes.runs.get(runId);
    return run ? run.awaitCancel(receipt).then(() => receipt) : receipt;
  }

  /** Cancels a Run as cleanup after a failure of this Core: no receipt is asked for. */
  abandon(runId: string): void {
    this.#send("prompt_cancel", runId, undefined);
  }

  /** Delivers the result of a function call. The delivery id defaults to the call's. */
  functionResult(
    runId: string,
    result: Omit<FunctionResult, "delivery_id"> & {
      readonly delivery_id?: string;
    },
  ): Promise<Receipt> {
    const deliveryId = result.delivery_id ?? `function:${result.call_id}`;
    const receipt = this.#routes.receipts.expect(deliveryId, runId);
    this.#send("function_result", runId, {
      ...result,
      delivery_id: deliveryId,
    });
    return receipt;
  }

  /** Answers a permission request. */
  decide(
    requestId: string,
    decision: PermissionDecision,
  ): Promise<Receipt> {
    return this.#answer("permission_decision", requestId, decision);
  }

  /** Answers a user choice. */
  choose(askId: string, decision: UserChoiceDecision): Promise<Receipt> {
    return this.#answer("prompt_for_user_choice_decision", askId, decision);
  }

  /** Sends a request that one result frame answers. */
  exchange<T extends ExchangeType>(
    type: T,
    id: string,
    payload: CoreFrames[T],
  ): Promise<ExchangeOutcome> {
    const outcome = this.#routes.exchanges.expect(type, id);
    this.#send(type, id, payload);
    return outcome;
  }

  /** Tells the device to stop. It settles what it owns and closes the connection itself. */
  shutdownDevice(reason?: string): void {
    this.#send("device_shutdown", undefined, reason ? { reason } : undefined);
  }

  /**
   * Sends a frame as it is, outside every rule of Core and without an observation of its own. For
   * tests that play a wrong or repeating Core.
   */
  transmit(frame: Envelope): void {
    this.#options.trace(traceFrame("to_runtime", frame));
    this.#options.socket.send(frame);
  }

  /** Takes one text message of the socket. Ends the session when it breaks the protocol. */
  receive(text: string): void {
    if (this.#ended.settled) return;
    try {
      const heartbeat = readInbound(text, {
        declarations: this.#declarations,
        routes: this.#routes,
        trace: this.#options.trace,
      });
      if (heartbeat) this.#usable.resolve();
    } catch (error) {
      if (!(error instanceof ProtocolViolation)) throw error;
      const reason = error.frameType === "heartbeat"
        ? "invalid_heartbeat"
        : "violation";
      this.end({ reason, detail: error.message });
    }
  }

  /** Ends the session and every observation on it. The first end counts. */
  end(end: SessionEnd): void {
    if (this.#ended.settled) return;
    this.#declarations.clear();
    this.#ended.resolve(end);
    this.#usable.reject(new CoreRuleBroken(`the session ended: ${end.reason}`));
    this.#options.trace({
      direction: "core",
      type: "session_ended",
      id: this.deviceId,
      detail: end.detail ? `${end.reason} (${end.detail})` : end.reason,
    });
    this.#options.socket.end(end.reason);
    this.#routes.lose(end.reason);
  }

  /** A handle means nothing on another connection. */
  #own(preparation: Preparation): void {
    const { requestId } = preparation.request;
    if (this.#routes.preparations.get(requestId) !== preparation) {
      throw new CoreRuleBroken("a preparation of another connection");
    }
  }

  #run(runId: string): ObservedRun {
    const run = this.#routes.runs.get(runId);
    if (!run) throw new CoreRuleBroken("no such Run on this connection");
    return run;
  }

  async #answer<
    T extends "permission_decision" | "prompt_for_user_choice_decision",
  >(type: T, id: string, decision: CoreFrames[T]): Promise<Receipt> {
    const waiting = this.#routes.receipts.expect(decision.delivery_id, id);
    this.#send(type, id, decision);
    const receipt = await waiting;
    if (receipt.kind === "applied") {
      for (const run of this.#routes.runs.values()) run.closeInteraction(id);
    }
    return receipt;
  }

  #send<T extends keyof CoreFrames>(
    type: T,
    id: string | undefined,
    payload: CoreFrames[T],
  ): void {
    if (this.#ended.settled) throw new CoreRuleBroken("the session has ended");
    this.transmit(coreFrame(type, id, payload));
  }
}
