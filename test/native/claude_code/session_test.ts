import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { replies, textReply } from "../../../src/loopback/messages_provider.ts";
import { ClaudeLab, never, proves, run, start } from "./support.ts";

proves("resume", async () => {
  await using lab = await ClaudeLab.open({
    script: replies(textReply("msg_1", "blue"), textReply("msg_2", "still")),
  });
  const configuration = lab.configuration();
  const first = await lab.prepare(configuration);
  const sink = await run(first, "my colour is blue");
  const recorded = sink.all("done")[0]?.payload.metadata?.["agent_session_id"];
  assertEquals(recorded, configuration.sessionId);
  await first.close(never);
  const second = await lab.prepare({
    ...configuration,
    agentSessionId: String(recorded),
    systemPrompt: "Another prompt.",
  });
  const next = await run(second, "what is my colour?");
  assertEquals(
    next.all("done")[0]?.payload.metadata?.["agent_session_id"],
    recorded,
  );
  const text = lab.provider.requests[1]?.text ?? "";
  assert(text.includes("my colour is blue"));
  assert(text.includes("Another prompt."));
  assert(!text.includes("You are under test."));
  assertEquals(lab.launches.length, 2);
});

Deno.test("claude resume: an unknown or foreign id fails and starts nothing", async () => {
  await using lab = await ClaudeLab.open({
    script: replies(textReply("msg_1", "mine")),
  });
  const own = lab.configuration();
  const executor = await lab.prepare(own);
  await run(executor, "remember me");
  await executor.close(never);
  const launches = lab.launches.length;
  const refused = [
    { ...own, agentSessionId: crypto.randomUUID() },
    // The history exists, but in another Session's home.
    { ...lab.configuration(), agentSessionId: own.sessionId },
    { ...own, agentSessionId: "../../etc/passwd" },
    // A history that nobody asked to continue is not adopted.
    own,
  ];
  for (const configuration of refused) {
    await assertRejects(() => lab.prepare(configuration));
  }
  assertEquals(lab.launches.length, launches);
  assertEquals(lab.provider.requests.length, 1);
});

proves("native_session_recovery", async () => {
  await using lab = await ClaudeLab.open({
    script: (_request, index) =>
      index === 0 ? { type: "hang" } : textReply("msg_2", "recovered"),
  });
  assertEquals(lab.harness.declaration.native_session_recovery, "supported");
  const configuration = lab.configuration();
  const first = await lab.prepare(configuration);
  const { turn } = await start(first, "canary-history-41");
  await historyHolds(lab, "canary-history-41");
  lab.children.at(-1)?.kill();
  await assertRejects(() => turn.awaitSettlement(never));
  await first.close(never);
  const second = await lab.prepare({
    ...configuration,
    requireExistingNativeSession: true,
  });
  await run(second, "go on");
  assert(lab.provider.requests[1]?.text.includes("canary-history-41"));
});

Deno.test("claude native_session_recovery: a missing or second history fails, never a new one", async () => {
  await using lab = await ClaudeLab.open({
    script: replies(textReply("msg_1", "one")),
  });
  const missing = lab.configuration({ requireExistingNativeSession: true });
  await assertRejects(() => lab.prepare(missing));
  const notUuid = lab.configuration({
    sessionId: "session-7",
    requireExistingNativeSession: true,
  });
  await assertRejects(() => lab.prepare(notUuid));
  const configuration = lab.configuration();
  const executor = await lab.prepare(configuration);
  await run(executor, "hello");
  await executor.close(never);
  const projects = join(
    lab.launches.at(-1)?.environment["CLAUDE_CONFIG_DIR"] ?? "",
    "projects",
  );
  const name = `${configuration.sessionId}.jsonl`;
  const [project] = [...Deno.readDirSync(projects)];
  await Deno.mkdir(join(projects, "elsewhere"));
  await Deno.copyFile(
    join(projects, project?.name ?? "", name),
    join(projects, "elsewhere", name),
  );
  const launches = lab.launches.length;
  await assertRejects(
    () => lab.prepare({ ...configuration, requireExistingNativeSession: true }),
    Error,
    "ambiguous",
  );
  assertEquals(lab.launches.length, launches);
});

Deno.test("claude preparation: an unused one leaves no history, and one home has one process", async () => {
  await using lab = await ClaudeLab.open({
    script: replies(textReply("msg_1", "fresh")),
  });
  const configuration = lab.configuration();
  const unused = await lab.prepare(configuration);
  await assertRejects(() => lab.prepare(configuration), Error, "in use");
  await unused.close(never);
  const used = await lab.prepare(configuration);
  await run(used, "hello");
});

Deno.test("claude resume: a Session whose id is no UUID is named by the program and resumed by that", async () => {
  await using lab = await ClaudeLab.open({
    script: replies(textReply("msg_1", "one"), textReply("msg_2", "two")),
  });
  const configuration = lab.configuration({ sessionId: "session-7" });
  const first = await lab.prepare(configuration);
  const sink = await run(first, "canary-unnamed");
  const id = sink.all("done")[0]?.payload.metadata?.["agent_session_id"];
  assert(typeof id === "string" && id !== "session-7");
  await first.close(never);
  const second = await lab.prepare({ ...configuration, agentSessionId: id });
  const next = await run(second, "again");
  assertEquals(
    next.all("done")[0]?.payload.metadata?.["agent_session_id"],
    id,
  );
  assert(lab.provider.requests[1]?.text.includes("canary-unnamed"));
});

/** Resolves when a transcript in the newest home holds the text; the program writes it at leisure. */
async function historyHolds(lab: ClaudeLab, text: string): Promise<void> {
  const root = lab.launches.at(-1)?.environment["CLAUDE_CONFIG_DIR"] ?? "";
  using watcher = Deno.watchFs(root);
  if (await holds(root, text)) return;
  for await (const _event of watcher) {
    if (await holds(root, text)) return;
  }
}

async function holds(directory: string, text: string): Promise<boolean> {
  for await (const entry of Deno.readDir(directory)) {
    const path = join(directory, entry.name);
    if (entry.isDirectory && await holds(path, text)) return true;
    if (
      entry.name.endsWith(".jsonl") &&
      (await Deno.readTextFile(path)).includes(text)
    ) return true;
  }
  return false;
}
