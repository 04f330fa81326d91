// Plays Core, the engine, the connection and time against one router, as a seed decides.
import { type Deferred, deferred } from "../../src/platform/deferred.ts";
import {
  SteeringRefused,
  UnknownInteraction,
} from "../../src/harness/contract.ts";
import { HarnessRegistry } from "../../src/harness/registry.ts";
import { decodeEnvelope } from "../../src/protocol/envelope.ts";
import { createRouter, type Router } from "../../src/runtime/router.ts";
import { FakeConnection } from "../runtime/fake_connection.ts";
import {
  discovered,
  type ScriptedExecutor,
  ScriptedFactory,
  type ScriptedTurn,
} from "../runtime/scripted_harness.ts";
import { countingIds, input, prepare } from "../runtime/world.ts";
import { RecordingLog } from "../support/recording_log.ts";
import { Observer } from "./observer.ts";
import { drain, type Seeded, SimulationClock } from "./seeded.ts";

/** The last status of a request, as far as Core needs it for its next frame. */
interface KnownHandle {
  readonly handle: string;
  readonly executor_id: string;
  readonly state: string;
}

/** What no frame can carry. */
const TOO_LARGE = "too large";
const SESSIONS = 6;
const REQUESTS = 10;
/** Milliseconds; the long ones reach the lifetimes of handles and idle Executors. */
const SHORT_PAUSES = [1, 50, 200, 1_000, 5_000, 10_000];
const LONG_PAUSES = [60_000, 300_000, 3_600_000];

/** One simulated connection. */
export class Driver {
  readonly clock = new SimulationClock();
  readonly connection = new FakeConnection();
  readonly factory = new ScriptedFactory();
  readonly log = new RecordingLog();
  readonly router: Router;
  readonly observer: Observer;
  readonly #random: Seeded;
  /** Request id → the handle and executor id Core saw last. */
  readonly #known = new Map<string, KnownHandle>();
  readonly #lastStart = new Map<string, unknown>();
  readonly #sessionOf = new Map<string, string>();
  readonly #questions: { kind: "permission" | "user_choice"; id: string }[] =
    [];
  /** Preparations that a test holds back. */
  readonly gates: Deferred<void>[] = [];
  #deliveries = 0;
  /** Nothing was lost or delayed: every Run that started must end visibly. */
  healthy = true;
  ended = false;

  constructor(random: Seeded) {
    this.#random = random;
    this.observer = new Observer(this.factory);
    const harnesses = new HarnessRegistry();
    harnesses.register(discovered(this.factory));
    this.router = createRouter({
      clock: this.clock,
      ids: countingIds(),
      log: this.log,
      sender: this.connection,
      harnesses,
    });
    this.connection.onWritten = (frame) => {
      this.observer.frame(frame);
      const { handle, executor_id, state } = frame.payload ?? {};
      if (frame.type !== "preparation_status" || state === "rejected") return;
      const session = this.#sessionOf.get(handle) ??
        this.#sessionOf.get(`request ${frame.id}`) ?? "";
      this.#sessionOf.set(handle, session);
      this.#known.set(frame.id ?? "", { handle, executor_id, state });
      const executor = this.factory.executors.findLast(({ configuration }) =>
        configuration.sessionId === session
      );
      if (state === "ready" && executor !== undefined) {
        this.observer.executorOf.set(executor_id, executor);
      }
    };
    this.connection.refuses = ({ payload }) =>
      JSON.stringify(payload ?? null).includes(TOO_LARGE);
    this.factory.onExecutor = (executor) => this.#configure(executor);
  }

  /** One step of somebody, then everything that became runnable, then the checks. */
  async step(): Promise<void> {
    const actions = [
      () => this.#prepare(),
      () => this.#start(),
      () => this.#start(),
      () => this.#core(),
      () => this.#core(),
      () => this.#engine(),
      () => this.#engine(),
      () => this.#engine(),
      () => this.#answers(),
      () => this.#answers(),
      () => this.#weather(),
      () => this.#time(),
    ];
    await this.#random.pick(actions)?.();
    await this.settle();
  }

  async settle(): Promise<void> {
    await drain();
    this.observer.check(this.router);
  }

  async advance(milliseconds: number): Promise<void> {
    await this.clock.advance(
      milliseconds,
      () => this.observer.check(this.router),
    );
    await this.settle();
  }

  send(type: string, id?: string, payload?: unknown): void {
    const decoded = decodeEnvelope(JSON.stringify({ type, id, payload }));
    if (!decoded.ok) throw new Error(decoded.reason);
    this.router.handle(decoded.value);
  }

