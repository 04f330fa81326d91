/** Preparations against an engine with odd histories: one clean root resumes, anything else fails. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import {
  openSessionHome,
  recordTools,
  toolFingerprint,
} from "../../../adapters/codex/home.ts";
import { PreparationFailed } from "../../../src/harness/contract.ts";
import {
  FakeCodex,
  withDirectory,
} from "../../support/responses_fake_codex.ts";

const never = new AbortController().signal;
const KEY = "agents-api-session";

type Thread = Record<string, unknown>;

/** The one history that may be resumed, in the home below `directory`. */
async function ownThread(directory: string): Promise<Thread> {
  const home = await openSessionHome(directory, KEY);
  await recordTools(home, "old", toolFingerprint([]));
  return {
    id: "old",
    cwd: directory,
    path: join(home.codex, "sessions", "2026", "rollout-old.jsonl"),
    ephemeral: false,
    parentThreadId: null,
    forkedFromId: null,
    source: "vscode",
  };
}

function offer(
  fake: FakeCodex,
  live: unknown,
  archived: unknown = { data: [], nextCursor: null },
): void {
  fake.on(
    "thread/list",
    ({ params }) => ({ result: params.archived ? archived : live }),
  );
  fake.on(
    "thread/resume",
    ({ params }) => ({ result: { thread: { id: params.threadId } } }),
  );
}

Deno.test("the one clean root of the home is resumed, without its turns", () =>
  withDirectory(async (directory) => {
    const fake = new FakeCodex();
    const thread = await ownThread(directory);
    offer(fake, { data: [thread], nextCursor: null });
    const executor = await fake.prepare(directory, {
      requireExistingNativeSession: true,
      systemPrompt: "prompt",
    });
    const resumed = fake.lines.find(({ method }) => method === "thread/resume");
    assertEquals(resumed?.params.threadId, "old");
    assertEquals(resumed?.params.excludeTurns, true);
    assertEquals(resumed?.params.developerInstructions, "prompt");
    assertEquals(fake.count("thread/start"), 0);
    await executor.close(never);
  }));

const CHANGES: readonly [string, Thread][] = [
  ["a child", { parentThreadId: "p" }],
  ["a fork", { forkedFromId: "f" }],
  ["ephemeral", { ephemeral: true }],
  ["of another directory", { cwd: "/elsewhere" }],
  ["of another home", { path: "/elsewhere/sessions/rollout.jsonl" }],
  ["without a path", { path: null }],
  ["with a relative path", { path: "sessions/rollout.jsonl" }],
  ["of a foreign source", { source: { subAgent: {} } }],
  ["without an id", { id: "" }],
];

for (const [name, change] of CHANGES) {
  Deno.test(`a history that is ${name} is not resumed and nothing starts`, () =>
    withDirectory(async (directory) => {
      const fake = new FakeCodex();
      const thread = { ...await ownThread(directory), ...change };
      offer(fake, { data: [thread], nextCursor: null });
      await failsWithoutThread(fake, directory);
    }));
}

const PAGES: readonly [string, unknown][] = [
  ["an empty page", { data: [], nextCursor: null }],
  ["a further page", { data: ["own"], nextCursor: "more" }],
  ["an omitted cursor", { data: ["own"] }],
  ["two histories", { data: ["own", "own"], nextCursor: null }],
  ["a malformed page", { rows: [] }],
];

for (const [name, page] of PAGES) {
  Deno.test(`a lookup with ${name} fails and nothing starts`, () =>
    withDirectory(async (directory) => {
      const fake = new FakeCodex();
      const own = await ownThread(directory);
      const text = JSON.stringify(page).replaceAll(
        '"own"',
        JSON.stringify(own),
      );
      offer(fake, JSON.parse(text));
      await failsWithoutThread(fake, directory);
    }));
}

Deno.test("an archived history beside the clean one fails", () =>
  withDirectory(async (directory) => {
    const fake = new FakeCodex();
    const own = await ownThread(directory);
    const page = { data: [own], nextCursor: null };
    offer(fake, page, page);
    await failsWithoutThread(fake, directory);
  }));

