/** Core's workspace operations against Runtimes that lie: what is not exact is unknown, and stays so. */
import { assertEquals, assertRejects } from "@std/assert";
import { CoreRuleBroken } from "../../src/loopback/observation.ts";
import { WorkspaceClient } from "../../src/loopback/workspace_client.ts";
import { systemIds } from "../../src/platform/ids.ts";
import { contractDeclaration } from "../contract/declaration_fixture.ts";
import type { ScriptedRuntime } from "../contract/scripted_runtime.ts";
import { DEVICE, Lab } from "./lab.ts";

const content = new TextEncoder().encode("hello");

interface Bound {
  readonly lab: Lab;
  readonly runtime: ScriptedRuntime;
  readonly client: WorkspaceClient;
}

/** A bound device on which a test answers by hand. */
async function bound(body: (bound: Bound) => Promise<void>): Promise<void> {
  await using lab = await Lab.open();
  const runtime = await lab.dial();
  runtime.heartbeat(contractDeclaration([], "bound"));
  await lab.received.next();
  const session = await lab.core.session(DEVICE);
  const client = new WorkspaceClient(session, {
    agentKind: "contract",
    environmentId: systemIds.uuid(),
    sessionId: systemIds.uuid(),
  }, systemIds);
  await body({ lab, runtime, client });
}

/** Answers the next frame of Core, whatever its id is. */
async function answer(
  { lab, runtime }: Bound,
  type: string,
  ...payloads: readonly unknown[]
  // deno-lint-ignore no-explicit-any -- assertions look into the frame
): Promise<any> {
  const frame = await runtime.inbox.next();
  for (const payload of payloads) {
    await lab.deliver(runtime, type, frame.id ?? "", payload);
  }
  return frame;
}

function status(revision: number, state: string, more = {}): unknown {
  return { handle: "lent", expires_at: 18e11, revision, state, ...more };
}

const lies: readonly (readonly [string, readonly unknown[]])[] = [
  ["an early completion", [{ outcome: "completed", size_bytes: 5 }]],
  ["a ready that counts", [{ outcome: "ready", offset: 1 }]],
  ["too few bytes", [{ outcome: "ready" }, { outcome: "received", offset: 4 }]],
  ["another size", [
    { outcome: "ready" },
    { outcome: "received", offset: 5 },
    { outcome: "completed", size_bytes: 4 },
  ]],
  ["a rejection for an unknown effect", [
    { outcome: "rejected", error_code: "write_unconfirmed" },
  ]],
  ["an unknown effect", [
    { outcome: "unknown", error_code: "write_unconfirmed" },
  ]],
];

for (const [what, results] of lies) {
  Deno.test(`${what} leaves a write unknown, and the workspace reserved`, () =>
    bound(async (parts) => {
      const { client } = parts;
      const writing = client.write("a.txt", content);
      for (const result of results) {
        await answer(parts, "workspace_write_result", result);
      }
      assertEquals((await writing).kind, "unknown");
      assertEquals(client.reservedBy === undefined, false);
      await assertRejects(
        () => client.write("b.txt", content),
        CoreRuleBroken,
      );
      assertEquals(await parts.runtime.inbox.silence(), undefined);
    }));
}

Deno.test("an exact receipt lifts the reservation, a refusal too", () =>
  bound(async (parts) => {
    const { client } = parts;
    const refused = client.write("a.txt", content);
    await answer(parts, "workspace_write_result", {
      outcome: "rejected",
      error_code: "write_rejected",
      reason: "unsafe_destination",
    });
    assertEquals(await refused, {
      kind: "rejected",
      code: "write_rejected",
      reason: "unsafe_destination",
    });
    const steps: string[] = [];
    const written = client.write("b.txt", content, (step) => steps.push(step));
    for (
      const result of [
        { outcome: "ready" },
        { outcome: "received", offset: 5 },
        { outcome: "completed", size_bytes: 5 },
      ]
    ) await answer(parts, "workspace_write_result", result);
    assertEquals(await written, { kind: "completed" });
    assertEquals(steps, ["ready", "received 5", "completed"]);
    assertEquals(client.reservedBy, undefined);
  }));

