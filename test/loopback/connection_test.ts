import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { CoreRuleBroken } from "../../src/loopback/observation.ts";
import {
  CAPABILITY_NAMES,
  encodeDeclaration,
} from "../../src/protocol/capabilities.ts";
import { soon } from "../contract/controlled_harness.ts";
import { contractDeclaration } from "../contract/declaration_fixture.ts";
import { configuration, DEVICE, Lab } from "./lab.ts";

function heartbeat(kinds: unknown): string {
  return JSON.stringify({
    type: "heartbeat",
    payload: { ts: 1, active_requests: 0, supported_agent_kinds: kinds },
  });
}

const whole = encodeDeclaration(contractDeclaration([]));

for (const name of CAPABILITY_NAMES) {
  for (
    const [word, value] of [
      ["absent", undefined],
      ["null", null],
      ["0", 0],
      ["1", 1],
      ['"true"', "true"],
    ] as const
  ) {
    Deno.test(`a heartbeat with ${name} ${word} ends the connection`, async () => {
      await using lab = await Lab.open();
      const { runtime, session } = await lab.connect();
      const capabilities = { ...whole, [name]: value };
      runtime.sendText(
        heartbeat([{ kind: "contract", available: true, capabilities }]),
      );
      assertEquals(
        (await soon("the end of the session", session.ended)).reason,
        "invalid_heartbeat",
      );
      assertEquals(session.declarations.known, false);
      assertEquals(await soon("the end of the socket", runtime.closed), 1006);
    });
  }

  Deno.test(`${name} is known as declared, alone`, async () => {
    await using lab = await Lab.open();
    const { runtime, session } = await lab.connect();
    const alone = Object.fromEntries(
      CAPABILITY_NAMES.map((field) => [field, field === name]),
    );
    runtime.sendText(
      heartbeat([{ kind: "contract", available: true, capabilities: alone }]),
    );
    await lab.received.next();
    const [kind] = session.declarations.kinds;
    for (const field of CAPABILITY_NAMES) {
      assertEquals(
        kind?.declaration[field],
        field === name ? "supported" : "unsupported",
      );
    }
  });
}

const brokenHeartbeats: readonly (readonly [string, string])[] = [
  [
    "an unknown member among the capabilities",
    heartbeat([{
      kind: "contract",
      available: true,
      capabilities: { ...whole, future_private_value: false },
    }]),
  ],
  ["no capability object", heartbeat([{ kind: "codex", available: true }])],
  [
    "a null capability object",
    heartbeat([{ kind: "codex", available: false, capabilities: null }]),
  ],
  [
    "a kind without a name",
    heartbeat([{ kind: "", available: true, capabilities: whole }]),
  ],
  [
    "the same kind twice",
    heartbeat([
      { kind: "contract", available: true, capabilities: whole },
      { kind: "contract", available: true, capabilities: whole },
    ]),
  ],
];

for (const [name, text] of brokenHeartbeats) {
  Deno.test(`a heartbeat with ${name} ends the connection`, async () => {
    await using lab = await Lab.open();
    const { runtime, session } = await lab.connect();
    runtime.sendText(text);
    assertEquals(
      (await soon("the end of the session", session.ended)).reason,
      "invalid_heartbeat",
    );
  });
}

Deno.test("nothing may come before the first heartbeat", async () => {
  await using lab = await Lab.open();
  const runtime = await lab.dial();
  // Harmless later: a receipt that nobody waits for is only noted.
  runtime.send({
    type: "prompt_steer_ack",
    id: "run",
    payload: { input_id: "1", accepted: true },
  });
  assertEquals(await soon("the end of the socket", runtime.closed), 1006);
});

const brokenMessages: readonly (readonly [string, string])[] = [
  ["no JSON", "{"],
  ["no object", "[]"],
  ["no type", "{}"],
  ["a type that no Runtime sends", '{"type":"execution_start","id":"x"}'],
  ["a type of the future", '{"type":"command_output","id":"x"}'],
  ["a Run frame without an id", '{"type":"done","payload":{"content":""}}'],
  [
    "a member outside the schema",
    '{"type":"delta","id":"run","payload":{"delta":"","sequence":1,"more":1}}',
  ],
  [
    "a body where there is none",
    '{"type":"permission_cancel","id":"a","payload":{}}',
  ],
];

for (const [name, text] of brokenMessages) {
  Deno.test(`a message with ${name} ends the connection loudly`, async () => {
    await using lab = await Lab.open();
    const { runtime, session } = await lab.connect();
    runtime.sendText(text);
    const end = await soon("the end of the session", session.ended);
    assertEquals(end.reason, "violation");
    assertEquals(typeof end.detail, "string");
    assertEquals(await soon("the end of the socket", runtime.closed), 1006);
  });
}