Deno.test("a lookup that is refused, and a resume that is, fail", () =>
  withDirectory(async (directory) => {
    const own = await ownThread(directory);
    const error = { code: -32600, message: "native secret text" };
    const lookup = new FakeCodex();
    lookup.on("thread/list", () => ({ error }));
    await failsWithoutThread(lookup, directory);
    const resume = new FakeCodex();
    offer(resume, { data: [own], nextCursor: null });
    resume.on("thread/resume", () => ({ error }));
    await failsWithoutThread(resume, directory);
  }));

Deno.test("an engine that resumes another id is not believed", () =>
  withDirectory(async (directory) => {
    await ownThread(directory);
    const fake = new FakeCodex();
    fake.on(
      "thread/resume",
      () => ({ result: { thread: { id: "fresh" }, model: "m" } }),
    );
    await failsWithoutThread(fake, directory, { agentSessionId: "old" });
    assertEquals(fake.count("thread/list"), 0, "a known id is not searched");
  }));

Deno.test("a failed preparation ends its process before it reports", () =>
  withDirectory(async (directory) => {
    const fake = new FakeCodex();
    fake.on(
      "thread/start",
      () => ({ error: { code: -32600, message: "canary" } }),
    );
    const error = await assertRejects(
      () => fake.prepare(directory),
      PreparationFailed,
    );
    assertEquals(error.retained, undefined);
    assertEquals(fake.closes, 1);
    assert(!error.message.includes("canary"));
  }));

Deno.test("a process whose end is unconfirmed is handed back and can be closed again", () =>
  withDirectory(async (directory) => {
    const fake = new FakeCodex();
    fake.failingCloses = 2;
    fake.on("thread/start", () => ({ error: { code: -32600, message: "no" } }));
    const error = await assertRejects(
      () => fake.prepare(directory),
      PreparationFailed,
    );
    const { retained } = error;
    assert(retained);
    await assertRejects(() => retained.close(never));
    await retained.close(never);
    assertEquals(fake.closes, 3);
  }));

Deno.test("a foreign MCP server in the engine's own configuration fails the preparation", () =>
  withDirectory(async (directory) => {
    const fake = new FakeCodex();
    fake.on(
      "config/read",
      () => ({ result: { config: { mcp_servers: { foreign: {} } } } }),
    );
    await failsWithoutThread(fake, directory, {});
  }));

Deno.test("a program that was replaced by an older one is not used", () =>
  withDirectory(async (directory) => {
    const fake = new FakeCodex();
    fake.on(
      "initialize",
      () => ({ result: { userAgent: "agent-daemon/0.99.0 (Linux)" } }),
    );
    await failsWithoutThread(fake, directory, {});
  }));

Deno.test("a home with stored MCP logins is not used for declared servers", () =>
  withDirectory(async (directory) => {
    const home = await openSessionHome(directory, KEY);
    const stored = join(home.codex, ".credentials.json");
    await Deno.writeTextFile(stored, "{}");
    const fake = new FakeCodex();
    await assertRejects(() => fake.prepare(directory, { mcpServers: [] }));
    assertEquals(fake.lines, []);
    assertEquals(await Deno.readTextFile(stored), "{}");
  }));

Deno.test("a missing workspace root fails before any process", () =>
  withDirectory(async (directory) => {
    const fake = new FakeCodex();
    const environment = {
      kind: "local" as const,
      workspaceRoot: join(directory, "gone"),
      toolEnvironment: {},
      skillDirectories: [],
    };
    await assertRejects(() => fake.prepare(directory, { environment }));
    assertEquals(fake.lines, []);
  }));

async function failsWithoutThread(
  fake: FakeCodex,
  directory: string,
  changes: Parameters<FakeCodex["prepare"]>[1] = {
    requireExistingNativeSession: true,
  },
): Promise<void> {
  const error = await assertRejects(
    () => fake.prepare(directory, changes),
    PreparationFailed,
  );
  assertEquals(error.retained, undefined);
  assert(!error.message.includes("native secret text"));
  assertEquals(fake.count("thread/start"), 0);
  assertEquals(fake.count("turn/start"), 0);
  assertEquals(fake.closes, 1);
}