  #configure(executor: ScriptedExecutor): void {
    const random = this.#random;
    if (random.chance(0.15)) {
      executor.startMode = random.pick([
        "no_turn",
        "turn_and_error",
        "throw",
        "hang_until_close",
      ]) ??
        "turn";
    }
    if (random.chance(0.1)) executor.startGate = deferred();
    if (random.chance(0.15)) {
      executor.onClose = random.pick(["refuse", "hang"]) ?? "confirm";
    }
    executor.onTurn = (turn) => {
      turn.onCancel = random.pick(
        ["settle", "settle", "accept", "refuse", "hang"],
      ) ?? "settle";
      const { sessionId } = executor.configuration;
      turn.outcome = {
        content: "",
        metadata: { agent_session_id: `native ${sessionId}` },
      };
    };
  }

  #prepare(): void {
    const random = this.#random;
    const session = `s${random.below(SESSIONS)}`;
    const request = `p${random.below(REQUESTS)}`;
    this.#sessionOf.set(`request ${request}`, session);
    this.factory.prepareGate = random.chance(0.1) ? deferred() : undefined;
    if (this.factory.prepareGate) this.gates.push(this.factory.prepareGate);
    this.factory.prepareMode = random.chance(0.1)
      ? random.pick(["fail", "fail_retained"]) ?? "ready"
      : "ready";
    this.send(
      "execution_prepare",
      request,
      prepare(session, {
        ...(random.chance(0.5)
          ? { agent_session_id: `native ${session}` }
          : {}),
        ...(random.chance(0.05) ? { observe_messages: true } : {}),
      }),
    );
  }

  #start(): void {
    const random = this.#random;
    const ready = [...this.#known].filter(([, { state }]) => state === "ready");
    const choice = random.chance(0.85) && ready.length > 0
      ? ready
      : [...this.#known];
    const [request, known] = random.pick(choice) ?? [];
    if (request === undefined || known === undefined) return;
    const last = this.#lastStart.get(request);
    if (last !== undefined && random.chance(0.1)) {
      return this.send("execution_start", request, last);
    }
    const routed = random.pick(this.router.status().runs)?.id;
    const fresh = routed === undefined || random.chance(0.9);
    const start = {
      handle: known.handle,
      executor_id: known.executor_id,
      // Core never uses a Run id twice; one that is routed is refused.
      run_id: fresh ? `r${this.#deliveries++}` : routed,
      input: input(random.chance(0.1) ? "other" : "hello"),
    };
    if (fresh) this.#lastStart.set(request, start);
    this.send("execution_start", request, start);
  }

  #core(): void {
    const random = this.#random;
    const run = random.pick(this.router.status().runs)?.id ?? "absent";
    switch (random.below(9)) {
      case 0: {
        if (random.chance(0.6)) return;
        const request = random.pick([...this.#known.keys()]);
        if (request === undefined) return;
        const { handle } = this.#known.get(request) ?? {};
        return this.send("execution_release", request, { handle });
      }
      case 1: {
        if (random.chance(0.4)) return;
        const delivery_id = `cancel ${this.#deliveries++}`;
        this.observer.cancels.add(delivery_id);
        return this.send("prompt_cancel", run, { delivery_id });
      }
      case 2:
      case 6:
      case 7:
        return this.send("prompt_steer", run, {
          input_id: `${random.below(4)}`,
          input: input(random.chance(0.9) ? "more" : "other"),
          durable_receipt: true,
        });
      case 3:
        return this.#answer("function_result", run, {
          call_id: `c${random.below(2)}`,
          success: random.chance(0.9),
          content: [],
        });
      case 4: {
        const question = random.pick(this.#questions);
        if (question === undefined) return;
        return question.kind === "permission"
          ? this.#answer("permission_decision", question.id, {
            approved: random.chance(0.9),
          })
          : this.#answer("prompt_for_user_choice_decision", question.id, {
            question_answers: [{ question_id: "a", answers: ["x"] }],
          });
      }
      default:
        if (random.chance(0.04)) {
          this.send("device_shutdown");
        } else if (random.chance(0.3)) this.send("prompt_cancel", run);
    }
  }

  #answer(type: string, id: string, content: object): void {
    const delivery_id = `answer ${this.#deliveries++}`;
    this.observer.answers.set(delivery_id, answerKey(type, id, content));
    this.send(type, id, { delivery_id, ...content });
  }

  #engine(): void {
    const random = this.#random;
    const executor = random.pick(this.factory.executors);
    if (executor === undefined) return;
    const turn = executor.turns.findLast(({ ended }) => !ended);
    if (turn === undefined) {
      if (random.chance(0.05)) executor.retire();
      return;
    }
    switch (random.below(9)) {
      case 0:
      case 1:
        return void turn.delta(random.chance(0.05) ? TOO_LARGE : "x");
      case 2:
        return this.#ask(turn);
      case 3:
        if (random.chance(0.3)) {
          void turn.emit({ type: "done", payload: { content: "" } });
        }
        return;
      case 4:
      case 5:
        if (random.chance(0.5)) {
          turn.finish(random.chance(0.1) ? TOO_LARGE : "answer");
        }
        return;
      case 6:
        if (random.chance(0.3)) turn.settle();
        return;
      case 7:
        if (!random.chance(0.3)) return;
        turn.start.sink.close();
        return turn.lose();
      default:
        if (random.chance(0.3)) {
          turn.finish("", { reusable: false, reason: "worn out" });
        }
    }
  }

  #ask(turn: ScriptedTurn): void {
    const random = this.#random;
    const id = `q${this.#deliveries++}`;
    switch (random.below(4)) {
      case 0:
        this.#questions.push({ kind: "permission", id });
        return void turn.emit({
          type: "permission_request",
          payload: { request_id: id, tool: "t", title: "t" },
        });
      case 1:
        this.#questions.push({ kind: "user_choice", id });
        return void turn.emit({
          type: "prompt_for_user_choice",
          payload: {
            ask_id: id,
            questions: [{ id: "a", question: "?", options: [] }],
          },
        });
      case 2: {
        const asked = random.pick(this.#questions)?.id ?? "foreign";
        if (!random.chance(0.2)) return;
        return void turn.emit({ type: "permission_cancel", requestId: asked });
      }
      default:
        return void turn.emit({
          type: "error",
          payload: { error: "engine says no" },
        });
    }
  }

  /** The engine answers what it was asked: inputs, decisions and results, or opens a gate. */
  #answers(): void {
    const random = this.#random;
    if (random.chance(0.3)) random.pick(this.gates)?.resolve();
    const asked = this.factory.executors.filter(({ turns }) =>
      turns.some(({ steers, submits }) =>
        [...steers, ...submits].some(({ result }) => !result.settled)
      )
    );
    const executor = random.pick(
      asked.length > 0 && random.chance(0.8) ? asked : this.factory.executors,
    );
    if (executor === undefined) return;
    if (random.chance(0.4)) executor.startGate?.resolve();
    if (random.chance(0.2)) executor.onClose = "confirm";
    const turn = executor.turns.at(-1);
    if (turn === undefined) return;
    this.#answerInput(turn);
    const submit = turn.submits.findLast(({ result }) => !result.settled);
    if (submit === undefined) return;
    const types = {
      function: "function_result",
      permission: "permission_decision",
      user_choice: "prompt_for_user_choice_decision",
    };
    const { delivery_id: _delivery, ...content } = submit.content as {
      delivery_id: string;
    };
    if (random.chance(0.7)) {
      this.observer.facts.appliedAnswers.add(
        answerKey(
          types[submit.kind],
          submit.kind === "function" ? turn.start.runId : submit.id,
          content,
        ),
      );
      submit.result.resolve();
    } else {
      submit.result.reject(
        random.chance(0.5) ? new UnknownInteraction("gone") : new Error("lost"),
      );
    }
  }

  #answerInput(turn: ScriptedTurn): void {
    const random = this.#random;
    const steer = turn.steers.findLast(({ result }) => !result.settled);
    if (steer === undefined) return;
    const key = `${turn.start.runId} ${steer.steer.inputId}`;
    switch (random.below(4)) {
      case 0:
      case 1:
        this.observer.facts.writtenInputs.add(key);
        return steer.written();
      case 2:
        this.observer.facts.acceptedInputs.add(key);
        return steer.result.resolve();
      default:
        return steer.result.reject(
          random.chance(0.5)
            ? new SteeringRefused("not_ready", "")
            : new Error("lost"),
        );
    }
  }

  /** The connection slows down, loses frames, recovers or ends. */
  #weather(): void {
    const random = this.#random;
    switch (random.below(6)) {
      case 0:
        this.healthy = false;
        return this.connection.hold(() => random.chance(0.7));
      case 1:
        this.healthy = false;
        return this.connection.fail(() => random.chance(0.3));
      case 2:
        if (!random.chance(0.03)) return;
        this.healthy = false;
        this.ended = true;
        return this.connection.end();
      default:
        this.connection.heal();
        return this.connection.release();
    }
  }

  async #time(): Promise<void> {
    const random = this.#random;
    const pauses = random.chance(0.15) ? LONG_PAUSES : SHORT_PAUSES;
    await this.advance(random.pick(pauses) ?? 1);
  }
}

function answerKey(type: string, id: string, content: object): string {
  return JSON.stringify([type, id, Object.entries(content).sort()]);
}
