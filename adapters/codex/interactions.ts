/**
 * Native questions and permission requests of one Turn. A reply is written once; a decision counts
 * as applied only when the engine reports the request as resolved.
 */
import { WriteNotStarted } from "../../src/harness/child.ts";
import { UnknownInteraction } from "../../src/harness/contract.ts";
import { type Timer, within } from "../../src/platform/clock.ts";
import { type Deferred, deferred } from "../../src/platform/deferred.ts";
import {
  bindUserChoice,
  type PermissionDecision,
  type UserChoiceDecision,
} from "../../src/protocol/interactions.ts";
import { MAX_PENDING_INTERACTIONS } from "./limits.ts";
import { describe, type Question } from "./questions.ts";
import type { TurnHost } from "./turn_host.ts";

interface Pending {
  readonly requestId: number | string;
  readonly question: Question;
  readonly timer: Timer;
  readonly resolved: Deferred<void>;
  state: "asked" | "answered";
}

/** What waits for a decision. */
export class Interactions {
  readonly #host: TurnHost;
  readonly #mode: "unattended" | "ask";
  readonly #pending = new Map<string, Pending>();
  #open = true;

  constructor(host: TurnHost, mode: "unattended" | "ask") {
    this.#host = host;
    this.#mode = mode;
  }

  /** Whether a question waits: then the engine is silent for a reason. */
  get waiting(): boolean {
    return this.#pending.size > 0;
  }

  /**
   * A native request. Asked where asking is allowed, declined otherwise; false when the method is
   * no question.
   */
  asked(id: number | string, method: string, params: unknown): boolean {
    const question = describe(method, params, this.#host.ids);
    if (question === undefined) return false;
    if (question === "malformed") {
      this.#host.rpc.refuse(id, -32602, "the request cannot be put");
      return true;
    }
    const full = this.#pending.size >= MAX_PENDING_INTERACTIONS;
    if (this.#mode === "unattended" || !this.#open || full) {
      this.#decline(id, question);
      return true;
    }
    const timeout = question.timeout ?? this.#host.limits.question;
    this.#pending.set(question.id, {
      requestId: id,
      question,
      resolved: deferred(),
      timer: this.#host.clock.after(timeout, () => this.#expire(question.id)),
      state: "asked",
    });
    this.#host.emit(question.event);
    return true;
  }

  /** Answers a permission request. */
  async permit(
    requestId: string,
    decision: PermissionDecision,
    signal: AbortSignal,
  ): Promise<void> {
    const pending = this.#asked(requestId);
    if (pending?.question.kind !== "permission") {
      throw new UnknownInteraction("codex: the permission is not pending");
    }
    if (decision.updated_input !== undefined) {
      throw new Error("codex: the engine takes no changed tool input");
    }
    const verdict = decision.approved ? "approve" : "decline";
    await this.#answer(pending, pending.question.reply(verdict), signal);
  }

  /** Answers a question. Omitted questions stay unanswered. */
  async choose(
    askId: string,
    decision: UserChoiceDecision,
    signal: AbortSignal,
  ): Promise<void> {
    const pending = this.#asked(askId);
    if (pending?.question.kind !== "choice") {
      throw new UnknownInteraction("codex: the question is not pending");
    }
    const bound = bindUserChoice(pending.question.questions, decision);
    if (!bound.ok) throw new Error(`codex: ${bound.reason}`);
    await this.#answer(pending, pending.question.reply(bound.value), signal);
  }

  /** The engine settled a request, by our reply or by itself. */
  resolved(requestId: number | string): void {
    for (const [id, pending] of this.#pending) {
      if (pending.requestId !== requestId) continue;
      pending.timer.cancel();
      this.#pending.delete(id);
      pending.resolved.resolve();
      if (pending.state === "asked") {
        this.#host.emit({ type: "permission_cancel", requestId: id });
      }
    }
  }

  /** The Turn ended: what still waits is withdrawn. */
  end(): void {
    this.#open = false;
    for (const [id, pending] of this.#pending) {
      pending.timer.cancel();
      pending.resolved.reject(
        new UnknownInteraction("codex: the Turn of the request has ended"),
      );
      if (pending.state === "asked") {
        this.#host.emit({ type: "permission_cancel", requestId: id });
      }
    }
    this.#pending.clear();
  }

  #asked(id: string): Pending | undefined {
    const pending = this.#pending.get(id);
    return pending?.state === "asked" ? pending : undefined;
  }

  async #answer(
    pending: Pending,
    reply: object,
    signal: AbortSignal,
  ): Promise<void> {
    const { rpc, clock, limits } = this.#host;
    pending.state = "answered";
    try {
      await rpc.answer(pending.requestId, reply, signal);
    } catch (error) {
      if (error instanceof WriteNotStarted) pending.state = "asked";
      throw error;
    }
    await within(clock, limits.decision, "decision", pending.resolved.promise);
  }

  #expire(id: string): void {
    const pending = this.#asked(id);
    if (!pending) return;
    this.#pending.delete(id);
    this.#host.emit({ type: "permission_cancel", requestId: id });
    this.#decline(pending.requestId, pending.question);
  }

  #decline(id: number | string, question: Question): void {
    const reply = question.kind === "permission"
      ? question.reply("decline")
      : question.reply(new Map());
    this.#host.rpc.answer(id, reply).catch((error) => {
      this.#host.log.debug("codex.decline.unwritten", { error });
    });
  }
}
