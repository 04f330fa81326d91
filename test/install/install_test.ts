/** The installer for Unix under each shell it must run in, against a release on loopback. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { ARCHIVE, PROGRAM_TEXT, TARGET, VERSION } from "./release_host.ts";
import {
  environmentOf,
  installed,
  linux,
  nameFor,
  onMachine,
  runShell,
  shells,
  SOURCE,
} from "./machine.ts";

for (const shell of shells) {
  const label = shell.join(" ");
  const test = (name: string, fn: () => Promise<void>) =>
    Deno.test({
      name: nameFor(shell[0] ?? "", `${label}: ${name}`),
      ignore: !linux || !installed(shell[0] ?? ""),
      fn,
    });

  test("a good release is installed, twice to the same end", () =>
    onMachine(async ({ home, install }) => {
      const first = await install(shell);
      assertEquals(first.stderr, "");
      assertEquals(first.code, 0);
      const path = join(home, ".local/bin/agent-daemon");
      assertEquals(await Deno.readTextFile(path), PROGRAM_TEXT);
      assertEquals((Deno.statSync(path).mode ?? 0) & 0o777, 0o700);
      assertMatch(
        first.stdout,
        /Next, .*\n {2}'.*agent-daemon' --device-id UUID --token-file FILE --core-url https:\/\/core\.example\n/,
      );
      const second = await install(shell);
      assertEquals(second.code, 0);
      assertMatch(second.stdout, /^.*agent-daemon is current\.\n/);
    }));

  test("a truncated archive, a wrong digest and a wrong signature install nothing", () =>
    onMachine(async ({ home, host, install }) => {
      const archive = `/${VERSION}/${ARCHIVE}`;
      const sums = `/${VERSION}/SHA256SUMS`;
      const good = new Map(host.files);
      const cases: readonly (readonly [string, () => void, RegExp])[] = [
        [
          "truncated",
          () =>
            host.files.set(
              archive,
              (good.get(archive) ?? new Uint8Array()).slice(0, -7),
            ),
          /^agent-daemon: agent-daemon-1\.2\.3-.*\.tar\.gz: has a wrong digest; .*\n$/,
        ],
        [
          "empty",
          () => host.files.set(archive, new Uint8Array()),
          /^agent-daemon: agent-daemon-1\.2\.3-.*: has a wrong digest; .*\n$/,
        ],
        [
          "changed sums",
          () =>
            host.files.set(
              sums,
              new TextEncoder().encode(`${"0".repeat(64)}  ${ARCHIVE}\n`),
            ),
          /^agent-daemon: SHA256SUMS: has a wrong signature; .*\n$/,
        ],
        [
          "changed signature",
          () => host.files.set(`${sums}.sig`, new Uint8Array(70)),
          /^agent-daemon: SHA256SUMS: has a wrong signature; .*\n$/,
        ],
        [
          "no signature",
          () => host.files.delete(`${sums}.sig`),
          /agent-daemon: 1\.2\.3\/SHA256SUMS\.sig: could not be downloaded; .*\n$/,
        ],
        [
          "no sums",
          () => host.files.delete(sums),
          /agent-daemon: 1\.2\.3\/SHA256SUMS: could not be downloaded; .*\n$/,
        ],
        [
          "no archive",
          () => host.files.delete(archive),
          /agent-daemon: 1\.2\.3\/agent-daemon-.*: could not be downloaded; .*\n$/,
        ],
        [
          "bad latest",
          () =>
            host.files.set("/latest", new TextEncoder().encode("../../x\n")),
          /^agent-daemon: --version: must be a release such as 1\.2\.3; .*\n$/,
        ],
      ];
      for (const [name, change, message] of cases) {
        host.files.clear();
        for (const [path, content] of good) host.files.set(path, content);
        change();
        const outcome = await install(shell);
        assertEquals(outcome.code, 1, name);
        assertMatch(outcome.stderr, message, name);
        assertEquals([...Deno.readDirSync(home)], [], name);
      }
    }));

  test("a release without this platform says so and installs nothing", () =>
    onMachine(async ({ home, host, install }) => {
      host.files.delete(`/${VERSION}/${ARCHIVE}`);
      host.files.set(
        `/${VERSION}/agent-daemon-${VERSION}-sparc-unknown-linux-gnu.tar.gz`,
        new Uint8Array(10),
      );
      await host.sign();
      const outcome = await install(shell);
      assertEquals(outcome.code, 1);
      assertMatch(
        outcome.stderr,
        new RegExp(
          `^agent-daemon: agent-daemon-1\\.2\\.3-${TARGET}\\.tar\\.gz: is not in this release; .*\\n$`,
        ),
      );
      assertEquals([...Deno.readDirSync(home)], []);
    }));

  test("cut off anywhere, the script runs nothing", async () => {
    const text = await Deno.readTextFile(SOURCE);
    const directory = await Deno.realPath(await Deno.makeTempDir());
    try {
      const home = join(directory, "home");
      await Deno.mkdir(home);
      const ends = text.length;
      const cuts = new Set<number>();
      for (let at = 0; at < ends - 40; at += 293) cuts.add(at);
      for (let at = ends - 40; at < ends - 2; at++) cuts.add(at);
      for (const cut of cuts) {
        const outcome = await runShell(
          [...shell, "-s", "--", "--help"],
          environmentOf(directory, home),
          text.slice(0, cut),
        );
        // A shell may complain; the script itself must not have said a word.
        assertEquals(outcome.stdout, "", `cut at ${cut} of ${ends}`);
        assert(
          !/^agent-daemon:/m.test(outcome.stderr),
          `cut at ${cut} of ${ends}: ${outcome.stderr}`,
        );
      }
      assertEquals([...Deno.readDirSync(home)], []);
      const whole = await runShell(
        [...shell, "-s", "--", "--help"],
        environmentOf(directory, home),
        text,
      );
      assertMatch(whole.stdout, /^Usage: install\.sh/);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  });

  test("--core-url is written once and --uninstall keeps it", () =>
    onMachine(async ({ directory, home, host, install }) => {
      const configuration = join(directory, "configuration");
      // The account decides where the file goes; only an ordinary one uses this directory.
      const environment = { XDG_CONFIG_HOME: configuration };
      const bin = join(directory, "bin dir's");
      const words = [
        "--base-url",
        `${host.baseUrl}/`,
        "--dir",
        bin,
        "--no-service",
      ];
      const outcome = await install(
        shell,
        Deno.uid() === 0
          ? words
          : [...words, "--core-url", "https://core.example"],
        environment,
      );
      assertEquals(outcome.code, 0, outcome.stderr);
      if (Deno.uid() !== 0) {
        assertEquals(
          await Deno.readTextFile(
            join(configuration, "agent-daemon/config.json"),
          ),
          '{\n  "core_url": "https://core.example"\n}\n',
        );
      }
      assertMatch(
        outcome.stdout,
        /'.*bin dir'\\''s\/agent-daemon' doctor --offline\n/,
      );
      const removed = await install(
        shell,
        ["--uninstall", "--dir", bin],
        environment,
      );
      assertEquals(removed.code, 0);
      assertEquals([...Deno.readDirSync(bin)], []);
      const again = await install(
        shell,
        ["--uninstall", "--dir", bin],
        environment,
      );
      assertMatch(again.stdout, /is not there; nothing to do\.\n$/);
      assertEquals([...Deno.readDirSync(home)], []);
    }));

  test("a mistake is one line that does not repeat what was typed", () =>
    onMachine(async ({ host, install }) => {
      const cases: readonly (readonly [readonly string[], RegExp])[] = [
        [
          ["--s3cret"],
          /^agent-daemon: option: is not known; see install\.sh --help\n$/,
        ],
        [
          ["s3cret"],
          /^agent-daemon: option: is not known; see install\.sh --help\n$/,
        ],
        [
          ["--dir"],
          /^agent-daemon: --dir: needs a value; write --dir VALUE\n$/,
        ],
        [
          ["--base-url", "http://s3cret.example"],
          /^agent-daemon: --base-url: must be https; .*\n$/,
        ],
        [
          ["--base-url", host.baseUrl, "--core-url", "http://s3cret.example"],
          /^agent-daemon: --core-url: must be https; write https:\/\/core\.example\n$/,
        ],
        [
          ["--base-url", host.baseUrl, "--core-url", 'https://a"s3cret'],
          /^agent-daemon: --core-url: holds a character that no address has; .*\n$/,
        ],
        [
          ["--base-url", host.baseUrl, "--version", "../s3cret"],
          /^agent-daemon: --version: must be a release such as 1\.2\.3; .*\n$/,
        ],
      ];
      for (const [words, message] of cases) {
        const outcome = await install(shell, words);
        assertEquals(outcome.code, 1, words.join(" "));
        assertMatch(outcome.stderr, message, words.join(" "));
        assert(!outcome.stderr.includes("s3cret"));
      }
    }));
}

Deno.test({
  name: "a program that does not run or is another version is not installed",
  ignore: !linux,
  fn: async () => {
    for (
      const text of [
        "#!/bin/sh\nexit 1\n",
        "#!/bin/sh\necho agent-daemon 9.9.9 wire\n",
      ]
    ) {
      await onMachine(async ({ home, install }) => {
        const outcome = await install(["sh"]);
        assertEquals(outcome.code, 1);
        assertMatch(outcome.stderr, /does not run here or is another version/);
        assertEquals([...Deno.readDirSync(home)], []);
      }, text);
    }
  },
});

Deno.test({
  name: "an unknown processor and musl are refused with the way out",
  ignore: !linux,
  fn: () =>
    onMachine(async ({ directory, install }) => {
      const stubs = join(directory, "stubs");
      await Deno.mkdir(stubs);
      const stub = (name: string, text: string) =>
        Deno.writeTextFile(join(stubs, name), `#!/bin/sh\n${text}\n`, {
          mode: 0o755,
        });
      const path = { PATH: `${stubs}:${Deno.env.get("PATH")}` };
      await stub("uname", '[ "$1" = -m ] && echo riscv64 || echo Linux');
      const processor = await install(["sh"], undefined, path);
      assertMatch(
        processor.stderr,
        /^agent-daemon: platform: has no release; use --from-source in a checkout\n$/,
      );
      await stub("uname", '[ "$1" = -m ] && echo x86_64 || echo Linux');
      await stub("getconf", "exit 1");
      await stub("ldd", "echo 'musl libc (x86_64)' >&2; exit 1");
      const musl = await install(["sh"], undefined, path);
      assertMatch(
        musl.stderr,
        /^agent-daemon: platform: has no release: this system uses musl/,
      );
    }),
});

Deno.test({
  name: "a copy without a release key refuses to download anything",
  ignore: !linux,
  fn: () =>
    onMachine(async ({ directory, home, host }) => {
      const outcome = await runShell(
        ["sh", SOURCE, "--base-url", host.baseUrl],
        environmentOf(directory, home),
      );
      assertEquals(outcome.code, 1);
      assertMatch(
        outcome.stderr,
        /^agent-daemon: install\.sh: holds no release key; /,
      );
      assertEquals(host.requests, []);
    }),
});

Deno.test({
  name: "--from-source writes a launcher that runs the checkout from anywhere",
  ignore: !linux,
  fn: () =>
    onMachine(async ({ directory, home }) => {
      const bin = join(directory, "bin");
      const outcome = await runShell(
        ["sh", SOURCE, "--from-source", "--dir", bin, "--no-service"],
        environmentOf(directory, home),
      );
      assertEquals(outcome.code, 0, outcome.stderr);
      const version = await runShell(
        [join(bin, "agent-daemon"), "version"],
        environmentOf(directory, home),
      );
      assertEquals(version.code, 0, version.stderr);
      assertMatch(
        version.stdout,
        /^agent-daemon \d+\.\d+\.\d+ \(wire 0\.12\.0, /,
      );
      // More than `version`: the launcher must give the rights that the daemon needs.
      const selftest = await runShell(
        [join(bin, "agent-daemon"), "selftest"],
        environmentOf(directory, home),
      );
      assertEquals(selftest.code, 0, selftest.stdout + selftest.stderr);
      const mistake = await runShell(
        [
          join(bin, "agent-daemon"),
          "run",
          "--allow-root",
          "--device-id",
          'it\'s "quoted"',
        ],
        environmentOf(directory, home),
      );
      assertEquals(mistake.code, 64);
      const piped = await runShell(
        ["sh", "-s", "--", "--from-source", "--dir", bin],
        environmentOf(directory, home),
        await Deno.readTextFile(SOURCE),
      );
      assertEquals(piped.code, 1);
      assertMatch(
        piped.stderr,
        /^agent-daemon: --from-source: needs a checkout; /,
      );
    }),
});

Deno.test({
  name: nameFor("shellcheck", "shellcheck has nothing to say"),
  ignore: !installed("shellcheck"),
  fn: async () => {
    const outcome = await new Deno.Command("shellcheck", {
      args: ["--shell=sh", SOURCE],
    }).output();
    assertEquals(new TextDecoder().decode(outcome.stdout), "");
    assertEquals(outcome.code, 0);
  },
});
