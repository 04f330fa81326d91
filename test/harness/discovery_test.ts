import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { join } from "@std/path";
import {
  locateProgram,
  type ProgramSearch,
  programStamp,
} from "../../src/harness/discovery.ts";
import { type Child, CloseUnconfirmed } from "../../src/harness/child.ts";
import { readShim } from "../../src/harness/npm_shim.ts";
import type { ProgramFiles } from "../../src/harness/program_files.ts";
import { judgeVersion, readVersion } from "../../src/harness/version.ts";
import {
  LoginShellPath,
  type ProbeContext,
  probeVersion,
} from "../../src/harness/version_probe.ts";
import { spawnChild } from "../../src/harness/supervised_child.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { RecordingLog } from "../support/recording_log.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

/** Files by path: a program where the value is text. */
function files(present: Readonly<Record<string, string>>): ProgramFiles {
  return {
    isProgram: (path) => Promise.resolve(present[path] !== undefined),
    readText: (path) => Promise.resolve(present[path]),
    stamp: (path) => Promise.resolve(present[path]),
  };
}

const LINUX: Omit<ProgramSearch, "files"> = {
  name: "codex",
  operatingSystem: "linux",
  environment: { PATH: "/usr/bin:/bin", HOME: "/home/me" },
};

const WINDOWS: Omit<ProgramSearch, "files"> = {
  name: "codex",
  operatingSystem: "windows",
  environment: {
    Path: "C:\\one;relative;D:\\two",
    AppData: "C:\\Users\\me\\AppData\\Roaming",
    PathExt: ".COM;.EXE;.BAT;.CMD;.JS",
  },
};

async function found(search: ProgramSearch) {
  const location = await locateProgram(search);
  assert(location.found, "not found");
  return location;
}

Deno.test("The operator's path is taken and nothing else looked at", async () => {
  const location = await found({
    ...LINUX,
    program: "/opt/codex",
    files: files({ "/opt/codex": "", "/usr/bin/codex": "" }),
  });
  assertEquals([location.program, location.source], ["/opt/codex", "operator"]);
});

for (
  const [what, program] of [
    ["missing", "/opt/missing"],
    ["relative", "codex"],
    ["empty", ""],
  ] as const
) {
  Deno.test(`An operator's path that is ${what} is a miss, whatever PATH has`, async () => {
    const location = await locateProgram({
      ...LINUX,
      program,
      files: files({ "/usr/bin/codex": "", "codex": "" }),
    });
    assert(!location.found);
    assertEquals(location.searched, [program]);
    assert(location.reason.includes("configured path"));
  });
}

Deno.test("PATH comes before the login shell, that before the well-known directories", async () => {
  let asked = 0;
  const loginShellPath = () => {
    asked += 1;
    return Promise.resolve("/usr/bin:/nvm/bin");
  };
  const present = {
    "/bin/codex": "",
    "/nvm/bin/codex": "",
    "/home/me/.local/bin/codex": "",
  };
  const search = { ...LINUX, loginShellPath };
  const first = await found({ ...search, files: files(present) });
  assertEquals([first.program, first.source, asked], ["/bin/codex", "path", 0]);
  const { "/bin/codex": _, ...withoutPath } = present;
  const second = await found({ ...search, files: files(withoutPath) });
  assertEquals([second.program, second.source, asked], [
    "/nvm/bin/codex",
    "login_shell",
    1,
  ]);
  assertEquals(second.directory, "/nvm/bin");
  const third = await found({
    ...search,
    files: files({ "/home/me/.local/bin/codex": "" }),
  });
  assertEquals(third.source, "well_known");
});

Deno.test("A miss names every searched directory once, in order, and no other program is taken", async () => {
  const location = await locateProgram({
    ...LINUX,
    environment: { PATH: "/bin:.::/bin:/usr/bin", HOME: "/home/me" },
    directories: ["/home/me/.claude/local"],
    loginShellPath: () => Promise.resolve("/bin:/nvm/bin"),
    files: files({ "/bin/claude": "", "./codex": "", "/bin/codex-old": "" }),
  });
  assert(!location.found);
  assertEquals(location.searched, [
    "/bin",
    "/usr/bin",
    "/nvm/bin",
    "/home/me/.claude/local",
    "/home/me/.local/bin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "/home/me/.npm-global/bin",
  ]);
  assert(location.reason.includes("/nvm/bin, /home/me/.claude/local"));
});

const SHIM =
  '@ECHO off\r\nIF EXIST "%dp0%\\node.exe" (\r\n  SET "_prog=%dp0%\\node.exe"\r\n)' +
  '\r\nendLocal & "%_prog%"  "%dp0%\\node_modules\\@openai\\codex\\bin\\codex.js" %*\r\n';
const SCRIPT = "D:\\two\\node_modules\\@openai\\codex\\bin\\codex.js";

