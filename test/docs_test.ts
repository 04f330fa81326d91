/**
 * Every command of the documentation works as pasted. Each line of a block that holds commands is
 * run in a home of its own, in the order of the pages, unless the list below says why it cannot be;
 * a list entry that no page needs any more fails too. Commands in running text at least parse.
 */
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { parseArguments } from "../src/cli/parse.ts";
import { makePlace } from "./cli/command_line.ts";

const root = fromFileUrl(new URL("..", import.meta.url));
/** The README first: its commands put the program on the path for the other pages. */
const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  ...(await names("docs")).map((name) => `docs/${name}`),
  ...(await names("docs/decisions")).map((name) => `docs/decisions/${name}`),
];

async function names(directory: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(join(root, directory)));
  return entries.map(({ name }) => name).filter((name) => name.endsWith(".md"))
    .sort();
}

/** Lines that are not run here, by how they begin, and why. */
const NOT_RUN: readonly (readonly [string, string])[] = [
  ["npx -y deno@2.9.6 task demo", "installs a Harness program; a CI step"],
  ["npx -y deno@2.9.6 task test", "runs this very test"],
  ["deno install", "changes this checkout under the other tests"],
  ["deno task check", "a CI step of its own"],
  ["deno task test", "runs this very test"],
  ["curl ", "needs a release host; test/install/ has one on loopback"],
  ["powershell ", "needs Windows"],
  ["useradd ", "changes the accounts of the machine"],
  ["install -d -m 700 /etc/", "writes outside of the test's home"],
  ["agent-daemon --", "needs a Core of yours; see test/cli/run_test.ts"],
  ["agent-daemon run ", "needs a Core of yours; see test/cli/run_test.ts"],
  [
    "agent-daemon enroll ",
    "needs a Core of yours; see test/cli/enroll_test.ts",
  ],
  ["OTEL_DENO=true ", "needs a Core of yours; see test/cli/telemetry_test.ts"],
  ["agent-daemon service install", "changes the services of this account"],
  ["agent-daemon service status", "asks the services of this account"],
  ["agent-daemon upgrade", "needs a release host"],
  ["agent-daemon rollback", "needs an earlier release"],
  ["agent-daemon uninstall", "would remove the service of this account"],
  ["agent-daemon logs -f", "follows a running daemon until interrupted"],
  ["agent-daemon stop", "needs a running daemon; see test/cli/stop_test.ts"],
];

/** Lines whose answer on a machine without a daemon or a Harness is another code than 0. */
const ANSWERS: Readonly<Record<string, readonly number[]>> = {
  "agent-daemon doctor --offline": [2],
  "agent-daemon status": [2],
  "agent-daemon harness list": [0, 2],
};

/** What the first word of a block of commands may be; another block shows output. */
const PROGRAMS =
  /^(?:[A-Z_]+=\S+ )*(?:agent-daemon|curl|deno|install|mkdir|npx|powershell|sh|useradd)(?= |\n|$)/;

interface Command {
  readonly page: string;
  readonly line: string;
}

/** The commands of all pages, line by line. */
async function commands(): Promise<Command[]> {
  const found: Command[] = [];
  for (const page of pages) {
    const text = await Deno.readTextFile(join(root, page));
    for (
      const [, body = ""] of text.matchAll(/^```(?:sh|text)\n([^]*?)^```$/gm)
    ) {
      if (!PROGRAMS.test(body)) continue;
      const lines = body.trim().split("\n");
      found.push(...lines.map((line) => ({ page, line })));
    }
  }
  return found;
}

function reasonNotToRun(line: string): string | undefined {
  return NOT_RUN.find(([begin]) => line.startsWith(begin))?.[1];
}

Deno.test("every sh block holds commands that are known here", async () => {
  for (const page of pages) {
    const text = await Deno.readTextFile(join(root, page));
    for (const [, body = ""] of text.matchAll(/^```sh\n([^]*?)^```$/gm)) {
      for (const line of body.trim().split("\n")) {
        assert(PROGRAMS.test(line), `${page}: ${line}`);
      }
    }
  }
});

Deno.test("no command is excused that the pages do not show", async () => {
  const shown = await commands();
  for (const [begin] of NOT_RUN) {
    assert(shown.some(({ line }) => line.startsWith(begin)), begin);
  }
  for (const line of Object.keys(ANSWERS)) {
    assert(shown.some((command) => command.line === line), line);
  }
});

Deno.test("every command of the program parses, in blocks and in running text", async () => {
  const shown = (await commands()).map(({ line }) => line);
  for (const page of pages) {
    const text = (await Deno.readTextFile(join(root, page)))
      .replaceAll(/^```[^]*?^```$/gm, "");
    for (const [, line = ""] of text.matchAll(/`(agent-daemon [^`]+)`/g)) {
      shown.push(line.replaceAll(/\s+/g, " "));
    }
  }
  let count = 0;
  for (const line of shown) {
    const [, words] = /^(?:[A-Z_]+=\S+ )*agent-daemon(.*)$/.exec(line) ?? [];
    if (words === undefined) continue;
    count++;
    const parsed = parseArguments(
      words.replace(/ [>|].*$/, "").split(" ").filter((word) => word !== ""),
    );
    assert(parsed.kind !== "help" || words.includes("help"), line);
  }
  assert(count > 10);
});

Deno.test("every task that the pages name exists", async () => {
  const { tasks } = JSON.parse(
    await Deno.readTextFile(join(root, "deno.json")),
  );
  for (const page of pages) {
    const text = await Deno.readTextFile(join(root, page));
    for (
      const [, name = ""] of text.matchAll(/\btask ([a-z]+(?::[a-z]+)?)\b/g)
    ) {
      if (
        !text.includes(`deno task ${name}`) && !text.includes(`\`task ${name}`)
      ) {
        continue; // the word, not the command
      }
      assert(Object.hasOwn(tasks, name), `${page}: task ${name}`);
    }
  }
});

Deno.test("every link between the pages leads somewhere", async () => {
  for (const page of pages) {
    const text = await Deno.readTextFile(join(root, page));
    const directory = join(root, page, "..");
    for (const [, target = ""] of text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)) {
      if (!/^[a-z]+:/.test(target)) await Deno.stat(join(directory, target));
    }
  }
});

Deno.test({
  name: "every command that can run here does what it says",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using place = await makePlace();
    const work = join(place.directory, "work");
    await Deno.mkdir(work);
    const bin = join(place.environment.HOME ?? "", ".local/bin");
    const environment = {
      ...place.environment,
      PATH: `${bin}:${place.environment.PATH}`,
    };
    const failures: string[] = [];
    let ran = 0;
    for (const { page, line } of await commands()) {
      if (reasonNotToRun(line) !== undefined) continue;
      ran++;
      const { code, stderr } = await new Deno.Command("sh", {
        args: ["-c", line],
        cwd: line.includes("install.sh") ? root : work,
        stdin: "null",
        clearEnv: true,
        env: environment,
      }).output();
      const text = new TextDecoder().decode(stderr);
      if (!(ANSWERS[line] ?? [0]).includes(code)) {
        failures.push(`${page}: ${line}: ${code} ${text}`);
      }
    }
    assertEquals(failures, []);
    assert(ran > 8, `only ${ran} commands ran`);
  },
});
