// Owns which Runs are routed and which Run an interaction id belongs to.
import type { PendingInteraction, Run } from "./run.ts";

/** The two kinds of questions; each has its own ids. */
export type InteractionKind = PendingInteraction["kind"];

interface Route {
  readonly run: Run;
  readonly interaction: PendingInteraction;
}

/** See the file comment. */
export class Runs {
  readonly #runs = new Map<string, Run>();
  readonly #routes: Readonly<Record<InteractionKind, Map<string, Route>>> = {
    permission: new Map(),
    user_choice: new Map(),
  };

  all(): readonly Run[] {
    return [...this.#runs.values()];
  }

  get count(): number {
    return this.#runs.size;
  }

  /** Questions that wait for a decision. */
  get openInteractions(): number {
    return this.#routes.permission.size + this.#routes.user_choice.size;
  }

  get(runId: string): Run | undefined {
    return this.#runs.get(runId);
  }

  add(run: Run): void {
    this.#runs.set(run.id, run);
  }

  /** Its questions were forgotten when it was claimed. */
  remove(run: Run): void {
    if (this.#runs.get(run.id) === run) this.#runs.delete(run.id);
  }

  /** Routes a question to its Run before it is sent. */
  ask(run: Run, id: string, interaction: PendingInteraction): void {
    this.#routes[interaction.kind].set(id, { run, interaction });
  }

  route(kind: InteractionKind, id: string): Route | undefined {
    return this.#routes[kind].get(id);
  }

  /** Forgets a question, of either kind when none is named. */
  dropRoute(id: string, kind?: InteractionKind): void {
    if (kind !== "user_choice") this.#routes.permission.delete(id);
    if (kind !== "permission") this.#routes.user_choice.delete(id);
  }

  /** Forgets every question of a Run. */
  dropRoutes(run: Run): void {
    for (const routes of Object.values(this.#routes)) {
      for (const [id, route] of routes) {
        if (route.run === run) routes.delete(id);
      }
    }
  }
}
