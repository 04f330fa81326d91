/** Execution controls on the real program: visible in the request, or the preparation is refused. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  answers,
  textAnswer,
} from "../../../src/loopback/responses_provider.ts";
import type { ExecutionControls } from "../../../src/protocol/configuration.ts";
import { offeredTools } from "../../support/responses_inspection.ts";
import { CodexRig } from "../../support/responses_rig.ts";

const controls = (changes: Partial<ExecutionControls>): ExecutionControls => ({
  web_search: "disabled",
  text_verbosity: "medium",
  ...changes,
});

Deno.test("every accepted control is in the request", async () => {
  await using rig = await CodexRig.start({
    bound: true,
    script: () => textAnswer("m1", "done"),
  });
  const executor = await rig.prepare(rig.local({
    systemPrompt: "system-canary",
    harnessConfig: { model_reasoning_effort: "high" },
    executionControls: controls({ text_verbosity: "high" }),
  }));
  await rig.run(executor, "go");
  const body = rig.provider.requests[0]?.body;
  assertEquals(body?.model, "gpt-5.5");
  assertEquals((body?.reasoning as { effort?: string }).effort, "high");
  assertEquals((body?.text as { verbosity?: string }).verbosity, "high");
  const developer = JSON.stringify(
    body?.input.filter(({ role }) => role === "developer"),
  );
  assertEquals(developer.split("system-canary").length, 2, "exactly once");
  assertEquals(
    rig.provider.requests[0]?.headers.authorization,
    "Bearer sk-canary-provider",
  );
});

Deno.test("web search is offered as controlled", async () => {
  await using rig = await CodexRig.start({
    bound: true,
    script: () => textAnswer("m1", "done"),
  });
  assertEquals(rig.harness.declaration.web_search_control, "supported");
  const access: unknown[] = [];
  for (const web_search of ["disabled", "live"]) {
    const executor = await rig.prepare(
      rig.local({ executionControls: controls({ web_search }) }),
    );
    await rig.run(executor, "go");
    await rig.close(executor);
    const request = rig.provider.requests.at(-1);
    assertEquals(
      offeredTools(request).includes("web_search"),
      web_search !== "disabled",
    );
    const tool = request?.body?.tools?.find(({ type }) =>
      type === "web_search"
    );
    access.push(tool?.external_web_access);
  }
  assertEquals(access, [undefined, true]);
  const cached = rig.local({
    executionControls: controls({ web_search: "cached" }),
  });
  assert(rig.factory.checkConfiguration(cached) !== undefined);
});

Deno.test("text verbosity is sent or refused", async () => {
  await using rig = await CodexRig.start({
    bound: true,
    script: () => textAnswer("m1", "done"),
  });
  assertEquals(rig.harness.declaration.text_verbosity, "supported");
  for (const text_verbosity of ["low", "medium", "high"]) {
    const executor = await rig.prepare(
      rig.local({ executionControls: controls({ text_verbosity }) }),
    );
    await rig.run(executor, "go");
    await rig.close(executor);
    const text = rig.provider.requests.at(-1)?.body?.text;
    assertEquals((text as { verbosity?: string }).verbosity, text_verbosity);
  }
  const asked = rig.provider.requests.length;
  await assertRejects(
    () =>
      rig.prepare(rig.local({
        model: "unknown-model",
        executionControls: controls({ text_verbosity: "low" }),
      })),
    Error,
    "verbosity",
  );
  const neutral = await rig.prepare(rig.local({
    model: "unknown-model",
    executionControls: controls({}),
  }));
  await rig.run(neutral, "go");
  assertEquals(rig.provider.requests.length, asked + 1);
});

Deno.test("no code mode is offered to a model that knows nothing else", async () => {
  await using rig = await CodexRig.start({
    bound: true,
    script: () => textAnswer("m1", "done"),
  });
  const offer = async (disable: boolean) => {
    const executor = await rig.prepare(rig.local({
      model: "gpt-6.2-sol",
      executionControls: controls({
        disable_programmatic_tool_calling: disable,
      }),
    }));
    await rig.run(executor, "go");
    await rig.close(executor);
    return offeredTools(rig.provider.requests.at(-1));
  };
  const codeMode = (names: string[]) =>
    names.filter((name) => /(^|\.)(exec|wait)$/.test(name));
  assert(codeMode(await offer(false)).length > 0, "the model has code mode");
  const direct = await offer(true);
  assertEquals(codeMode(direct), []);
  assert(direct.some((name) => name.includes("exec_command")));
});

Deno.test("disabled subagents are not offered", async () => {
  await using rig = await CodexRig.start({
    bound: true,
    script: () => textAnswer("m1", "done"),
  });
  const delegation = async (
    model: string,
    agents: "observed" | "disabled" | "unmentioned",
  ) => {
    const executor = await rig.prepare(rig.local({
      model,
      disableSubagents: agents === "disabled",
      observeSubagentIdentities: agents === "observed",
    }));
    await rig.run(executor, "go");
    await rig.close(executor);
    return /spawn_agent/.test(rig.provider.requests.at(-1)?.text ?? "");
  };
  for (const model of ["unknown-model", "gpt-6.2-sol"]) {
    assertEquals(await delegation(model, "observed"), true, model);
    assertEquals(await delegation(model, "disabled"), false, model);
    assertEquals(await delegation(model, "unmentioned"), false, model);
  }
});

const format: ExecutionControls = controls({
  output_format: {
    type: "json_schema",
    schema: {
      type: "object",
      properties: { n: { type: "integer" } },
      required: ["n"],
      additionalProperties: false,
    },
  },
});

Deno.test("a final text that breaks the schema ends in an error", async () => {
  await using rig = await CodexRig.start({
    script: answers(
      textAnswer("m1", '{"n":', "7}"),
      textAnswer("m2", '{"n":"seven"}'),
      textAnswer("m3", "no json"),
    ),
  });
  const executor = await rig.prepare(
    rig.configuration({ executionControls: format }),
  );
  const good = await rig.run(executor, "go", "run-1");
  assertEquals(good.all("error"), []);
  assertEquals(good.all("done")[0]?.payload.content, '{"n":7}');
  const sent = rig.provider.requests[0]?.body?.text as {
    format?: { schema?: unknown };
  };
  assertEquals(
    sent.format?.schema,
    format.output_format?.schema as Record<string, unknown>,
  );
  for (const run of ["run-2", "run-3"]) {
    const bad = await rig.run(executor, "go", run);
    assertEquals(bad.all("error").length, 1);
    assertEquals(bad.all("error")[0]?.payload.code, undefined);
    assertEquals(bad.all("done").length, 1);
  }
});

Deno.test("a schema that cannot be checked is refused before preparation", async () => {
  await using rig = await CodexRig.start();
  const refusal = rig.factory.checkConfiguration(rig.configuration({
    executionControls: controls({
      output_format: { type: "json_schema", schema: { type: "nonsense" } },
    }),
  }));
  assert(refusal !== undefined);
});
