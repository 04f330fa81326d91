/**
 * What is proved about the child agents of one Executor: parent, spawning item, native creation
 * time. Read from the engine once per child and kept over Turns.
 */
import type { SubagentIdentity } from "../../src/protocol/subagents.ts";
import { type Clock, sleep } from "../../src/platform/clock.ts";
import type { CodexLimits } from "./limits.ts";
import { type NativeThread, threadReadAnswer } from "./native_schema.ts";
import { type Rpc, RpcError } from "./rpc.ts";

/** Between two reads of a child that is not readable yet, in milliseconds. */
const READ_PAUSE = 25;

/** How a child came to be, as its parent's item tells. */
export interface SpawnFacts {
  readonly parent: string;
  readonly parentTurn: string;
  readonly item: string;
  readonly instructions: string | null;
}

/** The children of an Executor. */
export class ChildFacts {
  readonly #rpc: Rpc;
  readonly #limits: CodexLimits;
  readonly #clock: Clock;
  readonly #spawned = new Map<string, SpawnFacts>();
  readonly #identities = new Map<string, SubagentIdentity>();
  readonly #totals = new Map<string, unknown>();

  constructor(rpc: Rpc, limits: CodexLimits, clock: Clock) {
    this.#rpc = rpc;
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Whether the thread is a child that an earlier Turn saw. */
  known(threadId: string): boolean {
    return this.#spawned.has(threadId);
  }

  /** A child was spawned. */
  spawned(threadId: string, facts: SpawnFacts): void {
    if (!this.#spawned.has(threadId)) this.#spawned.set(threadId, facts);
  }

  /** The counters of a child thread over its whole history. */
  used(threadId: string, total: unknown): void {
    this.#totals.set(threadId, total);
  }

  /** The counters last seen. */
  total(threadId: string): unknown {
    return this.#totals.get(threadId);
  }

  /**
   * The proved identity of a child.
   *
   * @throws when the engine does not confirm it within its bound.
   */
  async identity(threadId: string): Promise<SubagentIdentity> {
    const known = this.#identities.get(threadId);
    if (known) return known;
    const facts = this.#spawned.get(threadId);
    if (!facts) throw new Error("codex: a child of unknown origin");
    const thread = await this.#confirmed(threadId, facts.parent);
    const identity: SubagentIdentity = {
      native_id: threadId,
      parent_native_id: facts.parent,
      native_created_at: Math.floor(thread.createdAt ?? 0),
      parent_turn_id: facts.parentTurn,
      source_item_id: facts.item,
      name: thread.agentNickname ?? null,
      instructions: facts.instructions,
    };
    this.#identities.set(threadId, identity);
    return identity;
  }

  /** A child that was just spawned may not be readable yet: asked again until the bound. */
  async #confirmed(threadId: string, parent: string): Promise<NativeThread> {
    const { childFacts } = this.#limits;
    const deadline = this.#clock.monotonic() + childFacts;
    for (;;) {
      const left = deadline - this.#clock.monotonic();
      const thread = await this.#read(threadId, Math.max(0, left));
      const confirmed = thread?.id === threadId &&
        thread.parentThreadId === parent &&
        typeof thread.createdAt === "number";
      if (thread && confirmed) return thread;
      if (left <= 0) {
        throw new Error("codex: subagent facts could not be confirmed");
      }
      await sleep(this.#clock, READ_PAUSE);
    }
  }

  async #read(
    threadId: string,
    timeout: number,
  ): Promise<NativeThread | undefined> {
    try {
      const answer = await this.#rpc.request("thread/read", {
        threadId,
        includeTurns: false,
      }, { timeout });
      return threadReadAnswer.parse(answer).thread;
    } catch (error) {
      if (error instanceof RpcError) return undefined; // not readable yet
      throw error;
    }
  }
}
