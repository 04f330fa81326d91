// What a frame may not contain when it is written.
import { assert, assertEquals } from "@std/assert";
import { encodeEnvelope } from "../../src/protocol/envelope.ts";
import { coreFrame, runtimeFrame } from "../../src/protocol/frames.ts";
import { RUNTIME_PAYLOADS } from "./fixtures.ts";

Deno.test("members outside the declaration are not written inside lists and objects either", async (t) => {
  const extra = <T extends object>(value: T): T => ({ ...value, native: 1 });
  const [kind] = RUNTIME_PAYLOADS.heartbeat.supported_agent_kinds ?? [];
  const [question] = RUNTIME_PAYLOADS.prompt_for_user_choice.questions;
  const [option] = question?.options ?? [];
  if (!kind || !question || !option) {
    throw new Error("the example is incomplete");
  }
  const entry = { name: "a", kind: "file", size_bytes: 0 } as const;
  const rows = {
    "list": runtimeFrame("heartbeat", undefined, {
      ...RUNTIME_PAYLOADS.heartbeat,
      supported_agent_kinds: [extra(kind)],
    }),
    "list in a list": runtimeFrame("prompt_for_user_choice", "run", {
      ask_id: "a",
      questions: [{ ...question, options: [extra(option)] }],
    }),
    "list in an object": runtimeFrame("workspace_read_result", "o", {
      outcome: "completed",
      directory: { entries: [extra(entry)], truncated: false },
    }),
    "nullable object": runtimeFrame("subagent_turn", "run", {
      ...RUNTIME_PAYLOADS.subagent_turn,
      usage: extra({ provider: "p" }),
    }),
    "object in an object": runtimeFrame("interaction_decision_ack", "run", {
      delivery_id: "d",
      applied: true,
      outcome: extra({ content: "" }),
    }),
  };
  for (const [name, frame] of Object.entries(rows)) {
    await t.step(name, () => {
      assert(!encodeEnvelope(frame).includes('native":'));
    });
  }
});

Deno.test("a body-less frame has no payload member", () => {
  assertEquals(
    encodeEnvelope(coreFrame("prompt_cancel", "run-456", undefined)),
    '{"type":"prompt_cancel","id":"run-456"}',
  );
  assertEquals(
    encodeEnvelope(runtimeFrame("permission_cancel", "perm_1", undefined)),
    '{"type":"permission_cancel","id":"perm_1"}',
  );
});

Deno.test("zeros that the wire omits are left out, zeros that it keeps are kept", () => {
  const done = runtimeFrame("done", "run", {
    content: "",
    transcript: "",
    usage: {},
    metadata: {},
  });
  assertEquals(done.payload, { content: "" });
  const zeroUsage = runtimeFrame("done", "run", {
    content: "",
    usage: { provider: "", input_tokens: 0, cost_usd: 0, raw: {} },
  });
  assertEquals(zeroUsage.payload, { content: "" });
  const exit = runtimeFrame("done", "run", {
    content: "",
    source_completed_at_ms: 0,
  });
  assertEquals(exit.payload, { source_completed_at_ms: 0, content: "" });
  const empty = runtimeFrame("workspace_read_result", "o", {
    outcome: "completed",
    data: new Uint8Array(),
    truncated: false,
    close_acknowledged: true,
  });
  assertEquals(empty.payload, {
    outcome: "completed",
    close_acknowledged: true,
  });
});