Deno.test("An npm shim is replaced by its interpreter and script: no shell sees the arguments", async () => {
  const location = await found({
    ...WINDOWS,
    files: files({
      "D:\\two\\codex.cmd": SHIM,
      [SCRIPT]: "",
      "C:\\one\\node.exe": "",
    }),
  });
  assertEquals(location.program, "C:\\one\\node.exe");
  assertEquals(location.leadingArguments, [SCRIPT]);
  assertEquals(location.directory, "D:\\two");
});

Deno.test("A shim of an exe is replaced by the exe", async () => {
  const shim = '@"%~dp0\\bin\\codex.exe" %*';
  const location = await found({
    ...WINDOWS,
    files: files({ "C:\\one\\codex.cmd": shim, "C:\\one\\bin\\codex.exe": "" }),
  });
  assertEquals(location.program, "C:\\one\\bin\\codex.exe");
  assertEquals(location.leadingArguments, []);
});

for (
  const [what, present] of [
    ["another batch file", { "D:\\two\\codex.cmd": "echo hello %*" }],
    ["a shim without its script", {
      "D:\\two\\codex.cmd": SHIM,
      "D:\\two\\node.exe": "",
    }],
    ["a shim without node", { "D:\\two\\codex.cmd": SHIM, [SCRIPT]: "" }],
    ["a shim of two targets", {
      "D:\\two\\codex.cmd": SHIM + '"%dp0%\\other.js"',
      [SCRIPT]: "",
      "D:\\two\\node.exe": "",
    }],
  ] as const
) {
  Deno.test(`On Windows ${what} is no program, and the reason names it`, async () => {
    const location = await locateProgram({ ...WINDOWS, files: files(present) });
    assert(!location.found);
    assert(location.reason.includes("D:\\two\\codex.cmd"));
  });
}

Deno.test("Windows tries the extensions of PATHEXT, and those only that are programs", async () => {
  const location = await found({
    ...WINDOWS,
    files: files({ "C:\\one\\codex.js": "", "D:\\two\\codex.exe": "" }),
  });
  assertEquals(location.program, "D:\\two\\codex.exe");
  const appData = await found({
    ...WINDOWS,
    files: files({
      "C:\\Users\\me\\AppData\\Roaming\\npm\\codex.exe": "",
    }),
  });
  assertEquals(appData.source, "well_known");
});

Deno.test("Text that is no shim has no target", () => {
  assertEquals(readShim(""), undefined);
  assertEquals(readShim('"%dp0%\\run.bat"'), undefined);
  assertEquals(readShim('"C:\\evil.js"'), undefined);
});

