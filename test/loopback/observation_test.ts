import { assertEquals, assertThrows } from "@std/assert";
import { CoreRuleBroken } from "../../src/loopback/observation.ts";
import { MAX_WAITING_EVENTS } from "../../src/loopback/run_events.ts";
import type { Configuration } from "../../src/protocol/configuration.ts";
import type { CapabilityName } from "../../src/protocol/capabilities.ts";
import { soon } from "../contract/controlled_harness.ts";
import { contractDeclaration } from "../contract/declaration_fixture.ts";
import { configuration, Lab } from "./lab.ts";

const text = [{ content: [{ type: "input_text" as const, text: "x" }] }];

Deno.test("a stale or repeated revision and a foreign handle change nothing", async () => {
  await using lab = await Lab.open();
  const { runtime, session, preparation } = await lab.prepared();
  await lab.status(runtime, 2, "expired");
  await lab.status(runtime, 1, "preparing");
  await lab.status(runtime, 9, "expired", { handle: "foreign" });
  await lab.deliver(runtime, "preparation_status", "elsewhere", {
    handle: "handle",
    revision: 9,
    state: "expired",
    expires_at: 1,
  });
  assertEquals(preparation.word, "ready");
  assertEquals(session.report().preparations, { prepare: "ready" });
  const ignored = lab.lines.filter(({ detail }) => detail.includes("ignored"));
  assertEquals(ignored.length, 4);
});

Deno.test("output may overtake started and is not lost", async () => {
  await using lab = await Lab.open();
  const { runtime, session, preparation } = await lab.prepared();
  const run = session.start(preparation, { runId: "run", input: text });
  await lab.deliver(runtime, "delta", "run", { delta: "x", sequence: 1 });
  await lab.status(runtime, 3, "starting", { run_id: "run" });
  await lab.status(runtime, 4, "started", { run_id: "run" });
  await lab.deliver(runtime, "done", "run", { content: "x" });
  const types: string[] = [];
  for await (const event of run) types.push(event.type);
  assertEquals(types, ["delta", "done"]);
  assertEquals(await run.started, { kind: "started" });
  assertEquals(await soon("the outcome", run.outcome), {
    kind: "completed",
    done: { content: "x" },
  });
});

Deno.test("a usage frame replaces the former one, and done without usage keeps it", async () => {
  await using lab = await Lab.open();
  const { runtime, run } = await lab.started();
  await lab.deliver(runtime, "usage", "run", { input_tokens: 10 });
  await lab.deliver(runtime, "usage", "run", { input_tokens: 7 });
  await lab.deliver(runtime, "done", "run", { content: "" });
  const outcome = await soon("the outcome", run.outcome);
  assertEquals(outcome.kind === "completed" && outcome.usage, {
    input_tokens: 7,
  });
});

Deno.test("an engine failure is told apart, its class is normalised and done still ends the Run", async () => {
  await using lab = await Lab.open();
  const { runtime, run } = await lab.started();
  await lab.deliver(runtime, "error", "run", {
    error: "x",
    code: "future_code",
    http_status: 503,
  });
  await lab.deliver(runtime, "done", "run", { content: "partial" });
  assertEquals(await soon("the outcome", run.outcome), {
    kind: "failed",
    error: { error: "x" },
    done: { content: "partial" },
  });
});

Deno.test("an observer that is too slow loses the observation, not the connection", async () => {
  await using lab = await Lab.open();
  const { runtime, session, run } = await lab.started();
  for (let sequence = 1; sequence <= MAX_WAITING_EVENTS + 1; sequence++) {
    await lab.deliver(runtime, "delta", "run", { delta: "", sequence });
  }
  assertEquals(await soon("the outcome", run.outcome), {
    kind: "unknown",
    reason: "subscriber_overflow",
  });
  await lab.deliver(runtime, "done", "run", { content: "" });
  assertEquals(session.declarations.known, true);
});

