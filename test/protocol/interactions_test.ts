// Questions, decisions and receipts.
import { assertEquals } from "@std/assert";
import type { Decoded } from "../../src/protocol/decoded.ts";
import {
  bindUserChoice,
  decodeInteractionDecisionAck,
  decodePermissionDecision,
  decodePermissionRequest,
  decodePromptForUserChoice,
  decodeUserChoiceDecision,
  readUserChoiceDecision,
} from "../../src/protocol/interactions.ts";
import {
  decodeFunctionCall,
  decodeFunctionResult,
} from "../../src/protocol/functions.ts";
import { acceptEach, inbound, refuseEach, valueOf } from "./wire_rows.ts";

const CHOICE = {
  delivery_id: "d",
  question_answers: [
    { question_id: "b", answers: ["two,three", "four"] },
    { question_id: "a", answers: [] },
  ],
};

/** Reads a decision and binds it to the questions. */
function bind(payload: unknown, ...ids: string[]): Decoded<unknown> {
  const decision = readUserChoiceDecision(payload);
  return decision.ok
    ? bindUserChoice(ids.map((id) => ({ id })), decision.value)
    : decision;
}

Deno.test("user choices name their questions", async (t) => {
  const decode = ([payload, ...ids]: readonly [unknown, ...string[]]) =>
    bind(payload, ...ids);
  await acceptEach<readonly [unknown, ...string[]], unknown>(t, {
    "two answers": [CHOICE, "a", "b"],
    "one of two questions": [
      {
        question_answers: [{ question_id: "a", answers: ["x"] }],
      },
      "a",
      "b",
    ],
    "cancelled": [{ delivery_id: "d", cancelled: true }, "a"],
    "no answer at all": [{ delivery_id: "d" }, "a"],
    "machine reason": [{ cancelled: true, reason: "timeout" }, "a"],
  }, decode);
  const answer = (members: object) => ({
    question_answers: [{ question_id: "a", answers: ["x"], ...members }],
  });
  await refuseEach<readonly [unknown, ...string[]]>(t, {
    "null": [null, "a"],
    "absent": [undefined, "a"],
    "list": [[], "a"],
    "top-level answers": [{ answers: ["yes"] }, "a"],
    "answer by header": [{
      question_answers: [{ header: "Question", answer: "yes" }],
    }, "a"],
    "extra member of an answer": [answer({ answer: "x" }), "a"],
    "no question_id": [answer({ question_id: undefined }), "a"],
    "blank question_id": [answer({ question_id: " " }), " "],
    "null answers": [answer({ answers: null }), "a"],
    "no answers": [answer({ answers: undefined }), "a"],
    "answers that are no texts": [answer({ answers: [1] }), "a"],
    "same question twice": [{
      question_answers: [
        { question_id: "a", answers: [] },
        { question_id: "a", answers: ["x"] },
      ],
    }, "a"],
    "cancelled with answers": [{ ...CHOICE, cancelled: true }, "a", "b"],
    "foreign question": [CHOICE, "a"],
    "extra member at the top": [{ cancelled: true, note: "" }, "a"],
  }, decode);
});

Deno.test("bound answers stay as they were given", () => {
  assertEquals(
    valueOf(bind(CHOICE, "a", "b")),
    new Map([["b", ["two,three", "four"]], ["a", []]]),
  );
  assertEquals(valueOf(bind({ cancelled: true }, "a")), new Map());
});

Deno.test("decisions need their identities", async (t) => {
  const permission = { delivery_id: "d", approved: false };
  const rows: Readonly<Record<string, readonly [unknown, string, boolean]>> = {
    "complete": [permission, "perm_1", true],
    "with edited input": [
      { ...permission, approved: true, updated_input: { a: 1 } },
      "perm_1",
      true,
    ],
    "unknown member": [{ ...permission, future: 1 }, "perm_1", true],
    "no interaction id": [permission, "", false],
    "empty delivery_id": [{ ...permission, delivery_id: "" }, "perm_1", false],
    "no decision": [{ delivery_id: "d" }, "perm_1", false],
    "null decision": [{ delivery_id: "d", approved: null }, "perm_1", false],
    "no payload": [undefined, "perm_1", false],
  };
  for (const [name, [payload, id, ok]] of Object.entries(rows)) {
    await t.step(`permission: ${name}`, () => {
      const envelope = inbound("permission_decision", payload, id);
      assertEquals(decodePermissionDecision(envelope).ok, ok);
    });
  }
  const type = "prompt_for_user_choice_decision";
  for (
    const [name, payload, id, ok] of [
      ["complete", CHOICE, "ask_1", true],
      ["no ask id", CHOICE, "", false],
      ["empty delivery_id", { ...CHOICE, delivery_id: "" }, "ask_1", false],
      ["no payload", undefined, "ask_1", false],
      ["null payload", null, "ask_1", false],
    ] as const
  ) {
    await t.step(`choice: ${name}`, () => {
      const envelope = inbound(type, payload, id);
      assertEquals(decodeUserChoiceDecision(envelope).ok, ok);
    });
  }
});

