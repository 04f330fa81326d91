// What must be true after every step, whatever the seed does: read from the frames that were written,
// from what the scripted engine was asked, and from the router's own status.
import { assert } from "@std/assert";
import type { Router } from "../../src/runtime/router.ts";
import type { SentFrame } from "../runtime/fake_connection.ts";
import type {
  ScriptedExecutor,
  ScriptedFactory,
  ScriptedTurn,
} from "../runtime/scripted_harness.ts";

/** Frames that a Run emits; none of them may follow its `done`. */
const RUN_OUTPUT: ReadonlySet<string> = new Set([
  "delta",
  "thinking",
  "usage",
  "error",
  "done",
  "function_call",
  "permission_request",
  "prompt_for_user_choice",
]);

interface HandleView {
  revision: number;
  readonly text: Map<number, string>;
  state: string;
}

interface RunView {
  started: boolean;
  done: boolean;
  error: boolean;
  deltas: number;
}

/** What a steer, decision or result must have reached before a receipt may claim it. */
export interface NativeFacts {
  /** Native calls of an input, by Run and input id. */
  readonly writtenInputs: Set<string>;
  readonly acceptedInputs: Set<string>;
  /** Applied answers: kind, interaction and content. */
  readonly appliedAnswers: Set<string>;
}

/** See the file comment. */
export class Observer {
  readonly #factory: ScriptedFactory;
  readonly #handles = new Map<string, HandleView>();
  readonly #runs = new Map<string, RunView>();
  readonly #receipts = new Set<string>();
  readonly facts: NativeFacts = {
    writtenInputs: new Set(),
    acceptedInputs: new Set(),
    appliedAnswers: new Set(),
  };
  /** Delivery ids of cancellations, which alone prove a settlement. */
  readonly cancels = new Set<string>();
  /** What each delivered answer said, in the words of `appliedAnswers`. */
  readonly answers = new Map<string, string>();

  constructor(factory: ScriptedFactory) {
    this.#factory = factory;
  }

  run(id: string): RunView {
    let view = this.#runs.get(id);
    if (view === undefined) {
      view = { started: false, done: false, error: false, deltas: 0 };
      this.#runs.set(id, view);
    }
    return view;
  }

