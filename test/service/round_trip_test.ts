/**
 * The rendered unit, started and stopped as systemd would: its command line, its environment, the
 * root directory, its signals, its restart rule and the kill of the whole group at the end. The
 * daemon is real, the service manager is this file.
 */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { LoopbackCore } from "../../src/loopback/core.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemIds } from "../../src/platform/ids.ts";
import { agentDaemon, makePlace, type Place } from "../cli/command_line.ts";
import { DEVICE, TOKEN } from "../cli/running_daemon.ts";

/** What systemd takes from a unit. */
interface Unit {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly final: readonly number[];
}

function value(text: string, name: string): string {
  return new RegExp(`^${name}=(.*)$`, "m").exec(text)?.[1] ?? "";
}

/** Splits as systemd does: words, double quotes, backslashes, `%%` and `$$`. */
function words(text: string): string[] {
  const found = text.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g);
  return [...found].map(([, quoted, plain]) =>
    (quoted ?? plain ?? "").replaceAll(/\\(.)/g, "$1").replaceAll("%%", "%")
      .replaceAll("$$", "$")
  );
}

function readUnit(text: string): Unit {
  return {
    command: words(value(text, "ExecStart")),
    environment: Object.fromEntries(
      words(value(text, "Environment")).map((pair) => [
        pair.slice(0, pair.indexOf("=")),
        pair.slice(pair.indexOf("=") + 1),
      ]),
    ),
    final: words(value(text, "RestartPreventExitStatus")).map(Number),
  };
}

interface Started {
  readonly child: Deno.ChildProcess;
  readonly stderr: Promise<string>;
}

function start(unit: Unit, place: Place): Started {
  const [program = "", ...rest] = unit.command;
  const child = new Deno.Command(program, {
    // The tests may run as root, which the daemon refuses by itself.
    args: [...rest, ...(Deno.uid() === 0 ? ["--allow-root"] : [])],
    cwd: "/",
    clearEnv: true,
    env: {
      ...unit.environment,
      HOME: place.environment.HOME ?? "/",
      DENO_DIR: place.environment.DENO_DIR ?? "",
      NOTIFY_SOCKET: "",
    },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  return { child, stderr: new Response(child.stderr).text() };
}

/** Starts again as `Restart=on-failure` does, at most three times; returns the exit codes. */
async function superviseToTheEnd(unit: Unit, place: Place): Promise<number[]> {
  const codes: number[] = [];
  while (codes.length < 3) {
    const started = start(unit, place);
    const { code } = await started.child.status;
    await started.stderr;
    codes.push(code);
    if (code === 0 || unit.final.includes(code)) break;
  }
  return codes;
}

async function withUnit(
  token: string,
  body: (unit: Unit, core: LoopbackCore, place: Place) => Promise<void>,
  options: { readonly reportedVersion?: string } = {},
): Promise<void> {
  await using place = await makePlace();
  const core = await LoopbackCore.start({
    ...options,
    devices: { [DEVICE]: { credential: TOKEN } },
    clock: systemClock,
    ids: systemIds,
  });
  try {
    const config = await place.write(
      "config.json",
      JSON.stringify({ device_id: DEVICE, core_url: core.origin }),
    );
    const printed = await agentDaemon([
      "service",
      "print",
      "--kind",
      "systemd",
      "--user",
      "--config",
      config,
      "--token-file",
      await place.write("to ken", token),
    ], place);
    assertEquals(printed.code, 0, printed.stderr);
    await body(readUnit(printed.stdout), core, place);
  } finally {
    await core.shutdown();
  }
}

Deno.test("the unit's command connects, and the manager's stop ends it with 0", () =>
  withUnit(TOKEN, async (unit, core, place) => {
    assert(unit.command.includes(join(place.directory, "to ken")));
    const started = start(unit, place);
    await core.session(DEVICE);
    started.child.kill("SIGTERM"); // KillMode=mixed: the main process alone
    const { code } = await started.child.status;
    assertEquals(code, 0, await started.stderr);
    await started.stderr;
  }));

Deno.test("a rejected token is one start under the unit, not a loop", () =>
  withUnit("wrong-canary-0123456789", async (unit, _core, place) => {
    assertEquals(await superviseToTheEnd(unit, place), [77]);
  }));

Deno.test("another wire version is one start under the unit, not a loop", () =>
  withUnit(TOKEN, async (unit, _core, place) => {
    assertEquals(await superviseToTheEnd(unit, place), [76]);
  }, { reportedVersion: "0.11.9" }));

Deno.test("a device that is held is one start under the unit, not a loop", () =>
  withUnit(TOKEN, async (unit, core, place) => {
    const holder = start(unit, place);
    await core.session(DEVICE);
    assertEquals(await superviseToTheEnd(unit, place), [73]);
    holder.child.kill("SIGTERM");
    assertEquals((await holder.child.status).code, 0);
    await holder.stderr;
  }));

Deno.test("a crash is started again", () =>
  withUnit(TOKEN, async (unit, core, place) => {
    const started = start(unit, place);
    const session = await core.session(DEVICE);
    started.child.kill("SIGKILL");
    const status = await started.child.status;
    await started.stderr;
    assert(!unit.final.includes(status.code) && status.code !== 0);
    const again = start(unit, place);
    await core.session(DEVICE, session);
    again.child.kill("SIGTERM");
    assertEquals((await again.child.status).code, 0);
    await again.stderr;
  }));
