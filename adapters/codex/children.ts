/**
 * The child agents of one Turn: which run, whether all are done, and their facts in the order the
 * wire wants. Follows children also when nobody observes them: a Turn is not settled before they
 * are. Owns the child Turns of this Run; the facts of a child outlive it in {@linkcode ChildFacts}.
 */
import { within } from "../../src/platform/clock.ts";
import { type Deferred, deferred } from "../../src/platform/deferred.ts";
import type { TurnEvent } from "../../src/harness/contract.ts";
import type { ChildFacts } from "./child_facts.ts";
import { ChildTurn } from "./child_turn.ts";
import {
  coordinationOf,
  isDelegation,
  lifecycleOf,
  receiversOf,
} from "./coordination.ts";
import { MAX_CHILDREN } from "./limits.ts";
import {
  itemEvent,
  type NativeItem,
  turnEvent,
  usageEvent,
} from "./native_schema.ts";
import type { TurnHost } from "./turn_host.ts";

interface Child {
  readonly threadId: string;
  current: ChildTurn | undefined;
  /** A Turn of this child must begin: it was given work while it ran none. */
  expected: boolean;
  total: unknown;
}

/** Notifications of a thread that is not known yet; its parent's item may come after them. */
const MAX_EARLY = 512;

/** What children of one root Turn do. */
export class Children {
  readonly #host: TurnHost;
  readonly #facts: ChildFacts;
  readonly #rootThread: string;
  readonly #rootTurn: () => string | undefined;
  readonly #observed: boolean;
  readonly #children = new Map<string, Child>();
  readonly #announced = new Set<string>();
  readonly #early = new Map<string, [string, unknown][]>();
  /** Facts are read natively; whatever follows them waits its turn. */
  #chain: Promise<void> = Promise.resolve();
  #idle: Deferred<void> | undefined;
  #failed = false;

  constructor(parts: {
    readonly host: TurnHost;
    readonly facts: ChildFacts;
    readonly rootThread: string;
    readonly rootTurn: () => string | undefined;
    readonly observed: "observed" | "unobserved";
  }) {
    this.#host = parts.host;
    this.#facts = parts.facts;
    this.#rootThread = parts.rootThread;
    this.#rootTurn = parts.rootTurn;
    this.#observed = parts.observed === "observed";
  }

  /** Whether requests of this thread belong to the Turn. */
  knows(threadId: string): boolean {
    return this.#children.has(threadId);
  }

  /** Whether a fact could not be confirmed: the observation is not complete then. */
  get failed(): boolean {
    return this.#failed;
  }

  /** Whether a tool of a child runs: then the engine is silent for a reason. */
  get toolRuns(): boolean {
    return [...this.#children.values()].some(({ current }) =>
      current?.toolRuns
    );
  }

  /** Running child Turns as native thread and Turn ids. */
  running(): readonly { readonly threadId: string; readonly turnId: string }[] {
    return [...this.#children.values()].flatMap(({ threadId, current }) =>
      current ? [{ threadId, turnId: current.turnId }] : []
    );
  }

  /** A delegation item of the root thread. */
  rootItem(item: NativeItem, stage: "started" | "completed"): void {
    if (isDelegation(item)) this.#delegated(this.#rootThread, item, stage);
  }

