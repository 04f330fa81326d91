/**
 * Owns a Harness whose every native effect waits for the scenario: preparation, write, receipt,
 * settlement, close. It is harsher than a real one: it settles nothing by itself, delivers late
 * resources after an abort, and counts every call so that a second one is seen.
 */
import { type Deferred, deferred } from "../../src/platform/deferred.ts";
import {
  type DiscoveredHarness,
  type Executor,
  type ExecutorFactory,
  PreparationFailed,
  type StartedTurn,
  type TurnStart,
} from "../../src/harness/contract.ts";
import { ControlledTurn } from "./controlled_turn.ts";
import { contractDeclaration } from "./declaration_fixture.ts";
import { STEP_LIMIT_MS } from "./frame_inbox.ts";
import type { HarnessPlan, Step } from "./scenario.ts";

/** Native effects counted over a whole scenario. */
export interface NativeCounts {
  starts: number;
  cancels: number;
  inputs: number;
  submissions: number;
  close_attempts: number;
  confirmed_closes: number;
}

/** The controlled Harness of one scenario. */
export class ControlledHarness {
  readonly counts: NativeCounts = {
    starts: 0,
    cancels: 0,
    inputs: 0,
    submissions: 0,
    close_attempts: 0,
    confirmed_closes: 0,
  };
  readonly plan: HarnessPlan;
  readonly turns: Map<string, ControlledTurn> = new Map();
  /** After a loss the native side settles as soon as it is cancelled. */
  settlesWhenCancelled = false;
  #failingCloses: number;
  #failingPreparations: number;
  readonly #prepared = deferred();
  readonly #closed = deferred();

  constructor(plan: HarnessPlan) {
    this.plan = plan;
    this.#failingCloses = plan.failing_closes;
    this.#failingPreparations = plan.prepare === "fails_retaining_once" ? 1 : 0;
  }

  /** What the registry is given. */
  discovered(binding: "bound" | "unbound" = "unbound"): DiscoveredHarness {
    const factory: ExecutorFactory = {
      checkConfiguration: () => undefined,
      checkInput: () => undefined,
      prepare: () => this.#prepare(),
    };
    return {
      kind: "contract",
      available: true,
      version: "1",
      declaration: contractDeclaration(this.plan.unsupported, binding),
      factory,
    };
  }

  /** Carries out a `native` step. @throws {Error} when what it needs does not happen in time. */
  async act(step: Extract<Step, { step: "native" }>): Promise<void> {
    if (step.do === "prepared") return this.#prepared.resolve();
    if (step.do === "closed") {
      return await soon("a close", this.#closed.promise);
    }
    const turn = this.turns.get(step.run ?? "");
    if (!turn) throw new Error("no such native Turn");
    await turn.act(step);
  }

  /** Lets the native Turn of this Run settle. */
  settle(runId: string): void {
    const turn = this.turns.get(runId);
    if (!turn) throw new Error("no such native Turn");
    turn.settle();
  }

  /** From now on nothing native holds out: the end of a scenario, or the loss of its connection. */
  release(): void {
    this.settlesWhenCancelled = true;
    this.#prepared.resolve();
    for (const turn of this.turns.values()) turn.settleIfCancelled();
  }

  async #prepare(): Promise<Executor> {
    if (this.plan.prepare === "fails") throw new Error("fixture: no Executor");
    if (this.plan.prepare === "held") await this.#prepared.promise;
    if (this.#failingPreparations > 0) {
      this.#failingPreparations--;
      throw new PreparationFailed("fixture: unclean", this.#executor());
    }
    return this.#executor();
  }

  #executor(): Executor {
    const retired = deferred<string>();
    let current: ControlledTurn | undefined;
    return {
      retired: retired.promise,
      startTurn: (start: TurnStart): Promise<StartedTurn> => {
        this.counts.starts++;
        if (this.plan.start === "refuses") {
          return Promise.resolve({ error: new Error("fixture: refused") });
        }
        current = new ControlledTurn(this, start);
        this.turns.set(start.runId, current);
        return Promise.resolve({ turn: current });
      },
      close: () => {
        this.counts.close_attempts++;
        if (this.#failingCloses > 0) {
          this.#failingCloses--;
          return Promise.reject(new Error("fixture: close failed"));
        }
        this.counts.confirmed_closes++;
        current?.settle();
        retired.resolve("closed");
        this.#closed.resolve();
        return Promise.resolve();
      },
    };
  }
}

/** Waits for an event of the replay. @throws {Error} naming it when it does not come. */
export async function soon<T>(what: string, event: Promise<T>): Promise<T> {
  const late: Deferred<never> = deferred();
  const timer = setTimeout(
    () => late.reject(new Error(`${what} did not happen`)),
    STEP_LIMIT_MS,
  );
  try {
    return await Promise.race([event, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