Deno.test("a message of 4 MiB is taken, one byte more ends the connection", async () => {
  await using lab = await Lab.open();
  const { runtime, session } = await lab.connect();
  const frame = (bytes: number) => {
    const empty = heartbeat([]);
    return heartbeat([]) + " ".repeat(bytes - empty.length);
  };
  runtime.sendText(frame(4 * 1024 * 1024));
  await lab.received.next();
  runtime.sendText(frame(4 * 1024 * 1024 + 1));
  assertEquals(
    (await soon("the end of the session", session.ended)).reason,
    "connection_lost",
  );
});

Deno.test("a connection without data for 60 s is given up, and a ping is no data", async () => {
  await using lab = await Lab.open();
  const { runtime, session } = await lab.connect();
  await lab.clock.advance(59_000);
  runtime.heartbeat(contractDeclaration([]));
  await lab.received.next();
  await lab.clock.advance(59_999);
  assertEquals(session.declarations.known, true);
  await lab.clock.advance(1);
  assertEquals(
    (await soon("the end of the session", session.ended)).reason,
    "silence",
  );
  assertEquals(await soon("the end of the socket", runtime.closed), 1006);
});

Deno.test("a newer connection evicts the older one without a close frame", async () => {
  await using lab = await Lab.open();
  const first = await lab.started();
  const second = await lab.connect(first.session);
  assertEquals(
    (await soon("the end of the session", first.session.ended)).reason,
    "evicted",
  );
  assertEquals(await soon("the end of the socket", first.runtime.closed), 1006);
  assertEquals(await soon("the outcome", first.run.outcome), {
    kind: "unknown",
    reason: "evicted",
  });
  // The late close of the older socket leaves the newer session where it is.
  assertEquals(await lab.core.session(DEVICE), second.session);
});

Deno.test("a removed device is told so with 4001 and is refused from then on", async () => {
  await using lab = await Lab.open();
  const { runtime, session } = await lab.connect();
  lab.core.retire(DEVICE);
  assertEquals(await soon("the end of the socket", runtime.closed), 4001);
  assertEquals(
    (await soon("the end of the session", session.ended)).reason,
    "retired",
  );
  await assertRejects(() => lab.dial());
});

Deno.test("a lost connection ends every observation as unknown and makes up no frame", async () => {
  await using lab = await Lab.open();
  const { runtime, session, run } = await lab.started();
  const input = session.steer("run", "1", [{
    content: [{ type: "input_text", text: "x" }],
  }]);
  const cancel = session.cancel("run");
  const read = session.exchange("workspace_read", "read", {
    handle: "handle",
    environment_id: "e",
    path: "",
    max_bytes: 1,
  });
  await runtime.drop();
  const lost = { kind: "lost", reason: "connection_lost" } as const;
  assertEquals(await input.settled, lost);
  assertEquals(await input.written, false);
  assertEquals(await cancel, lost);
  assertEquals(await read, lost);
  assertEquals(await soon("the outcome", run.outcome), {
    kind: "unknown",
    reason: "connection_lost",
  });
  const events: string[] = [];
  await assertRejects(async () => {
    for await (const event of run) events.push(event.type);
  });
  assertEquals(events, []);
  assertThrows(() => session.abandon("run"), CoreRuleBroken);
  assertEquals(lab.clock.pendingTimers, 0);
});

Deno.test("a preparation of another connection can be neither started nor released", async () => {
  await using lab = await Lab.open();
  const { runtime, session, preparation } = await lab.prepared();
  await runtime.drop();
  await session.ended;
  const next = await lab.connect(session);
  assertThrows(
    () => next.session.start(preparation, { input: [] }),
    CoreRuleBroken,
  );
  assertThrows(() => next.session.release(preparation), CoreRuleBroken);
  assertEquals(await next.runtime.inbox.silence(), undefined);
});

Deno.test("neither credential nor content is in any line of the trace", async () => {
  await using lab = await Lab.open();
  const { runtime, run } = await lab.started();
  await lab.deliver(runtime, "delta", "run", {
    delta: "canary-content",
    sequence: 1,
  });
  const text = JSON.stringify(lab.lines);
  for (const secret of ["canary", "hello"]) {
    assertEquals(text.includes(secret), false, secret);
  }
  assertEquals(run.word, "open");
});

Deno.test("a kind that is not declared, or not available, is not asked for", async () => {
  await using lab = await Lab.open();
  const { runtime, session } = await lab.connect();
  const ask = (kind: string) =>
    session.prepare({
      sessionId: "s",
      configuration: configuration({ agent_kind: kind }),
    });
  assertThrows(() => ask("other"), CoreRuleBroken, "not declared");
  runtime.sendText(heartbeat([{
    kind: "contract",
    available: false,
    capabilities: whole,
  }]));
  await lab.received.next();
  assertThrows(() => ask("contract"), CoreRuleBroken, "unavailable");
  assertEquals(await runtime.inbox.silence(), undefined);
});
