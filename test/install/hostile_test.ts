/** The installer where a machine is not as it expects: files of others, odd names, odd settings. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import {
  environmentOf,
  linux,
  type Machine,
  onMachine,
  runShell,
  SOURCE,
} from "./machine.ts";
import { PROGRAM_TEXT } from "./release_host.ts";

function test(name: string, body: (machine: Machine) => Promise<void>): void {
  Deno.test({ name, ignore: !linux, fn: () => onMachine(body) });
}

/** The words that install into `directory`. */
function words(machine: Machine, directory: string): string[] {
  return [
    "--base-url",
    machine.host.baseUrl,
    "--no-service",
    "--dir",
    directory,
  ];
}

function modeOf(path: string): number {
  return (Deno.lstatSync(path).mode ?? 0) & 0o777;
}

test("a file, a link and a directory of somebody else stay, and none is run", async (machine) => {
  const bin = join(machine.directory, "bin");
  const path = join(bin, "agent-daemon");
  const ran = join(machine.directory, "ran");
  const text = `#!/bin/sh\n: >'${ran}'\necho agent-daemon 1.2.3\n`;
  await Deno.mkdir(bin);
  const both = async (install: RegExp, uninstall: RegExp) => {
    const placed = await machine.install(["dash"], words(machine, bin));
    assertEquals(placed.code, 1);
    assertMatch(placed.stderr, install);
    const removed = await machine.install(
      ["dash"],
      ["--uninstall", "--dir", bin],
    );
    assertEquals(removed.code, 1);
    assertMatch(removed.stderr, uninstall);
  };
  const foreign = /agent-daemon: is there and not from this script; move it/;
  const kept = /agent-daemon: is not from this script; remove it yourself/;
  await Deno.writeTextFile(path, text, { mode: 0o755 });
  await both(foreign, kept);
  assertEquals(await Deno.readTextFile(path), text);
  await Deno.rename(path, join(machine.directory, "elsewhere"));
  for (const target of ["elsewhere", "nowhere"]) {
    await Deno.symlink(join(machine.directory, target), path);
    await both(foreign, kept);
    assert((await Deno.lstat(path)).isSymlink);
    await Deno.remove(path);
  }
  await Deno.mkdir(path);
  await both(/agent-daemon: is a directory; /, kept);
  assert((await Deno.lstat(path)).isDirectory);
  assertEquals([...Deno.readDirSync(bin)].length, 1);
  await Deno.stat(ran).then(
    () => assert(false, "the foreign program ran"),
    (error) => assert(error instanceof Deno.errors.NotFound),
  );
});

test("what took the place of an installed program is not removed", async (machine) => {
  const bin = join(machine.directory, "bin");
  const path = join(bin, "agent-daemon");
  const placed = await machine.install(["dash"], words(machine, bin));
  assertEquals(placed.code, 0, placed.stderr);
  await Deno.writeTextFile(path, "#!/bin/sh\necho another 1.0\n");
  const removed = await machine.install(
    ["dash"],
    ["--uninstall", "--dir", bin],
  );
  assertEquals(removed.code, 1);
  assertMatch(removed.stderr, /is not from this script/);
  assertMatch(await Deno.readTextFile(path), /another/);
});

test("--uninstall removes its own files and nothing beside them", async (machine) => {
  const bin = join(machine.directory, "bin");
  await Deno.mkdir(bin);
  await Deno.writeTextFile(join(bin, "other"), "kept");
  const data = join(machine.home, ".local/share/agent-daemon");
  await Deno.mkdir(join(data, "deno"), { recursive: true });
  await Deno.writeTextFile(join(data, "deno/notes"), "kept");
  await machine.install(["dash"], words(machine, bin));
  assertEquals([...Deno.readDirSync(bin)].length, 3);
  const removed = await machine.install(
    ["dash"],
    ["--uninstall", "--dir", bin],
  );
  assertEquals(removed.code, 0, removed.stderr);
  assertEquals([...Deno.readDirSync(bin)].map(({ name }) => name), ["other"]);
  assertEquals(await Deno.readTextFile(join(data, "deno/notes")), "kept");
});

test("no mask of the caller makes the program anyone else's, or unusable", async (machine) => {
  for (const mask of ["000", "777"]) {
    const bin = join(machine.directory, `bin ${mask}`);
    const quoted = words(machine, bin).map((word) => `'${word}'`).join(" ");
    const outcome = await runShell(
      ["dash", "-c", `umask ${mask}; sh '${machine.host.installer}' ${quoted}`],
      environmentOf(machine.directory, machine.home),
    );
    assertEquals(outcome.code, 0, outcome.stderr);
    assertEquals(modeOf(bin), 0o700);
    assertEquals(modeOf(join(bin, "agent-daemon")), 0o700);
    assertEquals(modeOf(join(bin, ".agent-daemon.installed")), 0o600);
  }
});

