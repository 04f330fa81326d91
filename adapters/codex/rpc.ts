/**
 * Requests, answers, notifications and server requests over the pipe of one app-server. Owns the
 * table of pending requests and the one reader of the process; knows no method by name.
 */
import { type Child, WriteNotStarted } from "../../src/harness/child.ts";
import { type Clock, within } from "../../src/platform/clock.ts";
import { type Deferred, deferred } from "../../src/platform/deferred.ts";
import type { Log } from "../../src/platform/log.ts";

/** The server refused a request. Its message is native text: local use only. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  constructor(readonly code: number, message: string) {
    super(message);
  }
}

/** The process or its output ended before an answer came. */
export class RpcEnded extends Error {
  override readonly name = "RpcEnded";
}

/** Who is told of what the server sends on its own. Called by the reader, in order. */
export interface RpcHandlers {
  notification(method: string, params: unknown): void;
  /** Must answer through {@linkcode Rpc.answer} or {@linkcode Rpc.refuse}, now or later. */
  request(id: number | string, method: string, params: unknown): void;
  /** Awaited before the next line is read: what bounds what a slow observer piles up. */
  ready(): Promise<void>;
  /** No further line will come. Called once. */
  ended(error: Error | undefined): void;
}

/** How a request is sent. */
export interface RequestOptions {
  /** Milliseconds to the answer; absent waits as long as the process lives. */
  readonly timeout?: number;
  /** Called once, right after the complete write. */
  readonly written?: () => void;
  /** Called by the reader with the answer, before any later message is dispatched. */
  readonly answered?: (result: unknown) => void;
  /** Aborts the write; after the write it has no effect. */
  readonly signal?: AbortSignal;
}

interface Pending {
  readonly answer: Deferred<unknown>;
  readonly answered: ((result: unknown) => void) | undefined;
}

/** How long a write may block: the process does not read. */
const WRITE_TIMEOUT = 10_000;

/** The JSON-RPC connection of one process. */
export class Rpc {
  readonly #child: Child;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #pending = new Map<number, Pending>();
  #nextId = 1;
  #ended: Error | undefined;

  constructor(child: Child, clock: Clock, log: Log) {
    this.#child = child;
    this.#clock = clock;
    this.#log = log;
  }

  /** Reads until the output ends. Resolves then, never rejects. Call it once. */
  async read(handlers: RpcHandlers): Promise<void> {
    let failure: Error | undefined;
    try {
      for await (const message of this.#child.messages) {
        this.#dispatch(message, handlers);
        await handlers.ready();
      }
    } catch (error) {
      failure = error instanceof Error ? error : new Error("unreadable output");
      this.#log.warn("codex.output.failed", { error: failure });
    }
    this.#ended = new RpcEnded("codex: the native process ended");
    for (const { answer } of this.#pending.values()) answer.reject(this.#ended);
    this.#pending.clear();
    handlers.ended(failure);
  }

  /**
   * Sends a request and waits for its answer.
   *
   * @throws {WriteNotStarted} when nothing reached the process.
   * @throws {RpcError} when the server refused it.
   * @throws anything else when the outcome is unknown.
   */
  async request(
    method: string,
    params: object,
    options: RequestOptions = {},
  ): Promise<unknown> {
    if (this.#ended) throw new WriteNotStarted(this.#ended.message);
    const id = this.#nextId++;
    const answer = deferred<unknown>();
    this.#pending.set(id, { answer, answered: options.answered });
    try {
      await this.#write({ jsonrpc: "2.0", id, method, params }, options.signal);
      options.written?.();
      return options.timeout === undefined
        ? await answer.promise
        : await within(this.#clock, options.timeout, method, answer.promise);
    } finally {
      this.#pending.delete(id);
    }
  }

  /** Sends a notification. */
  async notify(method: string): Promise<void> {
    await this.#write({ jsonrpc: "2.0", method });
  }

  /** Answers a server request. Resolves after the complete write. */
  async answer(
    id: number | string,
    result: object,
    signal?: AbortSignal,
  ): Promise<void> {
    await this.#write({ jsonrpc: "2.0", id, result }, signal);
  }

  /** Refuses a server request with a fixed text. Never rejects: a dead process asks nothing. */
  async refuse(
    id: number | string,
    code: number,
    message: string,
  ): Promise<void> {
    try {
      await this.#write({ jsonrpc: "2.0", id, error: { code, message } });
    } catch (error) {
      this.#log.debug("codex.refusal.unwritten", {
        error: error instanceof Error ? error : String(error),
      });
    }
  }

  async #write(value: object, signal?: AbortSignal): Promise<void> {
    const limit = new AbortController();
    const timer = this.#clock.after(
      WRITE_TIMEOUT,
      () => limit.abort(new Error("codex: the native process does not read")),
    );
    try {
      const bounds = signal
        ? AbortSignal.any([signal, limit.signal])
        : limit.signal;
      await this.#child.write(value, bounds);
    } finally {
      timer.cancel();
    }
  }

  #dispatch(message: unknown, handlers: RpcHandlers): void {
    if (typeof message !== "object" || message === null) return;
    const { id, method, params, result, error } = message as Record<
      string,
      unknown
    >;
    const named = typeof method === "string";
    if (typeof id === "number" || typeof id === "string") {
      if (named) return handlers.request(id, method, params);
      return this.#settle(id, result, error);
    }
    if (named) return handlers.notification(method, params);
    this.#log.debug("codex.message.unclassified");
  }

  #settle(id: number | string, result: unknown, error: unknown): void {
    const pending = typeof id === "number" ? this.#pending.get(id) : undefined;
    if (!pending) return this.#log.debug("codex.answer.orphan");
    if (error !== undefined && error !== null) {
      const { code, message } = error as Record<string, unknown>;
      return pending.answer.reject(
        new RpcError(
          typeof code === "number" ? code : 0,
          typeof message === "string" ? message : "",
        ),
      );
    }
    pending.answered?.(result);
    pending.answer.resolve(result);
  }
}
