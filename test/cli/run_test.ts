/** The real program against a Core on loopback. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { LoopbackCore } from "../../src/loopback/core.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemIds } from "../../src/platform/ids.ts";
import { readStatus } from "../../src/cli/status_document.ts";
import { agentDaemon, makePlace, type Place } from "./command_line.ts";
import {
  daemonWords,
  DEVICE,
  startDaemon,
  statusWhere,
  TOKEN,
} from "./running_daemon.ts";

async function withCore(
  body: (core: LoopbackCore, place: Place, dials: string[]) => Promise<void>,
  options: { readonly reportedVersion?: string } = {},
): Promise<void> {
  await using place = await makePlace();
  const dials: string[] = [];
  const core = await LoopbackCore.start({
    ...options,
    devices: { [DEVICE]: { credential: TOKEN } },
    clock: systemClock,
    ids: systemIds,
    trace: (event) => {
      if (event.type === "bootstrap" || event.type === "dial") {
        dials.push(`${event.type} ${event.detail}`);
      }
    },
  });
  try {
    await body(core, place, dials);
  } finally {
    await core.shutdown();
  }
}

async function statusOf(place: Place) {
  const reading = await readStatus(join(place.directory, "state"));
  assert(reading.kind === "document", reading.kind);
  return reading.document;
}

Deno.test("--once connects, sends one heartbeat and ends with 0", () =>
  withCore(async (core, place, dials) => {
    const words = await daemonWords(place, core.origin);
    const { code, stderr } = await agentDaemon([...words, "--once"], place);
    assertEquals(code, 0, stderr);
    assertEquals(dials, ["bootstrap status=200", "dial status=101"]);
    const status = await statusOf(place);
    assertEquals(status.connection.phase, "ended");
    assert(status.connection.last_heartbeat_at !== null);
    assertEquals(status.device_id, DEVICE);
  }));

Deno.test("--once without a Core ends with 69 and says why", async () => {
  await using place = await makePlace();
  const words = await daemonWords(place, "http://127.0.0.1:9");
  const { code, stderr } = await agentDaemon([...words, "--once"], place);
  assertEquals(code, 69);
  assertMatch(
    stderr,
    /\nagent-daemon: Core: bootstrap failed: connection_refused; see what is in the way with: agent-daemon doctor\n$/,
  );
});

Deno.test("a wrong token ends with 77 after exactly one request", () =>
  withCore(async (core, place, dials) => {
    const words = await daemonWords(
      place,
      core.origin,
      "wrong-canary-0123456789",
    );
    const { code, stderr } = await agentDaemon(words, place);
    assertEquals(code, 77);
    assertEquals(dials, ["bootstrap status=401"]);
    assertMatch(
      stderr,
      /\nagent-daemon: Core: Core answered bootstrap with status 401 \(bad_credential\); check --device-id and the token; [^\n]*\n$/,
    );
    assert(!stderr.includes("canary"), stderr);
  }));

Deno.test("another wire version ends with 76 after exactly one request", () =>
  withCore(async (core, place, dials) => {
    const words = await daemonWords(place, core.origin);
    const { code, stderr } = await agentDaemon(words, place);
    assertEquals(code, 76);
    assertEquals(dials, ["bootstrap status=200"]);
    assertMatch(
      stderr,
      /\nagent-daemon: Core: [^\n]*incompatible_version[^\n]*upgrade\n$/,
    );
  }, { reportedVersion: "0.11.9" }));

Deno.test("a device that Core removes ends with 77", () =>
  withCore(async (core, place) => {
    const daemon = startDaemon(place, await daemonWords(place, core.origin));
    await core.session(DEVICE);
    core.retire(DEVICE);
    assertEquals((await daemon.ended).code, 77);
    assertMatch(
      daemon.errorText(),
      /agent-daemon: Core: Core closed the connection with code 4001; /,
    );
  }));

Deno.test("a parked daemon makes no further request and ends with 0 when it is stopped", () =>
  withCore(async (core, place, dials) => {
    const words = await daemonWords(
      place,
      core.origin,
      "wrong-canary-0123456789",
    );
    const daemon = startDaemon(place, [
      ...words,
      "--on-permanent-error",
      "park",
    ]);
    await daemon.logged("refused_for_good");
    daemon.signal("SIGTERM");
    assertEquals((await daemon.ended).code, 0);
    assertEquals(dials, ["bootstrap status=401"]);
  }));

Deno.test("SIGTERM and SIGINT end an idle daemon with 0, and Core sees a clean close", () =>
  withCore(async (core, place) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const daemon = startDaemon(place, await daemonWords(place, core.origin));
      const session = await core.session(DEVICE);
      daemon.signal(signal);
      assertEquals((await daemon.ended).code, 0, daemon.errorText());
      assertEquals((await session.ended).detail, "close code 1000");
      const line = await daemon.logged("stop_requested");
      assertEquals(line.signal, signal);
    }
  }));

Deno.test("SIGHUP asks for nothing: it ends the daemon, as the operators' page says", () =>
  withCore(async (core, place) => {
    const daemon = startDaemon(place, await daemonWords(place, core.origin));
    const session = await core.session(DEVICE);
    daemon.signal("SIGHUP");
    assertEquals((await daemon.ended).signal, "SIGHUP");
    await session.ended;
  }));

Deno.test("a second daemon for the same device is told which process holds it", () =>
  withCore(async (core, place) => {
    const words = await daemonWords(place, core.origin);
    const first = startDaemon(place, words);
    const session = await core.session(DEVICE);
    const second = await agentDaemon(words, place);
    assertEquals(second.code, 73);
    assertMatch(
      second.stderr,
      new RegExp(
        `^agent-daemon: --state-dir .*: is held by process ${first.pid} since .*Z; stop it with: agent-daemon stop\\n$`,
      ),
    );
    // The lock is the kernel's: it goes with the process, however that ends.
    first.signal("SIGKILL");
    await first.ended;
    const third = startDaemon(place, words);
    await core.session(DEVICE, session);
    third.signal("SIGTERM");
    assertEquals((await third.ended).code, 0, third.errorText());
  }));

Deno.test("one device cannot have two daemons in two state directories of an account either", () =>
  withCore(async (core, place) => {
    const runtime = join(place.directory, "runtime");
    await Deno.mkdir(runtime, { mode: 0o700 });
    const environment = { ...place.environment, XDG_RUNTIME_DIR: runtime };
    const words = await daemonWords(place, core.origin);
    const first = startDaemon({ ...place, environment }, words);
    await core.session(DEVICE);
    const other = join(place.directory, "other state");
    const second = await agentDaemon([...words, "--state-dir", other], {
      environment,
    });
    assertEquals(second.code, 73);
    assertMatch(
      second.stderr,
      new RegExp(
        `^agent-daemon: device ${DEVICE}: is held by process ${first.pid} since .*Z; stop it with: agent-daemon stop\\n$`,
      ),
    );
    first.signal("SIGTERM");
    assertEquals((await first.ended).code, 0, first.errorText());
  }));

Deno.test("device_shutdown ends the daemon with 0", () =>
  withCore(async (core, place) => {
    const daemon = startDaemon(place, await daemonWords(place, core.origin));
    (await core.session(DEVICE)).shutdownDevice("maintenance");
    assertEquals((await daemon.ended).code, 0, daemon.errorText());
  }));

Deno.test("status holds proven facts with their instants while the daemon runs", () =>
  withCore(async (core, place) => {
    const before = Date.now();
    const daemon = startDaemon(place, await daemonWords(place, core.origin));
    await core.session(DEVICE);
    const status = await statusWhere(
      place,
      ({ connection }) => connection.last_heartbeat_at !== null,
    );
    const { opened_at, last_heartbeat_at, phase } = status.connection;
    assertEquals(phase, "socket_open");
    assert(opened_at !== null && last_heartbeat_at !== null);
    assert(before <= opened_at && opened_at <= last_heartbeat_at);
    assert(last_heartbeat_at <= status.written_at);
    assertEquals(status.process.pid, daemon.pid);
    assertEquals(status.connection.sessions, 1);
    daemon.signal("SIGTERM");
    await daemon.ended;
  }));

Deno.test("the token reaches no output, file, argument or variable at any level", () =>
  withCore(async (core, place) => {
    const daemon = startDaemon(place, [
      ...await daemonWords(place, core.origin),
      "--log-level",
      "debug",
    ]);
    const session = await core.session(DEVICE);
    if (Deno.build.os === "linux") {
      for (const name of ["cmdline", "environ"]) {
        const text = await Deno.readTextFile(`/proc/${daemon.pid}/${name}`);
        assert(!text.includes("canary"), name);
      }
    }
    core.retire(DEVICE);
    await session.ended;
    const { stdout } = await daemon.ended;
    assert(!(stdout + daemon.errorText()).includes("canary"));
    for await (const [path, text] of filesBelow(place.directory)) {
      if (path === join(place.directory, "token")) continue;
      assert(!text.includes("canary"), path);
      const { mode } = await Deno.stat(path);
      assertEquals((mode ?? 0) & 0o077, 0, path);
    }
  }));

Deno.test("the log file holds what stderr would, and no token", () =>
  withCore(async (core, place) => {
    const log = join(place.directory, "daemon.log");
    const { code, stderr } = await agentDaemon([
      ...await daemonWords(place, core.origin),
      "--log-level",
      "debug",
      "--log-file",
      log,
      "--once",
    ], place);
    assertEquals(code, 0);
    assertEquals(stderr, "");
    const text = await Deno.readTextFile(log);
    assertMatch(text, /"event":"starting"/);
    assert(!text.includes("canary"));
  }));

async function* filesBelow(
  directory: string,
): AsyncGenerator<[path: string, text: string]> {
  for await (const entry of Deno.readDir(directory)) {
    const path = join(directory, entry.name);
    if (entry.isDirectory) yield* filesBelow(path);
    else yield [path, await Deno.readTextFile(path)];
  }
}
