/**
 * The Executor of one Session: one process, one root thread, one Turn at a time. Owns the process
 * until its end is confirmed; routes what the engine says to the Turn it belongs to.
 */
import type {
  Executor,
  PreparedConfiguration,
  StartedTurn,
  TurnStart,
} from "../../src/harness/contract.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { deferred } from "../../src/platform/deferred.ts";
import type { Ids } from "../../src/platform/ids.ts";
import type { Log } from "../../src/platform/log.ts";
import type { AppServer } from "./app_server.ts";
import { ChildFacts } from "./child_facts.ts";
import { recordTools, type SessionHome, toolFingerprint } from "./home.ts";
import { argumentRefusal, nativeInput } from "./input.ts";
import type { CodexLimits } from "./limits.ts";
import { turnEvent, turnRequest, usageEvent } from "./native_schema.ts";
import { turnParameters } from "./options.ts";
import { Outbox } from "./outbox.ts";
import { RetiredTurns } from "./retired_turns.ts";
import { abortable } from "./steering.ts";
import type { BoundThread } from "./thread.ts";
import { CodexTurn } from "./turn.ts";
import { assembleTurn } from "./turn_assembly.ts";
import type { TurnParts } from "./turn_parts.ts";
import { NO_HISTORY, readTotal, type ThreadTotal } from "./usage.ts";

/** What an Executor is made of. */
export interface ExecutorParts {
  readonly server: AppServer;
  readonly thread: BoundThread;
  readonly configuration: PreparedConfiguration;
  readonly home: SessionHome;
  readonly permissions: "unattended" | "ask";
  readonly limits: CodexLimits;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Removes what the preparation wrote; called after a confirmed close. */
  readonly cleanUp: () => Promise<void>;
}

interface Current {
  readonly turn: CodexTurn;
  readonly parts: TurnParts;
}

/** See the file comment. */
export class CodexExecutor implements Executor {
  readonly #parts: ExecutorParts;
  readonly #retired = deferred<string>();
  readonly #facts: ChildFacts;
  readonly #retiredTurns = new RetiredTurns();
  #current: Current | undefined;
  #ended: Promise<void> | undefined;
  #total: ThreadTotal;
  #reusable = true;
  #recorded = false;
  #closing: Promise<void> | undefined;

  constructor(parts: ExecutorParts) {
    this.#parts = parts;
    this.#facts = new ChildFacts(parts.server.rpc, parts.limits, parts.clock);
    this.#recorded = parts.thread.resumed;
    // The engine repeats the totals of a history; without that report they are unknown, not zero.
    this.#total = parts.thread.resumed ? {} : NO_HISTORY;
    parts.server.attach({
      notification: (method, params) => this.#notified(method, params),
      request: (id, method, params) => this.#requested(id, method, params),
      ready: () => this.#current?.parts.outbox.ready() ?? Promise.resolve(),
      ended: () => {
        this.#ended ??= this.#processEnded();
      },
    });
  }

  get retired(): Promise<string> {
    return this.#retired.promise;
  }

  async startTurn(start: TurnStart): Promise<StartedTurn> {
    const refusal = this.#refusal(start);
    if (refusal) return { error: refusal };
    const outbox = new Outbox(start.sink);
    const parts = assembleTurn({
      ...this.#parts,
      rpc: this.#parts.server.rpc,
      sink: start.sink,
      outbox,
      baseline: this.#total,
      facts: this.#facts,
      rootTurn: () => this.#current?.turn.nativeId,
      lose: (reason) => this.#lose(reason),
    });
    const turn = new CodexTurn(parts);
    this.#current = { turn, parts };
    try {
      await this.#recordTools();
    } catch (error) {
      this.#current = undefined;
      turn.dispose();
      return { error: error instanceof Error ? error : new Error("record") };
    }
    const begun = await turn.begin(
      {
        ...turnParameters(this.#parts.configuration),
        threadId: this.#parts.thread.id,
        clientUserMessageId: this.#parts.ids.uuid(),
        input: nativeInput(start.input),
      },
      start.signal,
    );
    if (begun.outcome === "unsubmitted") {
      this.#current = undefined;
      return { error: begun.error };
    }
    this.#followSettlement(turn);
    return begun.error ? { turn, error: begun.error } : { turn };
  }

  close(signal: AbortSignal): Promise<void> {
    this.#retired.resolve("closed");
    this.#closing ??= this.#runClose().finally(() => {
      this.#closing = undefined;
    });
    return abortable(signal, this.#closing);
  }

  #refusal(start: TurnStart): Error | undefined {
    const fail = (reason: string) => new Error(`codex: ${reason}`);
    const argument = argumentRefusal(start);
    if (argument !== undefined) return fail(argument);
    if (this.#retired.settled) return fail("executor unavailable");
    if (this.#current && !this.#current.turn.over) {
      return fail("previous turn has not settled");
    }
    return this.#reusable ? undefined : fail("executor requires retirement");
  }

  /** Before the first Turn writes the history: a resume must know its tools. */
  async #recordTools(): Promise<void> {
    if (this.#recorded) return;
    const { home, thread, configuration } = this.#parts;
    const fingerprint = toolFingerprint(configuration.functionTools);
    await recordTools(home, thread.id, fingerprint);
    this.#recorded = true;
  }

