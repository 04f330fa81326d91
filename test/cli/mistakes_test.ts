/** Each class of mistake through the real program: one line, its exit code, no secret. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { agentDaemon, makePlace, type Place } from "./command_line.ts";
import { DEVICE } from "./running_daemon.ts";

const TOKEN = "s3cret-s3cret-s3cret";
const OTHER = "7f0c2d1e-0f54-4b7e-9b36-2b8f1f9d7a10";
const CORE = ["--core-url", "http://127.0.0.1:9"];
const ID = ["--device-id", DEVICE];
const ROOT = ["--allow-root"];

interface Case {
  readonly name: string;
  /** The words after `run`; `PLACE` stands for the test's directory. */
  readonly words: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly prepare?: (place: Place) => Promise<unknown>;
  readonly stdin?: string;
  readonly code: number;
  /** The line without the program's name. */
  readonly line: string;
}

const tokenFile = ["--token-file", "PLACE/token"];
const complete = [...ROOT, ...ID, ...CORE, ...tokenFile];

const bindingText = JSON.stringify({
  schema: 1,
  core_url: "http://127.0.0.1:9/api/v1",
  device_id: DEVICE,
  environment_id: DEVICE,
  session_id: DEVICE,
  workspace_directory: "/workspace",
  workspace: "/nonexistent-for-tests/workspace",
});

function writeState(name: string, text: string) {
  return async (place: Place) => {
    await Deno.mkdir(join(place.directory, "state"), { mode: 0o700 });
    await place.write(`state/${name}`, text);
  };
}

