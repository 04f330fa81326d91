import { assertEquals } from "@std/assert";
import {
  UnknownInteraction,
  UnsupportedOperation,
} from "../../src/harness/contract.ts";
import { frameOf } from "./fake_connection.ts";
import { declaration, type ScriptedTurn } from "./scripted_harness.ts";
import { inWorld, type World } from "./world.ts";

/** The three families that answer what a Run asked. */
interface Family {
  readonly name: string;
  readonly capability: "permissions" | "function_tools";
  /** Envelope id of the answer and of its receipt. */
  readonly id: string;
  readonly type: string;
  readonly ask: (turn: ScriptedTurn) => Promise<void>;
  readonly answer: (deliveryId: string) => Record<string, unknown>;
  readonly otherAnswer: (deliveryId: string) => Record<string, unknown>;
}

const families: readonly Family[] = [
  {
    name: "permission",
    capability: "permissions",
    id: "perm_1",
    type: "permission_decision",
    ask: (turn) =>
      turn.emit({
        type: "permission_request",
        payload: { request_id: " perm_1 ", tool: "Bash", title: "Run" },
      }),
    answer: (delivery_id) => ({ delivery_id, approved: true }),
    otherAnswer: (delivery_id) => ({ delivery_id, approved: false }),
  },
  {
    name: "user choice",
    capability: "permissions",
    id: "ask_1",
    type: "prompt_for_user_choice_decision",
    ask: (turn) =>
      turn.emit({
        type: "prompt_for_user_choice",
        payload: {
          ask_id: "ask_1",
          questions: [{ id: "a", question: "?", options: [] }],
        },
      }),
    answer: (delivery_id) => ({
      delivery_id,
      question_answers: [{ question_id: "a", answers: ["x"] }],
    }),
    otherAnswer: (delivery_id) => ({ delivery_id, cancelled: true }),
  },
  {
    name: "function result",
    capability: "function_tools",
    id: "run",
    type: "function_result",
    ask: (turn) =>
      turn.emit({
        type: "function_call",
        payload: { call_id: "call", name: "f", arguments: {} },
      }),
    answer: (delivery_id) => ({
      delivery_id,
      call_id: "call",
      success: true,
      content: [{ type: "input_text", text: "one" }],
    }),
    otherAnswer: (delivery_id) => ({
      delivery_id,
      call_id: "call",
      success: true,
      content: [{ type: "input_text", text: "two" }],
    }),
  },
];

async function asked(world: World, family: Family): Promise<ScriptedTurn> {
  await world.running();
  const { turn } = world.factory.executor;
  await family.ask(turn);
  await world.advance(0);
  world.fresh();
  return turn;
}

