import { assert, assertEquals } from "@std/assert";
import type { FunctionTool } from "../../../src/protocol/configuration.ts";
import { deferred } from "../../../src/platform/deferred.ts";
import {
  replies,
  type ScriptedReply,
  textReply,
} from "../../../src/loopback/messages_provider.ts";
import { ClaudeLab, never, proves, run, start, text } from "./support.ts";

const SCHEMA = {
  type: "object",
  properties: { n: { type: "number" }, s: { type: "string" } },
  required: ["n", "s"],
  additionalProperties: false,
};

function controls(schema: unknown = SCHEMA) {
  return {
    web_search: "disabled",
    text_verbosity: "medium",
    output_format: { type: "json_schema", schema },
  };
}

function outputCall(id: string, ...fragments: string[]): ScriptedReply {
  return {
    type: "message",
    id: `msg_${id}`,
    blocks: [{ type: "tool_use", id, name: "StructuredOutput", fragments }],
  };
}

proves("structured_output", async () => {
  const raw = ['{ "s" : "a\\u00e9b",', '\n "n":1.50 }'];
  await using lab = await ClaudeLab.open({
    script: replies(
      outputCall("toolu_bad", '{"n":"not a number"}'),
      outputCall("toolu_good", ...raw),
    ),
  });
  const executor = await lab.prepare(
    lab.configuration({ executionControls: controls() }),
  );
  const sink = await run(executor, "answer in JSON");
  assertEquals(sink.all("output_message").map(({ payload }) => payload), [{
    id: "toolu_good",
    status: "completed",
    phase: "final_answer",
    text: raw.join(""),
  }]);
  assertEquals(sink.all("done")[0]?.payload.content, raw.join(""));
  assertEquals(sink.all("error"), []);
  const sent = lab.provider.requests[0]?.body?.tools?.find(({ name }) =>
    name === "StructuredOutput"
  );
  assertEquals(
    (sent as { input_schema?: unknown } | undefined)?.input_schema,
    SCHEMA,
  );
});

Deno.test("claude structured_output: an answer without the call is an error", async () => {
  await using lab = await ClaudeLab.open({
    script: (_request, index) => textReply(`msg_${index}`, "just prose"),
  });
  const executor = await lab.prepare(
    lab.configuration({ executionControls: controls() }),
  );
  const sink = await run(executor, "answer in JSON");
  const [failure] = sink.all("error");
  assert(failure);
  assertEquals(failure.payload.code, undefined);
});

Deno.test("claude structured_output: exhausted attempts are an error and stay private", async () => {
  await using lab = await ClaudeLab.open({
    script: (_request, index) => outputCall(`toolu_${index}`, '{"n":"x"}'),
  });
  const executor = await lab.prepare(
    lab.configuration({ executionControls: controls() }),
  );
  const sink = await run(executor, "answer in JSON");
  assertEquals(sink.all("error").length, 1);
  assertEquals(sink.all("output_message"), []);
});

Deno.test("claude structured_output: only the last native turn gives the final answer", async () => {
  const hold = deferred();
  await using lab = await ClaudeLab.open({
    script: replies(
      {
        type: "message",
        id: "msg_1",
        blocks: [
          { type: "text", fragments: ["thinking", hold.promise] },
          {
            type: "tool_use",
            id: "toolu_1",
            name: "StructuredOutput",
            fragments: ['{"n":1,"s":"first"}'],
          },
        ],
      },
      outputCall("toolu_2", '{"n":2,"s":"second"}'),
      outputCall("toolu_3", '{"n":3,"s":"third"}'),
    ),
  });
  const executor = await lab.prepare(
    lab.configuration({ executionControls: controls() }),
  );
  const { turn, sink } = await start(executor, "one");
  await sink.next("delta");
  const written = deferred();
  const steering = turn.steerWithReceipt(
    { inputId: "i", input: text("two") },
    () => written.resolve(),
    never,
  );
  await written.promise;
  hold.resolve();
  await steering;
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  const phases = sink.all("output_message").map(({ payload }) => payload.phase);
  assertEquals(phases.filter((phase) => phase === "final_answer").length, 1);
  assertEquals(phases.at(-1), "final_answer");
});

Deno.test("claude structured_output: schemas and combinations that cannot hold are refused", async () => {
  await using lab = await ClaudeLab.open();
  const { factory } = lab.harness;
  assert(factory);
  const refused = [
    { executionControls: controls({ type: "array" }) },
    { executionControls: controls(null) },
    { executionControls: controls({}) },
    { executionControls: controls(), observeMessages: false },
    {
      executionControls: controls(),
      toolSearch: true,
      functionTools: [deferredTool()],
    },
  ];
  for (const members of refused) {
    assert(factory.checkConfiguration(lab.configuration(members)));
  }
  assertEquals(lab.launches.length, 0);
});

function deferredTool(): FunctionTool {
  return {
    name: "rare",
    description: "",
    parameters: { type: "object" },
    defer_loading: true,
  };
}
