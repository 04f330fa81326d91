/** `enroll`, and the enrolled daemon, against a Core that answers as each test says. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { agentDaemon, makePlace, type Place } from "./command_line.ts";
import { DEVICE, startDaemon, TOKEN } from "./running_daemon.ts";

const ENVIRONMENT = "0b7c9f52-3a1d-4c55-8d0e-5f6a7b8c9d0e";
const SESSION = "1b7c9f52-3a1d-4c55-8d0e-5f6a7b8c9d0e";

interface Seen {
  readonly path: string;
  readonly authorization: string | null;
  readonly body: string;
}

interface Core {
  readonly origin: string;
  readonly seen: Seen[];
  /** What the enrol route answers from now on. */
  answer: { readonly status: number; readonly body: unknown };
}

function good(workspace: string): Core["answer"] {
  return {
    status: 200,
    body: {
      device_id: DEVICE,
      session_id: SESSION,
      environment_id: ENVIRONMENT,
      workspace_directory: workspace,
    },
  };
}

async function withCore(
  body: (core: Core, place: Place, words: string[]) => Promise<void>,
): Promise<void> {
  await using place = await makePlace();
  const seen: Seen[] = [];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const { pathname } = new URL(request.url);
      seen.push({
        path: pathname,
        authorization: request.headers.get("authorization"),
        body: await request.text(),
      });
      const answer = pathname.endsWith("/enroll")
        ? core.answer
        : { status: 401, body: { error: "bad_credential", detail: "" } };
      return Response.json(answer.body, { status: answer.status });
    },
  );
  const core: Core = {
    origin: `http://127.0.0.1:${server.addr.port}`,
    seen,
    answer: good("/workspace"),
  };
  const workspace = join(place.directory, "home", "project");
  await Deno.mkdir(workspace, { recursive: true });
  // The token lies in a directory of its own: a workspace must not contain it.
  await Deno.mkdir(join(place.directory, "secrets"), { mode: 0o700 });
  const token = await place.write(
    "secrets/executor.json",
    JSON.stringify({
      key_id: ENVIRONMENT,
      environment_id: ENVIRONMENT,
      executor_token: TOKEN,
    }),
  );
  try {
    await body(core, place, [
      "enroll",
      "--core-url",
      core.origin,
      "--token-file",
      token,
      "--workspace",
      workspace,
    ]);
  } finally {
    await server.shutdown();
  }
}

Deno.test("enroll sends exactly the Environment id and keeps the answer without the token", () =>
  withCore(async (core, place, words) => {
    const { code, stdout, stderr } = await agentDaemon(words, place);
    assertEquals(code, 0, stderr);
    assertMatch(
      stdout,
      new RegExp(`^enrolled device ${DEVICE} for .*/home/project\nNext:\n`),
    );
    assertEquals(core.seen, [{
      path: "/api/v1/agent-daemon/enroll",
      authorization: `Bearer ${TOKEN}`,
      body: JSON.stringify({ environment_id: ENVIRONMENT }),
    }]);
    const text = await Deno.readTextFile(
      join(place.directory, "state/binding.json"),
    );
    assert(!text.includes(TOKEN));
    assertEquals(JSON.parse(text).device_id, DEVICE);
    // The same again changes nothing.
    assertEquals((await agentDaemon(words, place)).code, 0);
    assertEquals(
      await Deno.readTextFile(join(place.directory, "state/binding.json")),
      text,
    );
  }));

const refusals: readonly (readonly [string, Core["answer"], number, RegExp])[] =
  [
    ["401", { status: 401, body: {} }, 77, /status 401; the token is revoked/],
    ["409", { status: 409, body: {} }, 77, /status 409; the token is revoked/],
    ["400", { status: 400, body: {} }, 78, /status 400; check --core-url/],
    ["302", { status: 302, body: {} }, 78, /status 302; check --core-url/],
    [
      "503",
      { status: 503, body: {} },
      69,
      /status 503; see what is in the way/,
    ],
    [
      "a sandbox link",
      { status: 200, body: { link_url: "wss://x", resource: {} } },
      76,
      /this Core expects a sandbox-link executor, not a Runtime daemon/,
    ],
    [
      "another Environment",
      {
        status: 200,
        body: {
          device_id: DEVICE,
          session_id: SESSION,
          environment_id: SESSION,
          workspace_directory: "/workspace",
        },
      },
      78,
      /is for another Environment/,
    ],
    [
      "a missing member",
      { status: 200, body: { device_id: DEVICE } },
      78,
      /is incomplete/,
    ],
    [
      "a file system root",
      good("/"),
      78,
      /is incomplete/,
    ],
    [
      "an answer that is too long",
      { status: 200, body: { more: "x".repeat(20_000) } },
      78,
      /is too long/,
    ],
    [
      "another directory",
      good("/srv/else"),
      78,
      /--workspace: is not the directory that Core has/,
    ],
  ];
for (const [name, answer, expected, line] of refusals) {
  Deno.test(`enroll answered with ${name} ends with ${expected} after one request`, () =>
    withCore(async (core, place, words) => {
      core.answer = answer;
      const { code, stderr } = await agentDaemon(words, place);
      assertEquals(code, expected, stderr);
      assertMatch(stderr, line);
      assertMatch(stderr, /^agent-daemon: [^\n]+\n$/);
      assertEquals(core.seen.length, 1);
      assert(!stderr.includes("canary"));
    }));
}

Deno.test("a bound directory refuses another Environment before the credential travels", () =>
  withCore(async (core, place, words) => {
    assertEquals((await agentDaemon(words, place)).code, 0);
    const token = await place.write("secrets/raw", TOKEN);
    const other = words.map((word) =>
      word.endsWith("executor.json") ? token : word
    );
    const { code, stderr } = await agentDaemon(
      [...other, "--environment-id", SESSION],
      place,
    );
    assertEquals(code, 78);
    assertMatch(
      stderr,
      /: is enrolled for something else; use another --state-dir\n$/,
    );
    assertEquals(core.seen.length, 1);
  }));

Deno.test("an enrolled daemon asks for the same answer at each start, then for bootstrap", () =>
  withCore(async (core, place, words) => {
    assertEquals((await agentDaemon(words, place)).code, 0);
    const token = join(place.directory, "secrets/executor.json");
    const run = ["--allow-root", "--token-file", token];
    const same = await agentDaemon(run, place);
    assertEquals(same.code, 77, same.stderr);
    assertEquals(core.seen.map((each) => each.path.split("/").at(-1)), [
      "enroll",
      "enroll",
      "bootstrap",
    ]);
    core.answer = {
      ...good("/workspace"),
      body: { ...(core.answer.body as object), device_id: SESSION },
    };
    const other = await agentDaemon(run, place);
    assertEquals(other.code, 78);
    assertMatch(
      other.stderr,
      /Core: answers another binding than this machine was enrolled with; /,
    );
  }));

Deno.test("an enrolled daemon waits for a Core that is down, and a stop ends the wait with 0", () =>
  withCore(async (core, place, words) => {
    assertEquals((await agentDaemon(words, place)).code, 0);
    core.answer = { status: 503, body: {} };
    const daemon = startDaemon(place, [
      "--allow-root",
      "--token-file",
      join(place.directory, "secrets/executor.json"),
    ]);
    await daemon.logged("enrol_retry");
    daemon.signal("SIGTERM");
    assertEquals((await daemon.ended).code, 0, daemon.errorText());
  }));
