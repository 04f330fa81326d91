/** The commands that look: status, stop, doctor, config, logs, harness, service. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { LoopbackCore } from "../../src/loopback/core.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemIds } from "../../src/platform/ids.ts";
import { agentDaemon, makePlace, type Place } from "./command_line.ts";
import {
  daemonWords,
  DEVICE,
  startDaemon,
  statusWhere,
  TOKEN,
} from "./running_daemon.ts";

async function withCore(
  body: (core: LoopbackCore, place: Place) => Promise<void>,
): Promise<void> {
  await using place = await makePlace();
  const core = await LoopbackCore.start({
    devices: { [DEVICE]: { credential: TOKEN } },
    clock: systemClock,
    ids: systemIds,
  });
  try {
    await body(core, place);
  } finally {
    await core.shutdown();
  }
}

/** The words of an ordinary installation without `--allow-root`, which only `run` knows. */
async function settingsWords(place: Place, origin: string): Promise<string[]> {
  return (await daemonWords(place, origin)).filter((word) =>
    word !== "--allow-root"
  );
}

Deno.test("status without a daemon ends with 2", async () => {
  await using place = await makePlace();
  const text = await agentDaemon(["status"], place);
  assertEquals(text.code, 2);
  assertEquals(
    text.stdout,
    `no daemon has run with ${join(place.directory, "state")}\n`,
  );
  const json = await agentDaemon(["status", "--json"], place);
  assertEquals(json.code, 2);
  assertEquals(JSON.parse(json.stdout), { running: false });
});

Deno.test("status shows facts with ages while the daemon runs, and that it does not run afterwards", () =>
  withCore(async (core, place) => {
    const daemon = startDaemon(place, await daemonWords(place, core.origin));
    await core.session(DEVICE);
    await statusWhere(
      place,
      ({ connection }) => connection.last_heartbeat_at !== null,
    );
    const running = await agentDaemon(["status"], place);
    assertEquals(running.code, 0, running.stderr);
    assertMatch(
      running.stdout,
      new RegExp(`^process +${daemon.pid}, running since `),
    );
    assertMatch(running.stdout, /\nfacts from +\d+ s ago\n/);
    assertMatch(
      running.stdout,
      /\nlink +a socket is open since \d+ s\n/,
    );
    assert(!/\bconnected\b/.test(running.stdout));
    const json = await agentDaemon(["status", "--json"], place);
    assertEquals(JSON.parse(json.stdout).running, true);
    daemon.signal("SIGKILL");
    await daemon.ended;
    const dead = await agentDaemon(["status"], place);
    assertEquals(dead.code, 2);
    assertMatch(dead.stdout, /^process +\d+ does not run any more\n/);
  }));

Deno.test("stop ends the daemon, and ends with 2 when there is none", () =>
  withCore(async (core, place) => {
    const daemon = startDaemon(place, await daemonWords(place, core.origin));
    await core.session(DEVICE);
    const stopped = await agentDaemon(["stop"], place);
    assertEquals(stopped.code, 0, stopped.stderr);
    assertEquals(stopped.stdout, `process ${daemon.pid} ended\n`);
    assertEquals((await daemon.ended).code, 0);
    assertEquals((await agentDaemon(["stop"], place)).code, 2);
    const bad = await agentDaemon(["stop", "--timeout", "soon"], place);
    assertEquals(bad.code, 64);
  }));

Deno.test("stop signals nobody when the pid belongs to another process now", async () => {
  await using place = await makePlace();
  await Deno.mkdir(join(place.directory, "state"), { mode: 0o700 });
  const bystander = new Deno.Command("sleep", { args: ["60"] }).spawn();
  try {
    await place.write(
      "state/status.json",
      JSON.stringify(statusOf(bystander.pid)),
    );
    const stopped = await agentDaemon(["stop"], place);
    assertEquals(stopped.code, 2);
    Deno.kill(bystander.pid, "SIGCONT"); // throws if it is gone
  } finally {
    bystander.kill("SIGKILL");
    await bystander.status;
  }
});

/** A status whose start time fits no process. */
function statusOf(pid: number): unknown {
  return {
    schema: 1,
    written_at: 0,
    process: {
      pid,
      start_time: 1,
      boot_id: Deno.readTextFileSync("/proc/sys/kernel/random/boot_id").trim(),
      version: "0.1.0",
      protocol_version: "0.12.0",
      started_at: 0,
    },
    core_url: "https://core.example",
    device_id: DEVICE,
    workspace: null,
    environment_id: null,
    session_id: null,
    connection: {
      phase: "socket_open",
      since: 0,
      attempt: 1,
      sessions: 1,
      next_attempt_at: null,
      opened_at: null,
      last_inbound_at: null,
      last_pong_at: null,
      last_heartbeat_at: null,
      last_end: null,
      last_refusal: null,
      shared_device_suspected: false,
    },
    harnesses: [],
    work: {},
    waiting: null,
    unknown: [{ owner: "transfer 5", remedy: "look at the workspace" }],
    orphans: ["process 77"],
  };
}