const cases: readonly Case[] = [
  {
    name: "an unknown flag",
    words: ["--s3cret=1"],
    code: 64,
    line: "flag: is not known here; see agent-daemon help run",
  },
  {
    name: "a token on the command line",
    words: ["--token", TOKEN],
    code: 64,
    line: "flag: is not known here; did you mean --token-file?",
  },
  {
    name: "a flag without its value",
    words: ["--device-id"],
    code: 64,
    line: "--device-id: needs a value; write --device-id UUID",
  },
  {
    name: "a malformed device id",
    words: [...ROOT, "--device-id", "s3cret"],
    code: 64,
    line:
      "--device-id: must be a canonical lower-case UUID; copy it from Core's console",
  },
  {
    name: "no device id",
    words: [...ROOT, ...CORE, ...tokenFile],
    code: 64,
    line:
      "--device-id: is missing; give the id that Core's console shows: --device-id UUID",
  },
  {
    name: "no Core URL",
    words: [...ROOT, ...ID, ...tokenFile],
    code: 64,
    line:
      "--core-url: is missing; give Core's address: --core-url https://core.example",
  },
  {
    name: "a Core URL without TLS",
    words: [...ROOT, ...ID, ...tokenFile, "--core-url", "http://core.example"],
    code: 64,
    line:
      "--core-url: may be plain http for loopback only; write it as https://core.example",
  },
  {
    name: "an unknown variable",
    words: complete,
    environment: { AGENT_DAEMON_TOKEN: TOKEN },
    code: 78,
    line:
      "AGENT_DAEMON_TOKEN: is not a known variable; did you mean AGENT_DAEMON_TOKEN_FILE?",
  },
  {
    name: "a bad variable",
    words: complete,
    environment: { AGENT_DAEMON_MAX_IDLE: "s3cret" },
    code: 78,
    line:
      "AGENT_DAEMON_MAX_IDLE: must be a whole number from 0 to 16; choose a smaller one",
  },
  {
    name: "an unknown file member",
    words: [...complete, "--config", "PLACE/config.json"],
    prepare: (place) => place.write("config.json", `{"token": "${TOKEN}"}`),
    code: 78,
    line:
      "PLACE/config.json: has a member that is not known; did you mean token_file?",
  },
  {
    name: "a broken file",
    words: [...complete, "--config", "PLACE/config.json"],
    prepare: (place) => place.write("config.json", `{\n "a": s3cret`),
    code: 78,
    line:
      "PLACE/config.json:2: is not JSON (comments and trailing commas are allowed); mend the syntax there",
  },
  {
    name: "a missing token file",
    words: [...ROOT, ...ID, ...CORE, "--token-file", "PLACE/none"],
    code: 78,
    line: "PLACE/none: does not exist; create it with mode 0600",
  },
  {
    name: "a readable token file",
    words: complete,
    prepare: (place) => Deno.chmod(join(place.directory, "token"), 0o644),
    code: 78,
    line:
      "PLACE/token: is accessible to other users; run: chmod 600 'PLACE/token'",
  },
  {
    name: "an empty stdin as token file",
    words: [...ROOT, ...ID, ...CORE, "--token-file", "-"],
    stdin: "",
    code: 78,
    line: "stdin: is empty; write the token into it",
  },
  {
    name: "a token file of another device",
    words: complete,
    prepare: (place) =>
      place.write(
        "token",
        JSON.stringify({
          server_url: "http://127.0.0.1:9/api/v1",
          runtime_id: OTHER,
          runner_credential: TOKEN,
        }),
      ),
    code: 78,
    line:
      "PLACE/token: says something else than --device-id; use the file that belongs to it, or leave the setting out",
  },
  {
    name: "a workspace without its ids",
    words: [...complete, "--workspace", "PLACE/home"],
    code: 64,
    line:
      "--environment-id and --session-id: is missing: a workspace needs an Environment and a Session; give --workspace, --environment-id and --session-id, or none of them",
  },
  ...([
    ["PLACE/none", "does not exist; create it: mkdir -p 'PLACE/none'"],
    ["/", "is the root of a file system; name a directory"],
    ["/etc", "belongs to the system; use a directory of its own"],
    ["PLACE/home", "is the home directory; use a directory of its own"],
    ["PLACE/token", "is not a directory; name a directory"],
    [
      "PLACE",
      "contains, or lies in, the daemon's own directories; use a directory of its own",
    ],
  ] as const).map(([workspace, rest]): Case => ({
    name: `the workspace ${workspace}`,
    words: [
      ...complete,
      "--workspace",
      workspace,
      "--environment-id",
      OTHER,
      "--session-id",
      OTHER,
    ],
    code: 78,
    line: `workspace ${workspace}: ${rest}`,
  })),
  {
    name: "a workspace around the daemon's directories",
    words: [
      ...ROOT,
      ...ID,
      ...CORE,
      "--token-file",
      "PLACE/secrets/token",
      "--workspace",
      "PLACE",
      "--environment-id",
      OTHER,
      "--session-id",
      OTHER,
    ],
    prepare: async (place) => {
      await Deno.mkdir(join(place.directory, "secrets"), { mode: 0o700 });
      await place.write("secrets/token", TOKEN);
    },
    code: 78,
    line:
      "workspace PLACE: contains, or lies in, the daemon's own directories; use a directory of its own",
  },
  {
    name: "a state directory that others can write",
    words: complete,
    prepare: async (place) => {
      await Deno.mkdir(join(place.directory, "state"));
      await Deno.chmod(join(place.directory, "state"), 0o777);
    },
    code: 78,
    line: "PLACE/state: is writable by others; run: chmod 700 'PLACE/state'",
  },
  {
    name: "a state directory that is a link",
    words: complete,
    prepare: (place) =>
      Deno.symlink(
        join(place.directory, "home"),
        join(place.directory, "state"),
      ),
    code: 78,
    line: "PLACE/state: is a symbolic link; name the directory itself",
  },
  {
    name: "a state directory that is a file",
    words: complete,
    prepare: (place) => place.write("state", ""),
    code: 78,
    line: "PLACE/state: is not a directory; choose another --state-dir",
  },
  {
    name: "a damaged binding",
    words: complete,
    prepare: writeState("binding.json", "{"),
    code: 78,
    line: "PLACE/state/binding.json: is damaged; enrol this machine again",
  },
  {
    name: "a binding of a newer version",
    words: complete,
    prepare: writeState("binding.json", '{"schema": 2}'),
    code: 78,
    line:
      "PLACE/state/binding.json: was written by a newer version; run that version, see agent-daemon upgrade",
  },
  {
    name: "another device than the enrolled one",
    words: [...ROOT, "--device-id", OTHER, ...CORE, ...tokenFile],
    prepare: writeState("binding.json", bindingText),
    code: 78,
    line:
      "--device-id: differs from the enrolment of this state directory; leave it out, or choose another --state-dir",
  },
  {
    name: "an enrolled workspace that is gone",
    words: [...ROOT, ...tokenFile],
    prepare: writeState("binding.json", bindingText),
    code: 78,
    line:
      "workspace /nonexistent-for-tests/workspace: does not exist; create it: mkdir -p '/nonexistent-for-tests/workspace'",
  },
  {
    name: "a CA file without a certificate",
    words: [...complete, "--ca-file", "PLACE/token"],
    code: 78,
    line: "PLACE/token: holds no PEM certificate; check --ca-file",
  },
];

for (const each of cases) {
  Deno.test(`${each.name} ends with ${each.code} and one line`, async () => {
    await using place = await makePlace();
    await place.write("token", `${TOKEN}\n`);
    await each.prepare?.(place);
    const { code, stdout, stderr } = await agentDaemon(
      each.words.map((word) => word.replace("PLACE", place.directory)),
      {
        environment: { ...place.environment, ...each.environment },
        ...(each.stdin === undefined ? {} : { stdin: each.stdin }),
      },
    );
    assertEquals(
      stderr.replaceAll(place.directory, "PLACE"),
      `agent-daemon: ${each.line}\n`,
    );
    assertEquals(code, each.code);
    assertEquals(stdout, "");
    assert(!stderr.includes("s3cret"));
  });
}

Deno.test({
  name: "root is refused without --allow-root",
  ignore: Deno.uid() !== 0,
  async fn() {
    await using place = await makePlace();
    const { code, stderr } = await agentDaemon([], place);
    assertEquals(code, 64);
    assertEquals(
      stderr,
      "agent-daemon: user: must not be root: tools run as the daemon's user; run as an ordinary user, or give --allow-root\n",
    );
  },
});