test("spaces and quotes in every path, from a release and from a checkout", async (machine) => {
  const odd = join(machine.directory, "it's a $HOME `x` dir");
  await Deno.mkdir(join(odd, "tmp"), { recursive: true });
  const environment: Record<string, string> = {
    ...environmentOf(machine.directory, machine.home),
    TMPDIR: join(odd, "tmp"),
    HOME: odd,
  };
  const release = await machine.install(["dash"], [
    "--base-url",
    machine.host.baseUrl,
  ], environment);
  assertEquals(release.code, 0, release.stderr);
  const path = join(odd, ".local/bin/agent-daemon");
  assertEquals(await Deno.readTextFile(path), PROGRAM_TEXT);
  assertEquals([...Deno.readDirSync(join(odd, "tmp"))], []);
  // The printed command works as pasted.
  const pasted = /^ {2}(.* )doctor --offline$/m.exec(release.stdout)?.[1] ?? "";
  const version = await runShell(
    ["dash", "-c", `${pasted} version`],
    environment,
  );
  assertEquals(version.stdout, "agent-daemon 1.2.3 (wire 0.12.0, test)\n");
  const checkout = join(odd, "checkout");
  await Deno.mkdir(checkout);
  await Deno.copyFile(SOURCE, join(checkout, "install.sh"));
  await Deno.writeTextFile(join(checkout, "deno.json"), "{}");
  await Deno.writeTextFile(
    join(checkout, "main.ts"),
    "console.log('started', ...Deno.args);",
  );
  // Deno too, as a search path may have it.
  await Deno.mkdir(join(odd, "deno bin"));
  await Deno.symlink(Deno.execPath(), join(odd, "deno bin/deno"));
  const withDeno = {
    ...environment,
    PATH: `${odd}/deno bin:${environment.PATH}`,
    DENO_DIR: join(odd, "cache"),
  };
  const source = await runShell(
    ["dash", join(checkout, "install.sh"), "--from-source", "--dir", odd],
    withDeno,
  );
  assertEquals(source.code, 0, source.stderr);
  const started = await runShell(
    [join(odd, "agent-daemon"), "a b", "$HOME"],
    withDeno,
  );
  assertEquals(started.stdout, "started a b $HOME\n", started.stderr);
});

test("without HOME, or with a relative one, it says what to set", async (machine) => {
  const { HOME: _home, ...without } = environmentOf(
    machine.directory,
    machine.home,
  );
  for (const environment of [without, { ...without, HOME: "here" }]) {
    const outcome = await runShell(
      ["dash", machine.host.installer, "--base-url", machine.host.baseUrl],
      environment,
    );
    assertEquals(outcome.code, 1);
    assertMatch(
      outcome.stderr,
      /^agent-daemon: HOME: is not set to an absolute path; set it, or use --system\n$/,
    );
  }
  assertEquals(machine.host.requests, []);
});

test("a relative base directory is ignored, as the program ignores it", async (machine) => {
  const bin = join(machine.directory, "bin");
  const stubs = join(machine.directory, "stubs");
  await Deno.mkdir(stubs);
  // Only the places of an ordinary account depend on it.
  await Deno.writeTextFile(join(stubs, "id"), "#!/bin/sh\necho 1000\n", {
    mode: 0o755,
  });
  const environment = {
    XDG_CONFIG_HOME: "relative",
    XDG_DATA_HOME: "relative",
    PATH: `${stubs}:${Deno.env.get("PATH")}`,
  };
  const outcome = await machine.install(
    ["dash"],
    words(machine, bin),
    environment,
  );
  assertEquals(outcome.code, 0, outcome.stderr);
  const removed = await machine.install(
    ["dash"],
    ["--uninstall", "--dir", bin],
    environment,
  );
  assertMatch(
    removed.stdout,
    new RegExp(`; see ${machine.home}/.config/agent-daemon\\.\n$`),
  );
});

test("a target that cannot be written is one line, and leaves nothing", async (machine) => {
  // Even root cannot make a directory below these.
  const file = join(machine.directory, "a file");
  await Deno.writeTextFile(file, "");
  for (const directory of ["/proc/self/bin", join(file, "bin")]) {
    const outcome = await machine.install(
      ["dash"],
      words(machine, directory),
    );
    assertEquals(outcome.code, 1);
    assertMatch(outcome.stderr, /^agent-daemon: .*: cannot be written; .*\n$/);
  }
  if (Deno.uid() === 0) return; // no mode stops root
  const bin = join(machine.directory, "bin");
  await Deno.mkdir(bin, { mode: 0o500 });
  const outcome = await machine.install(["dash"], words(machine, bin));
  assertMatch(outcome.stderr, /^agent-daemon: .*: cannot be written; .*\n$/);
  assertEquals([...Deno.readDirSync(bin)], []);
});

test("an address that only looks like loopback is asked for nothing", async (machine) => {
  for (
    const [flag, address] of [
      ["--base-url", "http://127.0.0.1:80@releases.example"],
      ["--base-url", "http://localhost:x@releases.example"],
      ["--base-url", "http://127.0.0.1.releases.example"],
      ["--core-url", "http://127.0.0.1.core.example"],
      ["--core-url", "http://localhost.core.example"],
    ] as const
  ) {
    const outcome = await machine.install(["dash"], [
      "--version",
      "1.2.3",
      ...(flag === "--core-url" ? ["--base-url", machine.host.baseUrl] : []),
      flag,
      address,
    ]);
    assertEquals(outcome.code, 1, address);
    assertMatch(
      outcome.stderr,
      /^agent-daemon: --(base|core)-url: must (be https|not hold a user name); /,
      address,
    );
  }
  assertEquals(machine.host.requests, []);
});

test("an empty value is no default", async (machine) => {
  for (const flag of ["--dir", "--base-url", "--version", "--core-url"]) {
    const outcome = await machine.install(["dash"], [flag, ""]);
    assertMatch(outcome.stderr, /: needs a value; write --/);
  }
  assertEquals([...Deno.readDirSync(machine.home)], []);
});

test("a program of the same name that comes first is said, and the full path shown", async (machine) => {
  const first = join(machine.directory, "first");
  const bin = join(machine.directory, "bin");
  await Deno.mkdir(first);
  await Deno.writeTextFile(join(first, "agent-daemon"), "", { mode: 0o755 });
  const outcome = await machine.install(["dash"], words(machine, bin), {
    PATH: `${first}:${bin}:${Deno.env.get("PATH")}`,
  });
  assertMatch(
    outcome.stdout,
    /\nAnother agent-daemon comes first on your PATH/,
  );
  assert(outcome.stdout.includes(`  '${bin}/agent-daemon' doctor`));
});
