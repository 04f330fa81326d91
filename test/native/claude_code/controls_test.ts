import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import type { PreparedConfiguration } from "../../../src/harness/contract.ts";
import {
  replies,
  textReply,
  toolReply,
} from "../../../src/loopback/messages_provider.ts";
import {
  ClaudeLab,
  KEY_CANARY,
  lastUserText,
  never,
  proves,
  run,
  toolNames,
} from "./support.ts";

const NEUTRAL = { web_search: "disabled", text_verbosity: "medium" };

proves("execution_controls", async () => {
  await using lab = await ClaudeLab.open({
    bound: true,
    script: () => textReply("msg_1", "fine"),
  });
  const { factory } = lab.harness;
  assert(factory);
  for (
    const controls of [
      { ...NEUTRAL, web_search: "cached" },
      { ...NEUTRAL, web_search: "live" },
      { ...NEUTRAL, text_verbosity: "low" },
      { ...NEUTRAL, text_verbosity: "high" },
    ]
  ) {
    assert(
      factory.checkConfiguration(
        lab.configuration({ executionControls: controls }),
      ),
    );
  }
  const executor = await lab.prepare(lab.local({ executionControls: NEUTRAL }));
  await run(executor, "hello");
  const names = toolNames(lab.provider.requests[0]);
  assert(!names.some((name) => name.startsWith("Web")), names.join());
});

const CODE_TOOLS = /code|program|repl|script|notebook|workflow/i;
const DELEGATION_TOOLS = /agent|task|message|spawn|cron|monitor|wakeup/i;

proves("programmatic_tool_calling_disable", async () => {
  await using lab = await ClaudeLab.open({
    bound: true,
    script: () => textReply("msg_1", "fine"),
  });
  const executor = await lab.prepare(lab.local({
    executionControls: { ...NEUTRAL, disable_programmatic_tool_calling: true },
  }));
  await run(executor, "hello");
  const tools = lab.provider.requests[0]?.body?.tools ?? [];
  assertEquals(
    tools.map(({ name }) => name).filter((name) => CODE_TOOLS.test(name)),
    [],
  );
  assert(!JSON.stringify(tools).includes("allowed_callers"));
});

proves("subagent_control", async () => {
  await using lab = await ClaudeLab.open({
    bound: true,
    script: replies(
      toolReply("msg_1", {
        id: "toolu_1",
        name: "Agent",
        input: { description: "x", prompt: "x", subagent_type: "claude" },
      }),
      textReply("msg_2", "no such tool"),
    ),
  });
  const executor = await lab.prepare(lab.local());
  const sink = await run(executor, "delegate");
  assertEquals(toolNames(lab.provider.requests[0]), [
    "Bash",
    "Edit",
    "Glob",
    "Grep",
    "Read",
    "Write",
  ]);
  assertEquals(
    toolNames(lab.provider.requests[0]).filter((name) =>
      DELEGATION_TOOLS.test(name)
    ),
    [],
  );
  assertEquals(lab.provider.requests.length, 2); // no request of a child
  assertEquals(sink.all("error"), []);
  const background = JSON.stringify(lab.provider.requests[0]?.body?.tools);
  assert(!background.includes("run_in_background"));
});

/** Parameters of `harness_config` with what the provider must see of them. */
const PARAMETERS: readonly (readonly [
  PreparedConfiguration["harnessConfig"],
  string,
  (body: Readonly<Record<string, unknown>>) => unknown,
  unknown,
])[] = [
  [
    { effort: "low" },
    "claude-opus-4-6",
    (body) => (body["output_config"] as { effort?: string })?.effort,
    "low",
  ],
  [
    { effort: "max" },
    "claude-opus-4-6",
    (body) => (body["output_config"] as { effort?: string })?.effort,
    "max",
  ],
  [
    { thinking: { type: "disabled" } },
    "claude-sonnet-4-5",
    (body) => (body["thinking"] as { type?: string })?.type ?? "disabled",
    "disabled",
  ],
  [
    { thinking: { type: "adaptive", display: "summarized" } },
    "claude-opus-4-6",
    (body) => body["thinking"],
    { type: "adaptive", display: "summarized" },
  ],
  [
    { thinking: { type: "enabled", budgetTokens: 4096 } },
    "claude-sonnet-4-5",
    (body) => (body["thinking"] as { budget_tokens?: number })?.budget_tokens,
    4096,
  ],
];

