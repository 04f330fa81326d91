import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { deferred } from "../../../src/platform/deferred.ts";
import {
  replies,
  textReply,
  toolReply,
} from "../../../src/loopback/messages_provider.ts";
import { ClaudeLab, never, run, start } from "./support.ts";

Deno.test("claude cancel: a streaming Turn ends with its partial text and the process is reused", async () => {
  const hang = deferred();
  await using lab = await ClaudeLab.open({
    script: replies(
      textReply("msg_1", "part", hang.promise),
      textReply("msg_2", "again"),
    ),
  });
  const executor = await lab.prepare();
  const { turn, sink } = await start(executor, "long story");
  await sink.next("delta");
  await turn.cancel(never);
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  const outcome = turn.cancellationOutcome();
  assertEquals(outcome.content, "part");
  assertEquals(outcome.metadata?.["agent_session_type"], "claude_session");
  assertEquals(sink.all("error"), []);
  assertEquals(
    sink.all("output_message").map(({ payload }) => payload.status),
    ["in_progress"],
  );
  const next = await run(executor, "next");
  assertEquals(
    next.all("done")[0]?.payload.metadata,
    outcome.metadata,
  );
  assertEquals(lab.launches.length, 1);
  await turn.cancel(never); // stale: returns at once
});

Deno.test("claude cancel: a request that is never answered settles too", async () => {
  await using lab = await ClaudeLab.open({
    script: (_request, index) =>
      index === 0 ? { type: "hang" } : textReply("msg_2", "fine"),
  });
  const executor = await lab.prepare();
  const { turn } = await start(executor, "anyone there?");
  await lab.provider.request(0);
  await turn.cancel(never);
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  await run(executor, "now?");
});

Deno.test("claude cancel: right after the start nothing reaches the provider or everything settles", async () => {
  await using lab = await ClaudeLab.open({
    script: () => ({ type: "hang" }),
  });
  const executor = await lab.prepare();
  const { turn, sink } = await start(executor, "never mind");
  await turn.cancel(never);
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  assertEquals(sink.events.map(({ type }) => type).at(-1), "done");
});

Deno.test("claude cancel: a running command dies with the Turn and stays incomplete", async () => {
  await using lab = await ClaudeLab.open({
    bound: true,
    script: replies(toolReply("msg_1", {
      id: "toolu_1",
      name: "Bash",
      input: { command: "exec 3> gate; exec tail -f /dev/null" },
    })),
  });
  await new Deno.Command("mkfifo", { args: [join(lab.workspace, "gate")] })
    .output();
  const executor = await lab.prepare(lab.local());
  const { turn, sink } = await start(executor, "run it");
  await sink.next("tool_call");
  using gate = await Deno.open(join(lab.workspace, "gate")); // until the command opens it too
  await turn.cancel(never);
  assertEquals(await turn.awaitSettlement(never), { reusable: true });
  assertEquals(
    sink.all("tool_call").map(({ payload }) => [
      payload.id,
      payload.stage,
      payload.observation?.status,
    ]),
    [["toolu_1", "before", "in_progress"], ["toolu_1", "after", "incomplete"]],
  );
  assertEquals(await gate.read(new Uint8Array(1)), null); // every writer is gone
});

Deno.test("claude cancel: a lost process confirms nothing", async () => {
  const hang = deferred();
  await using lab = await ClaudeLab.open({
    script: replies(textReply("msg_1", "part", hang.promise)),
  });
  const executor = await lab.prepare();
  const { turn, sink } = await start(executor, "long story");
  await sink.next("delta");
  lab.children.at(-1)?.kill();
  await assertRejects(() => turn.awaitSettlement(never));
  await assertRejects(() => turn.cancel(never));
  assertEquals(sink.events.slice(-2).map(({ type }) => type), [
    "error",
    "done",
  ]);
  assert(await executor.retired);
});

Deno.test("claude close: in the middle of a command nothing is left and nothing is confirmed", async () => {
  await using lab = await ClaudeLab.open({
    bound: true,
    script: replies(toolReply("msg_1", {
      id: "toolu_1",
      name: "Bash",
      input: { command: "exec 3> gate; exec tail -f /dev/null" },
    })),
  });
  await new Deno.Command("mkfifo", { args: [join(lab.workspace, "gate")] })
    .output();
  const executor = await lab.prepare(lab.local());
  const { turn } = await start(executor, "run it");
  using gate = await Deno.open(join(lab.workspace, "gate"));
  await executor.close(never);
  assertEquals(await gate.read(new Uint8Array(1)), null);
  await assertRejects(() => turn.awaitSettlement(never));
  await lab.assertNothingLeft();
});
