/** Child agents of the real program: observed whole, waited for, and ended with their parent. */
import { assert, assertEquals } from "@std/assert";
import {
  callAnswer,
  type ResponsesScript,
  type ScriptedAnswer,
  textAnswer,
} from "../../../src/loopback/responses_provider.ts";
import { deferred } from "../../../src/platform/deferred.ts";
import { watchingSpawn } from "../../support/responses_processes.ts";
import { CodexRig, unbounded } from "../../support/responses_rig.ts";

const NAMESPACE = "multi_agent_v1";

/** Plays root and child: the root's answers in order, each child request by `child`. */
function delegation(
  root: readonly ((child: string) => ScriptedAnswer)[],
  child: (index: number) => ScriptedAnswer,
): ResponsesScript {
  let asked = 0;
  let answered = 0;
  let childId = "";
  return (request) => {
    if (request.headers["x-openai-subagent"]) return child(asked++);
    const spawned = /agent_id\\*":\\*"([0-9a-f-]+)/.exec(request.text);
    childId = spawned?.[1] ?? childId;
    return root[answered++]?.(childId) ?? textAnswer("end", "unscripted");
  };
}

const spawn = () =>
  callAnswer("spawn-1", "spawn_agent", { message: "child task" }, NAMESPACE);
const wait = (child: string) =>
  callAnswer(
    "wait-1",
    "wait_agent",
    { targets: [child], timeout_ms: 30_000 },
    NAMESPACE,
  );

for (const model of ["unknown-model", "gpt-6.2-sol"]) {
  const name = model === "unknown-model"
    ? "a child is observed from its identity to its end"
    : `a child of ${model} is observed the same way`;
  Deno.test(name, async () => {
    await using rig = await CodexRig.start({
      bound: true,
      script: delegation([
        spawn,
        wait,
        (child) =>
          callAnswer("close-1", "close_agent", { target: child }, NAMESPACE),
        (child) =>
          callAnswer("resume-1", "resume_agent", { id: child }, NAMESPACE),
        () => textAnswer("m1", "root done"),
      ], () => ({
        type: "response",
        items: [
          { type: "reasoning", id: "cr", fragments: ["child thinks"] },
          { type: "message", id: "cm", fragments: ["child says"] },
        ],
      })),
    });
    assertEquals(rig.harness.declaration.subagent_observations, "supported");
    const executor = await rig.prepare(rig.local({
      model,
      observeSubagentIdentities: true,
      disableSubagents: false,
    }));
    const sink = await rig.run(executor, "go");
    assertEquals(sink.all("error"), []);
    const [identity] = sink.all("subagent_identity");
    assert(identity);
    const child = identity.payload.native_id;
    const root = sink.all("done")[0]?.payload.metadata?.agent_session_id;
    assertEquals(identity.payload.parent_native_id, String(root));
    assertEquals(identity.payload.source_item_id, "spawn-1");
    assertEquals(identity.payload.instructions, "child task");
    assert(identity.payload.native_created_at > 1_700_000_000);
    const facts = sink.events.flatMap((event) => {
      switch (event.type) {
        case "subagent_identity":
          return ["identity"];
        case "subagent_turn":
          return [`turn ${event.payload.status}`];
        case "subagent_item":
          return [`item ${event.payload.position} ${event.payload.kind}`];
        case "subagent_lifecycle":
          return [event.payload.status];
        default:
          return [];
      }
    });
    assertEquals(facts, [
      "identity",
      "turn in_progress",
      "item 0 message",
      "item 1 reasoning",
      "item 2 output_message",
      "turn completed",
      "closed",
      "active",
    ]);
    const calls = sink.all("subagent_coordination").map(({ payload }) =>
      payload
    );
    assertEquals(
      calls.filter(({ status }) => status === "completed").map(({ kind }) =>
        kind
      ),
      [
        "create_subagent_call",
        "wait_for_subagents_call",
        "close_subagent_call",
        "resume_subagent_call",
      ],
    );
    assert(calls.every(({ actor_id }) => actor_id === ""));
    assertEquals(calls[1]?.recipients, [child]);
    const [begun, ended] = sink.all("subagent_turn");
    assertEquals(begun?.payload.usage, null);
    assertEquals(ended?.payload.usage?.tokens?.total_tokens, 110);
    assertEquals(sink.events.at(-1)?.type, "done");
  });
}

Deno.test("the end of the root waits for a child that still runs", async () => {
  const gate = deferred();
  await using rig = await CodexRig.start({
    bound: true,
    script: delegation(
      [spawn, () => textAnswer("m1", "root done")],
      () => textAnswer("cm", "late ", gate.promise, "child"),
    ),
  });
  const executor = await rig.prepare(rig.local({
    observeSubagentIdentities: true,
    disableSubagents: false,
    model: "unknown-model",
  }));
  const { turn, sink } = await rig.start(executor, "go");
  await sink.next(
    "output_message",
    ({ payload }) => payload.status === "completed",
  );
  await sink.next("subagent_turn");
  assertEquals(sink.all("done"), []);
  gate.resolve();
  assertEquals(await turn.awaitSettlement(unbounded), { reusable: true });
  assertEquals(
    sink.all("subagent_turn").map(({ payload }) => payload.status),
    ["in_progress", "completed"],
  );
});

Deno.test("a cancel interrupts the children and confirms their end", async () => {
  const never = deferred();
  await using rig = await CodexRig.start({
    bound: true,
    script: delegation(
      [spawn, wait],
      () => textAnswer("cm", "child", never.promise),
    ),
  });
  const executor = await rig.prepare(rig.local({
    observeSubagentIdentities: true,
    disableSubagents: false,
    model: "unknown-model",
  }));
  const { turn, sink } = await rig.start(executor, "go");
  await sink.next("subagent_turn");
  await turn.cancel(unbounded);
  assertEquals(await turn.awaitSettlement(unbounded), { reusable: true });
  assertEquals(
    sink.all("subagent_turn").map(({ payload }) => payload.status),
    ["in_progress", "cancelled"],
  );
  never.resolve();
});

Deno.test("a cancel after the end of the root ends the child that still runs", async () => {
  const never = deferred();
  const rootEnded = deferred();
  await using rig = await CodexRig.start({
    bound: true,
    spawn: watchingSpawn(({ method }) => {
      if (method === "turn/completed") rootEnded.resolve();
    }),
    script: delegation(
      [spawn, () => textAnswer("m1", "root done")],
      () => textAnswer("cm", "child", never.promise),
    ),
  });
  const executor = await rig.prepare(rig.local({
    observeSubagentIdentities: true,
    disableSubagents: false,
    model: "unknown-model",
  }));
  const { turn, sink } = await rig.start(executor, "go");
  await sink.next("subagent_turn");
  await rootEnded.promise;
  await turn.cancel(unbounded);
  assertEquals(await turn.awaitSettlement(unbounded), { reusable: true });
  assertEquals(
    sink.all("subagent_turn").map(({ payload }) => payload.status),
    ["in_progress", "cancelled"],
  );
  assertEquals(sink.all("done")[0]?.payload.content, "root done");
  never.resolve();
});