for (const family of families) {
  const { name, id, type } = family;

  Deno.test(`a ${name} is applied once and repeated from memory`, () =>
    inWorld(async (world) => {
      const turn = await asked(world, family);
      await world.send(type, id, family.answer("one"));
      assertEquals(world.words(), []);
      turn.submits[0]?.result.resolve();
      await world.advance(0);
      await world.send(type, id, family.answer("two"));
      await world.send(type, id, family.otherAnswer("three"));
      assertEquals(world.words(), [
        "applied",
        "applied",
        "ack decision_conflict",
      ]);
      assertEquals(
        world.frames.slice(-3).map(({ id, payload }) => [
          id,
          payload.delivery_id,
        ]),
        [[id, "one"], [id, "two"], [id, "three"]],
      );
      assertEquals(turn.submits.length, 1);
      turn.finish();
      await world.advance(0);
      world.fresh();
      await world.send(type, id, family.answer("four"));
      assertEquals(world.words(), ["applied"]);
    }));

  Deno.test(`a second delivery of a ${name} behind the first reaches the engine once`, () =>
    inWorld(async (world) => {
      const turn = await asked(world, family);
      await world.send(type, id, family.answer("one"));
      await world.send(type, id, family.answer("two"));
      turn.submits[0]?.result.resolve();
      await world.advance(0);
      assertEquals(world.words(), ["applied", "applied"]);
      assertEquals(turn.submits.length, 1);
    }));

  Deno.test(`a ${name} nobody waits for is not_pending`, () =>
    inWorld(async (world) => {
      await world.running();
      world.fresh();
      const unknown = id === "run" ? "other run" : "unknown";
      await world.send(type, unknown, family.answer("d"));
      assertEquals(world.words(), ["ack not_pending"]);
    }));

  Deno.test(`a ${name} without identity is not answered`, () =>
    inWorld(async (world) => {
      await asked(world, family);
      await world.send(type, id, family.answer(""));
      await world.send(type, undefined, family.answer("d"));
      await world.send(type, id, { delivery_id: 7 });
      assertEquals(world.words(), []);
    }));

  Deno.test(`a ${name} that is not declared is unsupported without a native call`, () =>
    inWorld(async (world) => {
      const turn = await asked(world, family);
      await world.send(type, id, family.answer("d"));
      assertEquals(world.words(), ["ack unsupported"]);
      assertEquals(turn.submits.length, 0);
    }, {
      harness: {
        declaration: declaration({ [family.capability]: "unsupported" }),
      },
    }));

  const natives: readonly (readonly [Error, string])[] = [
    [new UnsupportedOperation("no"), "contract_violation"],
    [new UnknownInteraction("no"), "not_pending"],
    [new Error("canary"), "runtime_error"],
  ];
  for (const [error, code] of natives) {
    Deno.test(`${error.name} of the engine makes a ${name} ${code}`, () =>
      inWorld(async (world) => {
        const turn = await asked(world, family);
        await world.send(type, id, family.answer("one"));
        turn.submits[0]?.result.reject(error);
        await world.advance(0);
        assertEquals(world.words(), [`ack ${code}`]);
        assertEquals(JSON.stringify(world.frames).includes("canary"), false);
        await world.send(type, id, family.answer("two"));
        const kept = code === "runtime_error" || id === "run";
        assertEquals(turn.submits.length, kept ? 2 : 1);
        assertEquals(world.words(), kept ? [] : ["ack not_pending"]);
        turn.submits[1]?.result.resolve();
      }));
  }

  Deno.test(`before started is published a ${name} is not_ready`, () =>
    inWorld(async (world) => {
      await world.ready();
      const { executor } = world.factory;
      executor.onTurn = (turn) => void family.ask(turn);
      // A started that cannot be written yet must not keep other frames: it is aborted by nothing
      // and its own line is the only one that waits.
      world.connection.hold(frameOf("preparation_status", "started"));
      await world.send("execution_start", "prepare", world.startPayload());
      await world.send(type, id, family.answer("d"));
      world.connection.release();
      await world.advance(0);
      assertEquals(
        world.words().filter((word) => word.startsWith("ack")),
        ["ack not_ready"],
      );
      assertEquals(executor.turn.submits.length, 0);
    }));

  Deno.test(`a ${name} in flight goes out before done, and a later one is refused`, () =>
    inWorld(async (world) => {
      const turn = await asked(world, family);
      await world.send(type, id, family.answer("one"));
      await turn.emit({ type: "done", payload: { content: "" } });
      await world.advance(0);
      await world.send(type, id, family.otherAnswer("two"));
      turn.submits[0]?.result.resolve();
      turn.settle();
      await world.advance(0);
      assertEquals(world.words(), [
        id === "run" ? "ack not_ready" : "ack not_pending",
        "applied",
        "done",
      ]);
      assertEquals(turn.submits.length, 1);
    }));

  Deno.test(`a cancel reaches the engine while a ${name} blocks it`, () =>
    inWorld(async (world) => {
      const turn = await asked(world, family);
      turn.onCancel = "accept";
      await world.send(type, id, family.answer("one"));
      await world.send("prompt_cancel", "run", { delivery_id: "cancel" });
      assertEquals(turn.cancels, 1);
      turn.submits[0]?.result.reject(new UnknownInteraction("cancelled"));
      turn.settle();
      await world.advance(0);
      assertEquals(world.words(), ["ack not_pending", "done", "applied"]);
      await world.send(type, id, family.answer("late"));
      assertEquals(world.words(), ["ack not_pending"]);
    }));

  Deno.test(`at most 64 answers wait behind a ${name}`, () =>
    inWorld(async (world) => {
      const turn = await asked(world, family);
      for (let index = 0; index < 66; index++) {
        await world.send(type, id, family.answer(`${index}`));
      }
      assertEquals(world.words(), ["ack not_ready", "ack not_ready"]);
      turn.submits[0]?.result.resolve();
    }));
}

Deno.test("answers of one Run reach the engine one at a time and in order", () =>
  inWorld(async (world) => {
    await world.running();
    const { turn } = world.factory.executor;
    for (const call_id of ["one", "two"]) {
      await world.send("function_result", "run", {
        delivery_id: call_id,
        call_id,
        success: true,
        content: [],
      });
    }
    assertEquals(turn.submits.map(({ id }) => id), ["one"]);
    turn.submits[0]?.result.resolve();
    await world.advance(0);
    assertEquals(turn.submits.map(({ id }) => id), ["one", "two"]);
    turn.submits[1]?.result.resolve();
  }));