Deno.test("Replacing the program or its script changes the stamp", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const program = join(directory, "codex");
    await Deno.writeTextFile(program, "#!/bin/sh\n", { mode: 0o755 });
    const location = await found({ ...LINUX, program });
    const before = await programStamp(location);
    assertEquals(await programStamp(location), before);
    await Deno.writeTextFile(`${program}.new`, "#!/bin/sh\n", { mode: 0o755 });
    await Deno.rename(`${program}.new`, program);
    assertNotEquals(await programStamp(location), before);
    await Deno.chmod(program, 0o644);
    assert(!(await locateProgram({ ...LINUX, program })).found);
    await Deno.remove(program);
    assertEquals(await programStamp(location), "absent");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

for (
  const [line, verdict] of [
    ["codex-cli 0.171.0", "tested"],
    ["codex-cli 0.170.9", "too_old"],
    ["codex-cli 0.171.0-alpha.1", "too_old"],
    ["2.0.0 (Claude Code)", "tested"],
    ["2.0.1", "newer"],
    ["10.0.0", "newer"],
    ["v1.9.99", "tested"],
    ["1.2", "unreadable"],
    ["", "unreadable"],
    ["1.2.3.4 is an address", "tested"],
  ] as const
) {
  Deno.test(`The version in "${line}" is ${verdict}`, () => {
    const range = { minimum: "0.171.0", newestTested: "2.0.0" };
    assertEquals(judgeVersion(line, range), verdict);
  });
}

Deno.test("A version line is read for its first three numbers", () => {
  assertEquals(readVersion("codex-cli 0.171.0-rc.1 (x)"), {
    numbers: [0, 171, 0],
    prerelease: true,
  });
});

async function withScript(
  text: string,
  body: (path: string, context: ProbeContext) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    const path = join(directory, "program");
    await Deno.writeTextFile(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    await body(path, {
      environment: {
        PATH: "/usr/bin:/bin",
        SHELL: path,
        CLAUDECODE: "1",
        OPENAI_API_KEY: "canary",
      },
      operatingSystem: "linux",
      clock: systemClock,
      log: new RecordingLog(),
      // Their own time is real: a test that moves the clock must not outrun the end of a process.
      spawn: (options) => spawnChild({ ...options, clock: systemClock }),
    });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function probe(context: ProbeContext, program: string) {
  return probeVersion(context, {
    program,
    arguments: ["--version", "$(touch /tmp/x); '\""],
    workingDirectory: "/",
  });
}

Deno.test("A probe gives the first line that says something, and arguments stay literal", () =>
  withScript(`echo; echo " $2 "; echo more`, async (path, context) => {
    assertEquals(await probe(context, path), {
      ok: true,
      line: "$(touch /tmp/x); '\"",
    });
  }));

Deno.test("A probed program gets nothing of the agent the daemon was started in", () =>
  withScript(`env | grep -c -e CLAUDE -e API_KEY`, async (path, context) => {
    assertEquals(await probe(context, path), { ok: true, line: "0" });
  }));

for (
  const [what, script] of [
    ["prints nothing", "exit 0"],
    ["fails without a word", "exit 3"],
    ["prints too much", "yes '' | head -c 100000"],
    ["prints a line without end", "head -c 100000 /dev/zero"],
  ] as const
) {
  Deno.test(`A program that ${what} has no version, in a fixed sentence`, () =>
    withScript(script, async (path, context) => {
      const answer = await probe(context, path);
      assert(!answer.ok);
      assert(answer.reason.startsWith("The program "));
    }));
}

Deno.test("A program that is none has no version", () =>
  withScript("", async (_path, context) => {
    assertEquals(await probe(context, "/nowhere"), {
      ok: false,
      reason: "The program could not be started",
    });
  }));

/** Proves that `ask` has exactly `milliseconds` for a program that says nothing, then ends it. */
async function assertBounded<T>(
  context: ProbeContext,
  milliseconds: number,
  ask: (context: ProbeContext) => Promise<T>,
): Promise<T> {
  const clock = new VirtualClock();
  const spawned = Promise.withResolvers<Child>();
  const answer = ask({
    ...context,
    clock,
    async spawn(options) {
      const child = await context.spawn(options);
      spawned.resolve(child);
      return child;
    },
  });
  const child = await spawned.promise;
  let exited = false;
  const exit = child.exited.then((status) => {
    exited = true;
    return status;
  });
  await clock.advance(milliseconds - 1);
  assertEquals([exited, clock.pendingTimers], [false, 1]);
  await clock.advance(1);
  assertEquals((await exit).signal, "SIGKILL");
  return await answer;
}

Deno.test("A program that never answers its probe is ended after 15 s", () =>
  withScript("exec sleep 1000", async (path, context) => {
    const answer = await assertBounded(
      context,
      15_000,
      (bounded) => probe(bounded, path),
    );
    assert(!answer.ok);
  }));

Deno.test("A probed program that cannot be ended is a reason, never an exception", () =>
  withScript("echo 1.2.3", async (path, context) => {
    const answer = await probe({
      ...context,
      async spawn(options) {
        const child = await context.spawn(options);
        return {
          pid: child.pid,
          messages: child.messages,
          exited: child.exited,
          write: (value) => child.write(value),
          stderrTail: () => child.stderrTail(),
          kill: () => child.kill(),
          async close() {
            await child.close();
            throw new CloseUnconfirmed("probe: may still live");
          },
        };
      },
    }, path);
    assertEquals(answer, {
      ok: false,
      reason: "The program could not be ended",
    });
  }));

Deno.test("The login shell tells its PATH among whatever else it prints, and is asked once in 30 minutes", () =>
  withScript(
    `echo "Welcome {" ; echo x >> "$0.count"; PATH="/nvm/bin:$PATH"; shift 3; eval "$1"`,
    async (path, context) => {
      const clock = new VirtualClock();
      const shell = new LoginShellPath({ ...context, clock });
      const [one, other] = await Promise.all([shell.read(), shell.read()]);
      assertEquals([one, other], Array(2).fill("/nvm/bin:/usr/bin:/bin"));
      await shell.read();
      assertEquals(await Deno.readTextFile(`${path}.count`), "x\n");
      await clock.advance(30 * 60_000);
      await shell.read();
      assertEquals(await Deno.readTextFile(`${path}.count`), "x\nx\n");
    },
  ));

Deno.test("A login shell that hangs costs 5 s and gives no PATH", () =>
  withScript("exec sleep 1000", async (_path, context) => {
    const path = await assertBounded(
      context,
      5_000,
      (bounded) => new LoginShellPath(bounded).read(),
    );
    assertEquals(path, undefined);
  }));

Deno.test("Without a login shell there is no PATH to ask for", () =>
  withScript("", async (_path, context) => {
    for (const environment of [{}, { SHELL: "sh" }, { SHELL: "/nowhere" }]) {
      const shell = new LoginShellPath({ ...context, environment });
      assertEquals(await shell.read(), undefined);
    }
    const windows = { ...context, operatingSystem: "windows" } as const;
    assertEquals(await new LoginShellPath(windows).read(), undefined);
  }));