Deno.test("written has 30 s from the delivery; then the input is unconfirmed and no other is lost", async () => {
  await using lab = await Lab.open();
  const { session } = await lab.started();
  const input = session.steer("run", "1", text);
  await lab.clock.advance(29_999);
  assertThrows(() => session.steer("run", "2", text), CoreRuleBroken);
  await lab.clock.advance(1);
  assertEquals(await input.settled, { kind: "unconfirmed" });
  assertEquals(await input.written, false);
});

Deno.test("accepted has no deadline of its own", async () => {
  await using lab = await Lab.open();
  const { runtime, session } = await lab.started();
  const input = session.steer("run", "1", text);
  const ack = (members: object) =>
    lab.deliver(runtime, "prompt_steer_ack", "run", {
      input_id: "1",
      accepted: false,
      ...members,
    });
  await ack({ written: true });
  for (let second = 0; second < 10 * 60; second += 15) {
    runtime.heartbeat(contractDeclaration([]));
    await lab.received.next();
    await lab.clock.advance(15_000);
  }
  await ack({ accepted: true });
  assertEquals(await input.settled, { kind: "accepted" });
});

Deno.test("an input is delivered again only after a retryable refusal", async () => {
  await using lab = await Lab.open();
  const { runtime, session } = await lab.started();
  const refuse = (error_code: string) =>
    lab.deliver(runtime, "prompt_steer_ack", "run", {
      input_id: "1",
      accepted: false,
      error_code,
    });
  session.steer("run", "1", text);
  await refuse("not_ready");
  session.steer("run", "1", text);
  await refuse("rejected");
  assertThrows(() => session.steer("run", "1", text), CoreRuleBroken);
});

Deno.test("a cancellation without a receipt in 15 s is unconfirmed, and the outcome of the Run is its", async () => {
  await using lab = await Lab.open();
  const { runtime, session, run } = await lab.started();
  const receipt = session.cancel("run");
  await lab.deliver(runtime, "done", "run", { content: "" });
  await lab.clock.advance(14_999);
  assertEquals(run.word, "open");
  await lab.clock.advance(1);
  assertEquals(await receipt, { kind: "unconfirmed" });
  assertEquals(await soon("the outcome", run.outcome), {
    kind: "unknown",
    reason: "cancel_unconfirmed",
  });
});

Deno.test("run_inactive after done leaves the outcome to done", async () => {
  await using lab = await Lab.open();
  const { runtime, session, run } = await lab.started();
  const receipt = session.cancel("run");
  await lab.deliver(runtime, "done", "run", { content: "x" });
  await lab.deliver(runtime, "interaction_decision_ack", "run", {
    delivery_id: "cancel:run",
    applied: false,
    error_code: "run_inactive",
  });
  assertEquals(await receipt, { kind: "refused", code: "run_inactive" });
  assertEquals((await soon("the outcome", run.outcome)).kind, "completed");
});

Deno.test("a receipt under another id or delivery proves nothing", async () => {
  await using lab = await Lab.open();
  const { runtime, session, run } = await lab.started();
  const receipt = session.cancel("run");
  const applied = (id: string, delivery_id: string) =>
    lab.deliver(runtime, "interaction_decision_ack", id, {
      delivery_id,
      applied: true,
      outcome: { content: "" },
    });
  await applied("other", "cancel:run");
  await applied("run", "cancel:other");
  await lab.deliver(runtime, "prompt_steer_ack", "run", {
    input_id: "never sent",
    accepted: true,
  });
  assertEquals(run.word, "open");
  await lab.clock.advance(15_000);
  assertEquals(await receipt, { kind: "unconfirmed" });
});