Deno.test("requests to a human can be routed", async (t) => {
  const permission = { request_id: "perm_1", tool: "Bash", title: "t" };
  const ask = { ask_id: "ask_1", questions: [] };
  await refuseEach(t, {
    "blank request_id": { ...permission, request_id: " " },
    "no tool": { ...permission, tool: undefined },
    "undeclared member": { ...permission, native: 1 },
  }, (row) => decodePermissionRequest(inbound("permission_request", row)));
  await refuseEach(
    t,
    {
      "blank ask_id": { ...ask, ask_id: "" },
      "no questions": { ...ask, questions: undefined },
      "question without options": {
        ...ask,
        questions: [{ id: "a", question: "q" }],
      },
      "negative time": { ...ask, auto_resolution_ms: -1 },
    },
    (row) => decodePromptForUserChoice(inbound("prompt_for_user_choice", row)),
  );
});

const PARTS = [
  { type: "input_text", text: "before" },
  { type: "input_image", image_url: "data:image/png;base64,AA==" },
  { type: "input_text", text: "after" },
];

/** A result with the content. */
function result(content: unknown): Record<string, unknown> {
  return { delivery_id: "d", call_id: "c", success: true, content };
}

Deno.test("the content of function results", async (t) => {
  const decode = (content: unknown) =>
    decodeFunctionResult(inbound("function_result", result(content)));
  await acceptEach<unknown, unknown>(
    t,
    {
      "nothing": [],
      "empty text": [{ type: "input_text", text: "" }],
      "text, image, text": PARTS,
      "blank image URL": [{ type: "input_image", image_url: "" }],
    },
    decode,
    (value, row) => assertEquals(value, result(row)),
  );
  const refusedRows = {
    "null": null,
    "absent": undefined,
    "null part": [null],
    "empty part": [{}],
    "text part without text": [{ type: "input_text" }],
    "text part with null": [{ type: "input_text", text: null }],
    "image part without URL": [{ type: "input_image" }],
    "image part with null": [{ type: "input_image", image_url: null }],
    "text part with image_url": [{ ...PARTS[0], image_url: "x" }],
    "image part with text": [{ ...PARTS[1], text: "x" }],
    "audio": [{ type: "input_audio", text: "audio" }],
  };
  await refuseEach<unknown>(t, refusedRows, decode);
  for (const [name, content] of Object.entries(refusedRows)) {
    await t.step(`is answered: ${name}`, () => {
      const decoded = decode(content);
      assertEquals(!decoded.ok && decoded.receipt, {
        delivery_id: "d",
        call_id: "c",
      });
    });
  }
});

Deno.test("a function result that cannot be attributed has no receipt", async (t) => {
  const rows: Readonly<Record<string, readonly [unknown, string]>> = {
    "no Run id": [result([]), ""],
    "no call_id": [{ ...result([]), call_id: "" }, "run"],
    "no delivery_id": [{ ...result([]), delivery_id: "" }, "run"],
    "no payload": [undefined, "run"],
    "content is a text": [result("x"), "run"],
    "part of the wrong type": [result([{ type: 5 }]), "run"],
    "no success": [{ ...result([]), success: undefined }, "run"],
  };
  for (const [name, [payload, id]] of Object.entries(rows)) {
    await t.step(name, () => {
      const decoded = decodeFunctionResult(
        inbound("function_result", payload, id),
      );
      assertEquals(decoded.ok, false);
      assertEquals(!decoded.ok && decoded.receipt, undefined);
    });
  }
});

Deno.test("function calls", async (t) => {
  const decode = (payload: unknown) =>
    decodeFunctionCall(inbound("function_call", payload));
  const call = { call_id: "c", name: "f", arguments: null };
  await acceptEach(t, {
    "null arguments": call,
    "any JSON": { ...call, arguments: [1, { a: "b" }] },
  }, decode);
  await refuseEach(t, {
    "no arguments": { call_id: "c", name: "f" },
    "empty call_id": { ...call, call_id: "" },
    "empty name": { ...call, name: "" },
    "undeclared member": { ...call, namespace: "n" },
  }, decode);
});

Deno.test("receipts state one thing", async (t) => {
  const decode = (payload: unknown) =>
    decodeInteractionDecisionAck(inbound("interaction_decision_ack", payload));
  const refusal = (error_code: string) => ({
    delivery_id: "d",
    applied: false,
    error_code,
  });
  await acceptEach(t, {
    "applied": { delivery_id: "d", applied: true },
    "cancelled": {
      delivery_id: "cancel",
      applied: true,
      outcome: { content: "partial" },
    },
    ...Object.fromEntries([
      "invalid_result",
      "not_pending",
      "not_ready",
      "unsupported",
      "contract_violation",
      "runtime_error",
      "decision_conflict",
      "run_inactive",
      "cancel_failed",
      "cancel_timeout",
      "cancel_output_unavailable",
      "cancel_outcome_unavailable",
    ].map((code) => [code, refusal(code)])),
    "with a text": { ...refusal("runtime_error"), error: "constant" },
  }, decode);
  await refuseEach(t, {
    "neither": { delivery_id: "d", applied: false },
    "both": { ...refusal("not_ready"), applied: true },
    "refused with outcome": {
      ...refusal("cancel_failed"),
      outcome: { content: "" },
    },
    "no delivery_id": { applied: true },
    "empty delivery_id": { delivery_id: "", applied: true },
    "no verdict": { delivery_id: "d" },
    "code in own words": refusal("detail"),
  }, decode);
});