Deno.test("a lost connection leaves a write unknown", () =>
  bound(async ({ runtime, client }) => {
    const writing = client.write("a.txt", content);
    await runtime.inbox.next();
    await runtime.drop();
    assertEquals((await writing).kind, "unknown");
  }));

const completedRead = {
  outcome: "completed",
  data: content.toBase64(),
  close_acknowledged: true,
};

Deno.test("what was read is handed out only after the confirmed release", () =>
  bound(async (parts) => {
    const reading = parts.client.read("a.txt", 5);
    let handedOut = false;
    void reading.then(() => (handedOut = true));
    await answer(
      parts,
      "preparation_status",
      status(1, "preparing"),
      status(2, "ready"),
    );
    await answer(parts, "workspace_read_result", completedRead);
    const release = await parts.runtime.inbox.next();
    assertEquals([release.type, handedOut], ["execution_release", false]);
    await parts.lab.deliver(
      parts.runtime,
      "preparation_status",
      release.id ?? "",
      status(4, "released"),
    );
    assertEquals(await reading, {
      kind: "data",
      value: { data: content, truncated: false },
    });
  }));

Deno.test("without a confirmed release there is no data", () =>
  bound(async (parts) => {
    const reading = parts.client.read("a.txt", 5);
    await answer(
      parts,
      "preparation_status",
      status(1, "preparing"),
      status(2, "ready"),
    );
    await answer(parts, "workspace_read_result", completedRead);
    await answer(
      parts,
      "preparation_status",
      status(4, "failed", { error_code: "cleanup_unconfirmed" }),
    );
    assertEquals((await reading).kind, "unavailable");
  }));

const readLies: readonly (readonly [string, unknown])[] = [
  ["more bytes than asked", {
    ...completedRead,
    data: new TextEncoder().encode("hello!").toBase64(),
  }],
  ["no close", { outcome: "completed", data: completedRead.data }],
  ["a truncation below the bound", {
    ...completedRead,
    data: "aGk=",
    truncated: true,
  }],
  ["an unknown read", { outcome: "unknown", error_code: "read_unconfirmed" }],
];

for (const [what, result] of readLies) {
  Deno.test(`${what}: the read is unavailable, and its access is still released`, () =>
    bound(async (parts) => {
      const reading = parts.client.read("a.txt", 5);
      await answer(
        parts,
        "preparation_status",
        status(1, "preparing"),
        status(2, "ready"),
      );
      await answer(parts, "workspace_read_result", result);
      await answer(parts, "preparation_status", status(4, "released"));
      assertEquals((await reading).kind, "unavailable");
    }));
}

Deno.test("an export is only what was pulled in order to its completion", () =>
  bound(async (parts) => {
    for (
      const [last, kind] of [
        [{ outcome: "completed", offset: 5 }, "data"],
        [{ outcome: "completed", offset: 6 }, "unavailable"],
        [{ outcome: "chunk", offset: 4, data: "aGk=" }, "unavailable"],
        [
          { outcome: "failed", offset: 5, error_code: "export_failed" },
          "refused",
        ],
      ] as const
    ) {
      const exporting = parts.client.exportOutputs();
      await answer(
        parts,
        "preparation_status",
        status(1, "preparing"),
        status(2, "ready"),
      );
      await answer(parts, "workspace_export_result", {
        outcome: "chunk",
        offset: 0,
        data: completedRead.data,
      });
      const next = await answer(parts, "workspace_export_result", last);
      assertEquals(next.payload, { step: "next", offset: 5 });
      await answer(parts, "preparation_status", status(4, "released"));
      assertEquals((await exporting).kind, kind);
    }
  }));