Deno.test("status and doctor name an unknown outcome and its remedy", async () => {
  await using place = await makePlace();
  await Deno.mkdir(join(place.directory, "state"), { mode: 0o700 });
  await place.write("state/status.json", JSON.stringify(statusOf(1)));
  const status = await agentDaemon(["status"], place);
  assertMatch(
    status.stdout,
    /\nUNKNOWN +transfer 5\n +remedy +look at the workspace\n/,
  );
  const doctor = await agentDaemon(["doctor", "--offline"], place);
  assertEquals(doctor.code, 2);
  assertMatch(
    doctor.stdout,
    /\nfail {2}unknown outcome: transfer 5 → look at the workspace\n/,
  );
  assertMatch(
    doctor.stdout,
    /\nfail {2}orphan: process 77 of an earlier daemon lives → end it by hand\n/,
  );
});

Deno.test("a status of another version is refused instead of guessed", async () => {
  await using place = await makePlace();
  await Deno.mkdir(join(place.directory, "state"), { mode: 0o700 });
  await place.write("state/status.json", '{"schema": 2}');
  const { code, stderr } = await agentDaemon(["status"], place);
  assertEquals(code, 78);
  assertMatch(stderr, /status\.json: is of another version; /);
});

Deno.test("doctor walks the path to Core and ends with 0 when nothing failed", () =>
  withCore(async (core, place) => {
    const words = await settingsWords(place, core.origin);
    const { code, stdout } = await agentDaemon(["doctor", ...words], place);
    assertEquals(code, 0, stdout);
    const names = stdout.trimEnd().split("\n").map((line) =>
      `${line.slice(0, 4).trim()} ${line.slice(6).split(":")[0]}`
    );
    for (
      const expected of [
        "ok program",
        "ok configuration",
        "ok state directory",
        "ok token file",
        "ok identity",
        "ok workspace",
        "ok daemon",
        "ok proxy",
        "ok name",
        "ok connection",
        "ok bootstrap",
        "ok wire",
        "skip upgrade",
        "skip service",
      ]
    ) assert(names.includes(expected), `${expected} in ${stdout}`);
    assert(!stdout.includes(TOKEN));
    for (const line of stdout.trimEnd().split("\n")) {
      if (/^(warn|fail)/.test(line)) assertMatch(line, / → /);
    }
  }));

Deno.test("doctor --connect opens the WebSocket, --json has stable members", () =>
  withCore(async (core, place) => {
    const words = await settingsWords(place, core.origin);
    const { code, stdout } = await agentDaemon(
      ["doctor", "--connect", "--json", ...words],
      place,
    );
    assertEquals(code, 0, stdout);
    const { checks } = JSON.parse(stdout);
    const upgrade = checks.find((each: { name: string }) =>
      each.name === "upgrade"
    );
    assertEquals(upgrade, {
      name: "upgrade",
      result: "ok",
      found: "the WebSocket opens",
    });
  }));

Deno.test("doctor names the failed step and what to do, and skips what needs it", () =>
  withCore(async (core, place) => {
    const wrong = (await settingsWords(place, core.origin)).map((word) => word);
    await place.write("token", "wrong-canary-0123456789\n");
    const rejected = await agentDaemon(["doctor", ...wrong], place);
    assertEquals(rejected.code, 2);
    assertMatch(
      rejected.stdout,
      /\nfail {2}bootstrap: Core answered bootstrap with status 401 \(bad_credential\) → check --device-id, rotate/,
    );
    assert(!rejected.stdout.includes("canary"));
    const words = await settingsWords(place, "http://127.0.0.1:9");
    const down = await agentDaemon(["doctor", ...words], place);
    assertEquals(down.code, 2);
    assertMatch(
      down.stdout,
      /\nfail {2}connection: 127\.0\.0\.1:9 cannot be reached → /,
    );
    assertMatch(down.stdout, /\nskip {2}further Core checks: /);
  }));

Deno.test("doctor reports a configuration mistake as its check", async () => {
  await using place = await makePlace();
  const { code, stdout } = await agentDaemon(
    ["doctor", "--config", "/nonexistent/config.json"],
    place,
  );
  assertEquals(code, 2);
  assertMatch(
    stdout,
    /\nfail {2}configuration: \/nonexistent\/config\.json does not exist → create it, or leave --config out\nskip {2}further checks: /,
  );
});