  #followSettlement(turn: CodexTurn): void {
    turn.awaitSettlement(new AbortController().signal).then((settlement) => {
      if (!settlement.reusable) {
        this.#reusable = false;
        this.#retired.resolve(settlement.reason);
      }
    }, () => {
      this.#reusable = false;
      this.#retired.resolve("cancellation_unconfirmed");
    });
  }

  #notified(method: string, params: unknown): void {
    const named = turnRequest.safeParse(params);
    if (!named.success) return;
    const { threadId } = named.data;
    const root = threadId === this.#parts.thread.id;
    const current = this.#current;
    if (method === "serverRequest/resolved") {
      const id = named.data.requestId;
      if (typeof id === "number" || typeof id === "string") {
        current?.parts.interactions.resolved(id);
      }
      return;
    }
    if (!root) {
      if (current && !current.turn.over) {
        current.turn.notified(threadId, method, params);
      }
      return;
    }
    if (method === "thread/tokenUsage/updated") return this.#used(params);
    if (method === "turn/started" || method === "turn/completed") {
      return this.#turnEvent(method, params);
    }
    const turnId = named.data.turnId;
    if (typeof turnId !== "string") return;
    if (this.#belongs(turnId)) current?.turn.notified(threadId, method, params);
  }

  #turnEvent(method: string, params: unknown): void {
    const event = turnEvent.safeParse(params);
    if (!event.success) {
      return this.#lose("codex: a native Turn event lacks a required member");
    }
    const { turn } = event.data;
    if (!this.#belongs(turn.id)) return;
    if (method === "turn/started") {
      return this.#current?.turn.nativeStarted(turn.id);
    }
    this.#retiredTurns.add(turn.id);
    this.#current?.turn.nativeCompleted(turn);
  }

  /** Whether a native Turn id is the current one. A retired one is late; an unknown one is a fault. */
  #belongs(turnId: string): boolean {
    const turn = this.#current?.turn;
    if (this.#retiredTurns.has(turnId)) return false;
    if (turn && !turn.over) {
      if (turn.nativeId === undefined) turn.bind(turnId);
      if (turn.nativeId === turnId) return true;
    }
    this.#lose("codex: the engine runs a Turn that nobody started");
    return false;
  }

  #used(params: unknown): void {
    const event = usageEvent.safeParse(params);
    if (!event.success) return;
    this.#total = readTotal(event.data.tokenUsage.total);
    const current = this.#current;
    if (!current || current.turn.over) return;
    if (event.data.turnId === current.turn.nativeId) {
      current.parts.observation.used(this.#total);
    } else current.parts.observation.history(this.#total);
  }

  /** Every server request is answered: one left open would hang the engine. */
  #requested(id: number | string, method: string, params: unknown): void {
    const { rpc } = this.#parts.server;
    const named = turnRequest.safeParse(params);
    const current = this.#current;
    const active = current && !current.turn.over && named.success &&
      (named.data.threadId === this.#parts.thread.id
        ? named.data.turnId === current.turn.nativeId ||
          typeof named.data.turnId !== "string"
        : current.parts.children.knows(named.data.threadId));
    if (!active) {
      rpc.refuse(id, -32600, "the request does not belong to the active turn");
      return;
    }
    if (method === "item/tool/call") {
      if (named.data.threadId === this.#parts.thread.id) {
        return current.parts.functions.called(id, params);
      }
      rpc.refuse(id, -32600, "children have no functions");
      return;
    }
    if (!current.parts.interactions.asked(id, method, params)) {
      rpc.refuse(id, -32601, "no handler for this method");
    }
  }

  /** The native execution is in an unknown state: it is ended, not repaired. */
  #lose(reason: string): void {
    this.#reusable = false;
    this.#parts.log.warn("codex.executor.lost", { reason });
    this.#retired.resolve("executor_invalidated");
    this.#parts.server.close().catch((error) => {
      this.#parts.log.warn("codex.close.unconfirmed", { error });
    });
  }

  async #processEnded(): Promise<void> {
    const { server, log } = this.#parts;
    this.#reusable = false;
    if (!this.#retired.settled) {
      log.warn("codex.process.ended", { stderr: server.stderrTail() });
    }
    this.#retired.resolve("native_execution_unavailable");
    const gone = server.closeProcess().then(() => true, (error) => {
      log.warn("codex.close.unconfirmed", { error });
      return false;
    });
    const current = this.#current;
    if (current && !current.turn.over) await current.turn.nativeEnded(gone);
    await gone;
  }

  async #runClose(): Promise<void> {
    const { server, log, cleanUp } = this.#parts;
    const current = this.#current;
    if (current && !current.turn.over && !this.#ended) {
      try {
        await current.turn.cancel(new AbortController().signal);
      } catch (error) {
        log.warn("codex.close.cancel_failed", {
          error: error instanceof Error ? error : String(error),
        });
      }
    }
    await server.close();
    await this.#ended;
    await cleanUp();
  }
}