Deno.test("claude harness_config: every accepted parameter reaches the provider", async () => {
  await using lab = await ClaudeLab.open({
    script: () => textReply("msg_1", "fine"),
  });
  for (const [harnessConfig, model, select, expected] of PARAMETERS) {
    const executor = await lab.prepare(
      lab.configuration({ harnessConfig, model }),
    );
    await run(executor, "hello");
    await executor.close(never);
    const body = lab.provider.requests.at(-1)?.body;
    assertEquals(body?.model, model);
    assertEquals(
      select(body ?? {}),
      expected,
      JSON.stringify([
        harnessConfig,
        body?.["thinking"],
        body?.["output_config"],
      ]),
    );
  }
});

proves([
  "local_environment",
  "workspace_read_preparation",
  "workspace_output_export",
], async () => {
  await using lab = await ClaudeLab.open({
    bound: true,
    script: replies(
      toolReply("msg_1", {
        id: "toolu_1",
        name: "Bash",
        input: { command: 'pwd; printf %s "$TOOL_VALUE" > value' },
      }),
      toolReply("msg_2", {
        id: "toolu_2",
        name: "Write",
        input: { file_path: join("made.txt"), content: "old line\n" },
      }),
      toolReply("msg_3", {
        id: "toolu_3",
        name: "Edit",
        input: {
          file_path: "made.txt",
          old_string: "old",
          new_string: "new",
        },
      }),
      textReply("msg_4", "done"),
    ),
  });
  assertEquals(lab.harness.declaration.local_environment, "supported");
  const configuration = lab.local({
    environment: {
      kind: "local",
      workspaceRoot: lab.workspace,
      toolEnvironment: { TOOL_VALUE: "from Core" },
      skillDirectories: [],
    },
  });
  const executor = await lab.prepare(configuration);
  await run(executor, "work");
  assert(lastUserText(lab.provider.requests[1]).includes(lab.workspace));
  assertEquals(
    await Deno.readTextFile(join(lab.workspace, "value")),
    "from Core",
  );
  assertEquals(
    await Deno.readTextFile(join(lab.workspace, "made.txt")),
    "new line\n",
  );
});

proves("tool_observations", async () => {
  await using lab = await ClaudeLab.open({
    bound: true,
    script: replies(
      toolReply("msg_1", {
        id: "toolu_1",
        name: "Bash",
        input: { command: "echo out" },
      }),
      {
        type: "message",
        id: "msg_2",
        blocks: [
          {
            type: "tool_use",
            id: "toolu_2",
            name: "Bash",
            fragments: ['{"command":"exit 3"}'],
          },
          {
            type: "tool_use",
            id: "toolu_4",
            name: "Bash",
            fragments: ['{"command":"echo also"}'],
          },
        ],
      },
      toolReply("msg_3", {
        id: "toolu_3",
        name: "Glob",
        input: { pattern: "*" },
      }),
      textReply("msg_4", "done"),
    ),
  });
  const executor = await lab.prepare(lab.local());
  const sink = await run(executor, "work");
  const observed = sink.all("tool_call").map(({ payload }) => payload);
  assertEquals(
    observed.map(({ id, name, stage, observation }) => [
      id,
      name,
      stage,
      observation?.kind,
      observation?.status,
      observation?.command,
    ]),
    [
      ["toolu_1", "Bash", "before", "command", "in_progress", "echo out"],
      ["toolu_1", "Bash", "after", "command", "completed", "echo out"],
      ["toolu_2", "Bash", "before", "command", "in_progress", "exit 3"],
      ["toolu_4", "Bash", "before", "command", "in_progress", "echo also"],
      ["toolu_2", "Bash", "after", "command", "failed", "exit 3"],
      ["toolu_4", "Bash", "after", "command", "completed", "echo also"],
    ],
  );
  assertEquals(observed[1]?.observation?.output, "out");
});

Deno.test("claude provider: its limits are kept or the preparation fails", async () => {
  await using lab = await ClaudeLab.open({
    script: () => textReply("msg_1", "fine"),
  });
  const provider = (context_window: number) => ({
    protocol: "anthropic" as const,
    base_url: lab.provider.baseUrl,
    api_key: KEY_CANARY,
    context_window,
    max_output_tokens: 1234,
  });
  const executor = await lab.prepare(lab.configuration({
    model: "some-other-model",
    modelProvider: provider(50_000),
  }));
  await run(executor, "hello");
  assertEquals(lab.provider.requests[0]?.body?.["max_tokens"], 1234);
  assertEquals(
    lab.provider.requests[0]?.headers["authorization"],
    `Bearer ${KEY_CANARY}`,
  );
  await assertRejects(
    () => lab.prepare(lab.configuration({ modelProvider: provider(50_000) })),
    Error,
    "context window",
  );
});