Deno.test("config show gives values and origins and hides a proxy's password", async () => {
  await using place = await makePlace();
  const config = await place.write("config.json", '{"max_idle": 3}');
  const { code, stdout } = await agentDaemon(
    ["config", "show", "--origin", "--config", config, "--log-level", "warn"],
    {
      environment: {
        ...place.environment,
        HTTPS_PROXY: "http://user:s3cret@proxy.example:3128",
      },
    },
  );
  assertEquals(code, 0);
  assertMatch(stdout, new RegExp(`\nmax_idle +3 {2}\\(${config}\\)\n`));
  assertMatch(stdout, /\nlog_level +warn {2}\(--log-level\)\n/);
  assertMatch(
    stdout,
    /\nproxy +http:\/\/hidden@proxy\.example:3128\/ {2}\(HTTPS_PROXY\)\n/,
  );
  assertMatch(stdout, /\nmax_executions +4 {2}\(default\)\n/);
  assert(!stdout.includes("s3cret"));
  const valid = await agentDaemon(
    ["config", "validate", "--config", config],
    place,
  );
  assertEquals(valid.stdout, `${config} is valid\n`);
  const path = await agentDaemon(["config", "path", "--config", config], place);
  assertEquals(path.stdout, `${config}\n`);
});

Deno.test("logs shows the last lines of the file and names it on stderr", async () => {
  await using place = await makePlace();
  const file = await place.write("daemon.log", "one\ntwo\nthree\n");
  const { code, stdout, stderr } = await agentDaemon(
    ["logs", "-n", "2", "--log-file", file],
    place,
  );
  assertEquals(code, 0);
  assertEquals(stdout, "two\nthree\n");
  assertEquals(stderr, `${file}\n`);
  const missing = await agentDaemon(
    ["logs", "--log-file", join(place.directory, "none")],
    place,
  );
  assertEquals(missing.code, 78);
  const bad = await agentDaemon(
    ["logs", "-n", "many", "--log-file", file],
    place,
  );
  assertEquals(bad.code, 64);
});

Deno.test("harness list says what is there, why not, and hides what is off", async () => {
  await using place = await makePlace();
  const { code, stdout } = await agentDaemon(
    [
      "harness",
      "list",
      "--json",
      "--claude-bin",
      "off",
      "--codex-bin",
      join(place.directory, "none"),
    ],
    place,
  );
  assertEquals(code, 2);
  const list = JSON.parse(stdout);
  assertEquals(list.length, 1);
  assertEquals(list[0].kind, "codex");
  assertEquals(list[0].available, false);
  assert(list[0].reason.length > 0);
});

Deno.test("service print gives each manager's definition without a secret", async () => {
  await using place = await makePlace();
  await place.write("token", `${TOKEN}\n`);
  for (
    const [kind, start] of [
      ["systemd", /^# Written by .*\n\[Unit\]/],
      ["launchd", /^<\?xml .*\n<!DOCTYPE plist/],
      ["windows", /^<\?xml .*UTF-16.*\r\n<Task /],
    ] as const
  ) {
    const { code, stdout, stderr } = await agentDaemon([
      "service",
      "print",
      "--user",
      "--kind",
      kind,
      "--token-file",
      join(place.directory, "token"),
    ], place);
    assertEquals(code, 0, stderr);
    assertMatch(stdout, start);
    assert(!stdout.includes(TOKEN));
  }
  const both = await agentDaemon(
    ["service", "print", "--user", "--system"],
    place,
  );
  assertEquals(both.code, 64);
  const name = await agentDaemon(["service", "print", "--name", "A b"], place);
  assertEquals(name.code, 64);
});

Deno.test("upgrade and rollback in a checkout say that git is the way", async () => {
  await using place = await makePlace();
  for (const command of ["upgrade", "rollback"]) {
    const { code, stderr } = await agentDaemon([command], place);
    assertEquals(code, 78);
    assertEquals(
      stderr,
      `agent-daemon: ${command}: this command runs from a checkout; change the checkout with git instead\n`,
    );
  }
});

Deno.test("a Harness off the service's search path is found by its configured path, or the searched list is named", async () => {
  await using place = await makePlace();
  const bin = join(place.directory, "elsewhere");
  await Deno.mkdir(bin);
  const program = await place.write(
    "elsewhere/codex",
    "#!/bin/sh\necho codex-cli 0.171.0\n",
    0o755,
  );
  const environment = { ...place.environment, PATH: "/usr/bin:/bin" };
  const list = async (...words: string[]) =>
    JSON.parse(
      (await agentDaemon(
        ["harness", "list", "--json", "--claude-bin", "off", ...words],
        { environment },
      )).stdout,
    )[0];
  const lost = await list();
  assertEquals(lost.available, false);
  assertMatch(lost.reason, /\/usr\/bin, \/bin/);
  const found = await list("--codex-bin", program);
  assertEquals(found.available, true, found.reason);
  assertEquals(found.program, program);
  // The service definition freezes what this shell finds.
  const printed = await agentDaemon(
    ["service", "print", "--user", "--kind", "systemd"],
    { environment: { ...environment, PATH: `${bin}:/usr/bin:/bin` } },
  );
  assert(printed.stdout.includes(` --codex-bin ${program}`), printed.stdout);
});