  /** A notification of another thread. */
  notified(threadId: string, method: string, params: unknown): void {
    const child = this.#children.get(threadId) ?? this.#earlier(threadId);
    if (child) return this.#follow(child, method, params);
    const waiting = this.#early.get(threadId) ?? [];
    if (this.#early.size > MAX_CHILDREN || waiting.length >= MAX_EARLY) return;
    waiting.push([method, params]);
    this.#early.set(threadId, waiting);
  }

  /**
   * Resolves when no child works any more and everything about them was emitted. A child that was
   * given work and does not begin within its bound counts as unconfirmed.
   */
  async settled(): Promise<void> {
    if (this.#isBusy()) {
      this.#idle = deferred();
      const expectation = [...this.#children.values()].every((child) =>
        !child.current
      );
      if (expectation) await this.#awaitBeginning(this.#idle.promise);
      else await this.#idle.promise;
      if (this.#isBusy()) return await this.settled();
    }
    await this.#chain;
  }

  async #awaitBeginning(idle: Promise<void>): Promise<void> {
    const { clock, limits, log } = this.#host;
    try {
      await within(clock, limits.childFacts, "child Turn", idle);
    } catch (error) {
      if ([...this.#children.values()].some((child) => child.current)) return;
      log.warn("codex.child.never_began", {
        error: error instanceof Error ? error : undefined,
      });
      for (const child of this.#children.values()) child.expected = false;
      this.#failed = true;
    }
  }

  /** The process is gone: nothing of the children will be heard any more. */
  lost(): void {
    for (const child of this.#children.values()) {
      child.current = undefined;
      child.expected = false;
    }
    this.#failed ||= this.#children.size > 0;
    this.#idle?.resolve();
  }

  #isBusy(): boolean {
    return [...this.#children.values()].some((child) =>
      child.current || child.expected
    );
  }

  /** A child of an earlier Turn of this thread works again. */
  #earlier(threadId: string): Child | undefined {
    if (!this.#facts.known(threadId)) return undefined;
    const child = this.#adopt(threadId);
    this.#announce(threadId);
    return child;
  }

  #adopt(threadId: string): Child | undefined {
    const known = this.#children.get(threadId);
    if (known) return known;
    if (this.#children.size >= MAX_CHILDREN) {
      this.#failed = true;
      return undefined;
    }
    const child: Child = {
      threadId,
      current: undefined,
      expected: false,
      total: this.#facts.total(threadId),
    };
    this.#children.set(threadId, child);
    return child;
  }

  #delegated(
    actor: string,
    item: NativeItem,
    stage: "started" | "completed",
  ): void {
    const done = stage === "completed" && item.status === "completed";
    for (const receiver of receiversOf(item)) {
      if (!done) continue;
      const child = this.#adopt(receiver);
      if (!child) continue;
      if (item.tool === "spawnAgent") {
        child.expected = true;
        this.#facts.spawned(receiver, {
          parent: actor,
          parentTurn: this.#turnOf(actor),
          item: item.id,
          instructions: typeof item.prompt === "string" ? item.prompt : null,
        });
        this.#announce(receiver);
      }
      if (item.tool === "sendInput" && !child.current) child.expected = true;
    }
    const coordination = coordinationOf(item, stage);
    if (coordination && actor === this.#rootThread) {
      this.#emit({ type: "subagent_coordination", payload: coordination });
    }
    const lifecycle = done ? lifecycleOf(item, actor) : undefined;
    if (lifecycle) {
      this.#announce(lifecycle.native_id);
      this.#emit({ type: "subagent_lifecycle", payload: lifecycle });
    }
    for (const receiver of receiversOf(item)) this.#replay(receiver);
  }

  #turnOf(actor: string): string {
    return actor === this.#rootThread
      ? this.#rootTurn() ?? ""
      : this.#children.get(actor)?.current?.turnId ?? "";
  }

  #replay(threadId: string): void {
    const child = this.#children.get(threadId);
    const early = this.#early.get(threadId);
    if (!child || !early) return;
    this.#early.delete(threadId);
    for (const [method, params] of early) this.#follow(child, method, params);
  }

  #follow(child: Child, method: string, params: unknown): void {
    switch (method) {
      case "turn/started":
      case "turn/completed":
        return this.#turn(child, method, params);
      case "item/started":
      case "item/completed":
        return this.#item(child, method, params);
      case "thread/tokenUsage/updated": {
        const usage = usageEvent.safeParse(params);
        if (!usage.success) return;
        child.total = usage.data.tokenUsage.total;
        this.#facts.used(child.threadId, child.total);
        child.current?.used(child.total);
        return;
      }
      default:
        return;
    }
  }

  #turn(child: Child, method: string, params: unknown): void {
    const event = turnEvent.safeParse(params);
    if (!event.success) return;
    const { turn } = event.data;
    if (method === "turn/started") {
      child.expected = false;
      child.current = new ChildTurn(child.threadId, turn, child.total);
      this.#emit(child.current.begun());
      return;
    }
    if (child.current?.turnId !== turn.id) return;
    for (const ended of child.current.ended(turn)) this.#emit(ended);
    child.current = undefined;
    if (this.running().length === 0) this.#idle?.resolve();
  }

  #item(child: Child, method: string, params: unknown): void {
    const event = itemEvent.safeParse(params);
    const { current } = child;
    if (!event.success || event.data.turnId !== current?.turnId) return;
    const { item } = event.data;
    const stage = method === "item/started" ? "started" : "completed";
    if (isDelegation(item)) this.#delegated(child.threadId, item, stage);
    if (stage === "started") return current.opened(item);
    for (const emitted of current.completed(item)) this.#emit(emitted);
  }

  /** Reads the facts of a child once and emits its identity, parents first. */
  #announce(threadId: string): void {
    if (!this.#observed || this.#announced.has(threadId)) return;
    this.#announced.add(threadId);
    this.#chain = this.#chain.then(async () => {
      try {
        const identity = await this.#facts.identity(threadId);
        this.#host.emit({ type: "subagent_identity", payload: identity });
      } catch (error) {
        this.#failed = true;
        this.#host.log.warn("codex.child.unconfirmed", {
          error: error instanceof Error ? error : String(error),
        });
      }
    });
  }

  #emit(event: TurnEvent): void {
    if (!this.#observed) return;
    this.#chain = this.#chain.then(() => {
      if (!this.#failed) this.#host.emit(event);
    });
  }
}