Deno.test("a result answers only a request of its family, and a missing one is unconfirmed", async () => {
  await using lab = await Lab.open();
  const { runtime, session } = await lab.connect();
  const read = session.exchange("workspace_read", "x", {
    handle: "h",
    environment_id: "e",
    path: "",
    max_bytes: 1,
  });
  assertThrows(
    () =>
      session.exchange("environment_quiesce", "x", {
        environment_id: "e",
        suspend_id: "s",
      }),
    CoreRuleBroken,
  );
  await lab.deliver(runtime, "workspace_export_result", "x", {
    outcome: "rejected",
    offset: 0,
    error_code: "resource_unavailable",
  });
  await lab.clock.advance(17_000);
  assertEquals(await read, { kind: "unconfirmed" });
});

Deno.test("one start for one reservation, and none before ready", async () => {
  await using lab = await Lab.open();
  const { runtime, session } = await lab.connect();
  const preparation = session.prepare({
    sessionId: "session",
    requestId: "prepare",
    configuration: configuration(),
  });
  const start = () => session.start(preparation, { input: text });
  assertThrows(start, CoreRuleBroken, "not ready");
  assertThrows(() => session.release(preparation), CoreRuleBroken);
  await lab.status(runtime, 1, "preparing");
  assertThrows(start, CoreRuleBroken, "not ready");
  await lab.status(runtime, 2, "ready");
  start();
  assertThrows(start, CoreRuleBroken, "before");
});

const neededRows: readonly (readonly [
  CapabilityName,
  Partial<Configuration>,
])[] = [
  ["streaming", {}],
  ["steering", {}],
  ["durable_turns", {}],
  ["durable_input_receipts", {}],
  ["preparation", {}],
  ["execution_controls", {}],
  ["tool_observations", {}],
  ["environment_none", {}],
  ["native_session_recovery", { require_existing_native_session: true }],
  ["structured_output", { execution_controls: controls({ output: true }) }],
  ["message_items", { execution_controls: controls({ output: true }) }],
  [
    "programmatic_tool_calling_disable",
    { execution_controls: controls({ plain: true }) },
  ],
  ["subagent_observations", { observe_subagent_identities: true }],
  ["subagent_control", { disable_subagents: true }],
  ["tool_search", { tool_search: true }],
  ["function_tools", { function_tools: [functionTool()] }],
  ["mcp_http_tools", { mcp_http_servers: [mcpServer({})] }],
  ["mcp_http_required", { mcp_http_servers: [mcpServer({ required: true })] }],
  [
    "mcp_http_bearer_auth",
    { mcp_http_servers: [mcpServer({ bearer_token: "t" })] },
  ],
];

for (const [name, members] of neededRows) {
  Deno.test(`Core sends nothing that needs ${name} to a Runtime without it`, async () => {
    await using lab = await Lab.open({ unsupported: [name] });
    const { runtime, session } = await lab.connect();
    assertThrows(
      () =>
        session.prepare({
          sessionId: "s",
          configuration: configuration(members),
        }),
      CoreRuleBroken,
      name,
    );
    assertEquals(await runtime.inbox.silence(), undefined);
  });
}

Deno.test("usage and resume are no conditions", async () => {
  await using lab = await Lab.open({ unsupported: ["usage", "resume"] });
  const { session } = await lab.connect();
  session.prepare({ sessionId: "s", configuration: configuration() });
});

function controls(
  what: { readonly output?: boolean; readonly plain?: boolean },
): NonNullable<Configuration["execution_controls"]> {
  return {
    web_search: "disabled",
    text_verbosity: "medium",
    ...(what.output
      ? { output_format: { type: "json_schema", schema: {} } }
      : {}),
    ...(what.plain ? { disable_programmatic_tool_calling: true } : {}),
  };
}

function functionTool() {
  return { name: "f", description: "", parameters: {} };
}

function mcpServer(
  members: { readonly required?: boolean; readonly bearer_token?: string },
) {
  return {
    connection_origin: "service",
    server_label: "l",
    server_url: "https://mcp.example",
    allowed_tools: null,
    ...members,
  };
}