Deno.test("a permission is routed before its request is written", () =>
  inWorld(async (world) => {
    await world.running();
    const { turn } = world.factory.executor;
    world.connection.hold(frameOf("permission_request"));
    await families[0]?.ask(turn);
    await world.advance(0);
    await world.send("permission_decision", "perm_1", {
      delivery_id: "d",
      approved: true,
    });
    assertEquals(turn.submits.length, 1);
    assertEquals(turn.submits[0]?.id, " perm_1 ");
    turn.submits[0]?.result.resolve();
    world.connection.release();
  }));

Deno.test("a withdrawal carries the interaction id and ends the question", () =>
  inWorld(async (world) => {
    await world.running();
    const { executor } = world.factory;
    await families[0]?.ask(executor.turn);
    await executor.turn.emit({
      type: "permission_cancel",
      requestId: "perm_1",
    });
    await world.advance(0);
    assertEquals(world.frames.at(-1)?.type, "permission_cancel");
    assertEquals(world.frames.at(-1)?.id, "perm_1");
    assertEquals(world.frames.at(-1)?.payload, undefined);
    world.fresh();
    await world.send("permission_decision", "perm_1", {
      delivery_id: "d",
      approved: true,
    });
    assertEquals(world.words(), ["ack not_pending"]);
    executor.turn.finish();
    await world.advance(0);
    assertEquals(executor.closes, 0);
  }));

Deno.test("a withdrawal of a question this Run never asked crosses its boundary", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    const { executor } = world.factory;
    await executor.turn.emit({
      type: "permission_cancel",
      requestId: "foreign",
    });
    await world.advance(0);
    assertEquals(world.words(), ["error", "done"]);
    assertEquals(executor.closes, 1);
  }));

Deno.test("an answer to a question that was not asked leaves the ask open", () =>
  inWorld(async (world) => {
    const choice = families[1];
    if (choice === undefined) throw new Error("no family");
    const turn = await asked(world, choice);
    await world.send(choice.type, choice.id, {
      delivery_id: "d",
      question_answers: [{ question_id: "foreign", answers: [] }],
    });
    assertEquals(world.words(), ["ack runtime_error"]);
    assertEquals(turn.submits.length, 0);
    await world.send(choice.type, choice.id, choice.answer("e"));
    assertEquals(turn.submits.length, 1);
    turn.submits[0]?.result.resolve();
  }));

Deno.test("a function result with malformed content is invalid_result", () =>
  inWorld(async (world) => {
    await world.running();
    world.fresh();
    for (const content of [null, [null], [{}], [{ type: "input_text" }]]) {
      await world.send("function_result", "run", {
        delivery_id: "d",
        call_id: "c",
        success: true,
        content,
      });
    }
    assertEquals(world.words(), Array(4).fill("ack invalid_result"));
  }));

Deno.test("the same call id in another Run is another call", () =>
  inWorld(async (world) => {
    await world.running("run", "one", "one");
    await world.running("run 2", "two", "two");
    const answer = {
      delivery_id: "d",
      call_id: "call",
      success: true,
      content: [],
    };
    for (const [index, run] of ["run", "run 2"].entries()) {
      await world.send("function_result", run, answer);
      const turn = world.factory.executors[index]?.turn;
      assertEquals(turn?.submits.length, 1);
      turn?.submits[0]?.result.resolve();
      await world.advance(0);
    }
    assertEquals(world.words().slice(-2), ["applied", "applied"]);
  }));

Deno.test("a receipt that was lost is answered from memory with its new delivery id", () =>
  inWorld(async (world) => {
    const family = families[2];
    if (family === undefined) throw new Error("no family");
    const turn = await asked(world, family);
    world.connection.fail(frameOf("interaction_decision_ack"));
    await world.send(family.type, family.id, family.answer("one"));
    turn.submits[0]?.result.resolve();
    await world.advance(0);
    world.connection.heal();
    await world.send(family.type, family.id, family.answer("two"));
    assertEquals(world.words(), ["applied"]);
    assertEquals(turn.submits.length, 1);
  }));

Deno.test("a decision whose question is withdrawn while it waits never reaches the engine", () =>
  inWorld(async (world) => {
    await world.running();
    const { turn } = world.factory.executor;
    await families[0]?.ask(turn);
    await world.send("function_result", "run", {
      delivery_id: "f",
      call_id: "c",
      success: true,
      content: [],
    });
    await world.send("permission_decision", "perm_1", {
      delivery_id: "d",
      approved: true,
    });
    await turn.emit({ type: "permission_cancel", requestId: "perm_1" });
    await world.advance(0);
    world.fresh();
    turn.submits[0]?.result.resolve();
    await world.advance(0);
    assertEquals(world.words(), ["applied", "ack not_pending"]);
    assertEquals(turn.submits.length, 1);
  }));