  /** Runs whose start was published and whose end was not. */
  unfinishedRuns(): string[] {
    return [...this.#runs].filter(([, { started, done }]) => started && !done)
      .map(([id]) => id);
  }

  /** Called for each frame at the moment it is written. */
  frame(frame: SentFrame): void {
    if (frame.type === "preparation_status") return this.#status(frame);
    if (RUN_OUTPUT.has(frame.type)) return this.#output(frame);
    if (frame.type === "prompt_steer_ack") return this.#inputReceipt(frame);
    if (frame.type === "interaction_decision_ack") this.#receipt(frame);
  }

  #status({ payload }: SentFrame): void {
    if (payload.state === "rejected") {
      if (payload.error_code === "executor_unavailable") {
        this.#assertNothingRan(payload.executor_id);
      }
      return;
    }
    const text = JSON.stringify(payload);
    const view = this.#handles.get(payload.handle);
    if (view === undefined) {
      this.#handles.set(payload.handle, {
        revision: payload.revision,
        text: new Map([[payload.revision, text]]),
        state: payload.state,
      });
      return;
    }
    const said = view.text.get(payload.revision);
    assert(said === undefined || said === text, "one revision says two things");
    assert(payload.revision >= view.revision, "revisions left out of order");
    assert(
      view.state !== "started" || payload.state === "started",
      "a handle changed after it was handed over",
    );
    if (payload.state === "started") {
      const run = this.run(payload.run_id);
      assert(run.started || !run.done, "started left after done");
      run.started = true;
    }
    view.revision = payload.revision;
    view.state = payload.state;
    view.text.set(payload.revision, text);
  }

  /** Whether no Turn was made and the Executor is gone: what `executor_unavailable` promises. */
  #assertNothingRan(executorId: string): void {
    const executor = this.executorOf.get(executorId);
    if (executor === undefined) return;
    assert(executor.closedForGood, "unavailable, but not closed");
    assert(
      executor.turns.every(({ ended }) => ended),
      "unavailable, but a Turn was started",
    );
  }

  /** Filled from `ready` statuses by the driver. */
  readonly executorOf = new Map<string, ScriptedExecutor>();

  #output({ type, id = "", payload }: SentFrame): void {
    const view = this.run(id);
    assert(!view.done, `${type} of a Run after its done`);
    if (type === "error") {
      assert(!view.error, "two errors of one Run");
      view.error = true;
    }
    if (type === "delta") {
      assert(payload.sequence === ++view.deltas, "deltas lost or reordered");
    }
    if (type !== "done") return;
    view.done = true;
    const turn = this.turnOf(id);
    assert(turn !== undefined, "a done without a Turn");
    const executor = this.#factory.executors.find(({ turns }) =>
      turns.includes(turn)
    );
    assert(
      turn.settlement.settled || executor?.closedForGood === true,
      "done before settlement and close",
    );
  }

  #inputReceipt({ id, payload }: SentFrame): void {
    const key = `${id} ${payload.input_id}`;
    if (payload.written) {
      assert(this.facts.writtenInputs.has(key), "written, but it was not");
    }
    if (payload.accepted) {
      assert(this.facts.acceptedInputs.has(key), "accepted, but it was not");
    }
  }

  #receipt({ id = "", payload }: SentFrame): void {
    const delivery: string = payload.delivery_id;
    assert(!this.#receipts.has(delivery), "two receipts of one delivery");
    this.#receipts.add(delivery);
    if (!payload.applied) return;
    if (!this.cancels.has(delivery)) {
      assert(
        this.facts.appliedAnswers.has(this.answers.get(delivery) ?? ""),
        "applied, but it was not",
      );
      return;
    }
    const turn = this.turnOf(id);
    if (turn === undefined) return;
    assert(turn.confirmed, "a cancel applied without confirmed settlement");
    assert(this.run(id).done, "a cancel applied before done");
  }

  turnOf(runId: string): ScriptedTurn | undefined {
    for (const { turns } of this.#factory.executors) {
      for (const turn of turns) {
        if (turn.start.runId === runId) return turn;
      }
    }
    return undefined;
  }

  /** Ownership and capacity, after every step. */
  check(router: Router): void {
    const status = router.status();
    const open = this.#factory.executors.filter(({ closedForGood }) =>
      !closedForGood
    );
    const owned = new Map(
      status.executors.map((executor) => [executor.sessionId, executor]),
    );
    const sessions = new Set<string>();
    for (const { configuration } of open) {
      const { sessionId } = configuration;
      assert(!sessions.has(sessionId), "two live Executors of one Session");
      sessions.add(sessionId);
      assert(owned.has(sessionId), "a live Executor lost its owner");
    }
    const active = status.executors.filter(({ state }) => state !== "idle");
    assert(active.length <= 4, "more than four active Executors");
    assert(status.executors.length <= 20, "more than twenty Executors");
    assert(status.owningAdmissions <= 4, "more than four owning admissions");
    assert(status.admissionRecords <= 64, "more than 64 records");
    assert(
      status.runs.length <= active.length,
      "a Run without an active Executor",
    );
    this.#checkTurns();
  }

  /** One start per Run, one Turn at a time per Executor. */
  #checkTurns(): void {
    const runs = new Set<string>();
    for (const executor of this.#factory.executors) {
      let open = 0;
      for (const { start, ended } of executor.turns) {
        assert(!runs.has(start.runId), "a Run was started twice");
        runs.add(start.runId);
        if (!ended) open++;
      }
      assert(open <= 1, "two open Turns on one Executor");
    }
  }
}
