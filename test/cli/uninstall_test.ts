/** `uninstall`: what it takes away, what it keeps, and what it never touches. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { processTable } from "../../src/harness/process_table.ts";
import { type Finished, makePlace, type Place, RUN } from "./command_line.ts";

/** Root's directories are those of the machine; these tests must not come near them. */
const ORDINARY = fromFileUrl(new URL("./ordinary_account.ts", import.meta.url));

/** An installation below the home of `place`. */
interface Installed {
  readonly place: Place;
  readonly home: string;
  readonly program: string;
  readonly configuration: string;
  readonly state: string;
  readonly unit: string;
  /** Runs `uninstall`; what the service manager was asked is in the file `asked`. */
  uninstall(...words: string[]): Promise<Finished & { asked: string }>;
}

async function installation(place: Place): Promise<Installed> {
  const home = place.environment.HOME ?? "";
  const configuration = join(home, ".config/agent-daemon");
  const state = join(place.directory, "state");
  const unit = join(home, ".config/systemd/user/agent-daemon.service");
  for (
    const directory of [
      "home/.config/agent-daemon",
      "home/.config/systemd/user",
      "home/.local/bin",
      "stubs",
      "state",
    ]
  ) await Deno.mkdir(join(place.directory, directory), { recursive: true });
  await place.write("home/.config/systemd/user/agent-daemon.service", "[Unit]");
  await place.write("home/.config/agent-daemon/config.json", "{}");
  await place.write("home/.config/agent-daemon/token", "canary-token-0123\n");
  await place.write("state/status.json", "{}");
  await place.write("state/history", "kept");
  await place.write(
    "home/.local/bin/agent-daemon",
    "#!/bin/sh\n# Runs agent-daemon from a checkout. Written by install.sh --from-source.\n",
  );
  await place.write("home/.local/bin/.agent-daemon.installed", "receipt");
  for (const name of ["systemctl", "loginctl"]) {
    await place.write(
      `stubs/${name}`,
      `#!/bin/sh\necho ${name} "$@" >>'${place.directory}/asked'\n`,
      0o755,
    );
  }
  return {
    place,
    home,
    configuration,
    state,
    unit,
    program: join(home, ".local/bin/agent-daemon"),
    async uninstall(...words) {
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: [...RUN, ORDINARY, "uninstall", ...words],
        clearEnv: true,
        env: {
          ...place.environment,
          PATH: `${place.directory}/stubs:${place.environment.PATH}`,
        },
        stdin: "null",
      }).output();
      const decoder = new TextDecoder();
      return {
        code,
        stdout: decoder.decode(stdout),
        stderr: decoder.decode(stderr),
        asked: await Deno.readTextFile(join(place.directory, "asked"))
          .catch(() => ""),
      };
    },
  };
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false; // removed
  }
}

function test(name: string, body: (it: Installed) => Promise<void>): void {
  Deno.test({
    name,
    ignore: Deno.build.os !== "linux", // its service manager is systemd
    async fn() {
      await using place = await makePlace();
      await body(await installation(place));
    },
  });
}

test("uninstall removes service, program and receipt, and keeps configuration and state", async (it) => {
  const { code, stdout, stderr, asked } = await it.uninstall();
  assertEquals(code, 0, stderr);
  assertEquals(
    stdout,
    `removed ${it.program}\nkept ${it.configuration}\nkept ${it.state}\n`,
  );
  assertMatch(asked, /^systemctl --user disable --now agent-daemon/m);
  assert(!exists(it.unit));
  assertEquals([...Deno.readDirSync(join(it.home, ".local/bin"))], []);
  assert(exists(join(it.configuration, "token")));
  assert(exists(join(it.state, "history")));
  assert(!exists(join(it.state, "status.json")));
  const again = await it.uninstall();
  assertEquals(again.code, 0, again.stderr);
  assertMatch(again.stdout, new RegExp(`^no program at ${it.program}\n`));
});

test("uninstall --purge lists, and removes configuration and state only when told to", async (it) => {
  // Without a terminal nobody can have said yes.
  const asked = await it.uninstall("--purge");
  assertEquals(asked.code, 0, asked.stderr);
  assertMatch(
    asked.stdout,
    new RegExp(
      `^This removes for good:\n {2}${it.configuration}\n {2}${it.state}\n[^]*nothing was removed\n$`,
    ),
  );
  for (const path of [it.program, it.unit, it.configuration, it.state]) {
    assert(exists(path), path);
  }
  assertEquals(asked.asked, "");
  const told = await it.uninstall("--purge", "--yes");
  assertEquals(told.code, 0, told.stderr);
  assertMatch(told.stdout, new RegExp(`\nremoved ${it.configuration}\n`));
  for (const path of [it.program, it.unit, it.configuration, it.state]) {
    assert(!exists(path), path);
  }
});

test("uninstall --purge keeps everything while the workspace lies inside", async (it) => {
  const inside = join(it.configuration, "work");
  const link = join(it.place.directory, "link");
  await Deno.mkdir(inside);
  await Deno.symlink(inside, link);
  for (const workspace of [inside, link]) {
    await it.place.write(
      "home/.config/agent-daemon/config.json",
      JSON.stringify({ workspace }),
    );
    const { code, stderr, asked } = await it.uninstall("--purge", "--yes");
    assertEquals(code, 78);
    assertMatch(
      stderr,
      /^agent-daemon: --purge: would remove the workspace inside .*; move the workspace/,
    );
    assert(exists(inside) && exists(it.program) && exists(it.unit));
    assertEquals(asked, "");
  }
});

test("uninstall leaves a program of somebody else where it is", async (it) => {
  await it.place.write("home/.local/bin/agent-daemon", "#!/bin/sh\n");
  const { code, stdout } = await it.uninstall();
  assertEquals(code, 0);
  assertMatch(stdout, new RegExp(`^kept ${it.program}: install.sh `));
  assert(exists(it.program));
});

test("uninstall removes no file under a daemon that runs", async (it) => {
  const processes = processTable(Deno.build.os);
  const own = (await processes.list()).find(({ pid }) => pid === Deno.pid);
  await it.place.write(
    "state/status.json",
    JSON.stringify({
      schema: 1,
      written_at: 0,
      process: {
        pid: Deno.pid,
        start_time: own?.startTime ?? null,
        boot_id: await processes.bootId(),
        version: "0.1.0",
        protocol_version: "0.12.0",
        started_at: 0,
      },
      core_url: "https://core.example",
      device_id: "6f0c2d1e-0f54-4b7e-9b36-2b8f1f9d7a10",
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
      unknown: [],
      orphans: [],
    }),
  );
  const { code, stderr } = await it.uninstall("--purge", "--yes");
  assertEquals(code, 73);
  assertMatch(stderr, new RegExp(`process ${Deno.pid}: still runs; stop it`));
  assert(exists(it.program) && exists(it.configuration) && exists(it.state));
});
