import { assert, assertEquals, assertThrows } from "@std/assert";
import { COMMANDS } from "../../src/cli/commands.ts";
import { Mistake } from "../../src/cli/mistake.ts";
import { parseArguments } from "../../src/cli/parse.ts";

function optionsOf(...words: string[]): Record<string, string> {
  const parsed = parseArguments(words);
  assert(parsed.kind === "command");
  return Object.fromEntries(parsed.invocation.options);
}

function commandOf(...words: string[]): string {
  const parsed = parseArguments(words);
  return parsed.kind === "command" ? parsed.invocation.command.name : "";
}

Deno.test("without a command word the daemon runs", () => {
  assertEquals(commandOf(), "run");
  assertEquals(commandOf("--device-id", "x"), "run");
  assertEquals(commandOf("run", "--device-id", "x"), "run");
  assertEquals(commandOf("service", "install", "--user"), "service install");
});

Deno.test("a value may be attached or follow, and a lone dash is a value", () => {
  assertEquals(optionsOf("--token-file", "-"), { "token-file": "-" });
  assertEquals(optionsOf("--token-file=-"), { "token-file": "-" });
  assertEquals(optionsOf("--token-file=--x"), { "token-file": "--x" });
  assertEquals(optionsOf("--no-proxy=a,b"), { "no-proxy": "a,b" });
  assertEquals(optionsOf("--once", "--max-idle", "0"), {
    once: "true",
    "max-idle": "0",
  });
  assertEquals(optionsOf("logs", "-f", "-n", "5"), {
    follow: "true",
    lines: "5",
  });
});

Deno.test("words after -- are operands", () => {
  const parsed = parseArguments(["try", "--", "--help"]);
  assert(parsed.kind === "command");
  assertEquals(parsed.invocation.operands, ["--help"]);
});

Deno.test("--help belongs to the command that stands before it", () => {
  const run = parseArguments(["run", "--help"]);
  assert(run.kind === "help");
  assertEquals(run.command?.name, "run");
  const program = parseArguments(["--help"]);
  assert(program.kind === "help");
  assertEquals(program.command, undefined);
  assertEquals(parseArguments(["--version"]), { kind: "version" });
});

const refusals: readonly (readonly [readonly string[], string])[] = [
  [
    ["--divice-id", "x"],
    "flag: is not known here; did you mean --device-id?",
  ],
  [
    ["--token", "s3cret-s3cret-s3cret"],
    "flag: is not known here; did you mean --token-file?",
  ],
  [
    ["--s3cret-s3cret-s3cret=1"],
    "flag: is not known here; see agent-daemon help run",
  ],
  [["--device-id"], "--device-id: needs a value; write --device-id UUID"],
  [["--device-id="], "--device-id: needs a value; write --device-id UUID"],
  [
    ["--device-id", "--once"],
    "--device-id: needs a value; write --device-id UUID",
  ],
  [["--once=yes"], "--once: takes no value; leave the value out"],
  [["--once", "--once"], "--once: is given twice; give it once"],
  [
    ["--device-id", "a", "--device-id", "a"],
    "--device-id: is given twice; give it once",
  ],
  [["s3cret"], "command: is not known; see agent-daemon help"],
  [["statsu"], "command: is not known; did you mean status?"],
  [
    ["service"],
    "service: needs a second word; use one of install, uninstall, start, stop, restart, status, print",
  ],
  [
    ["service", "instal"],
    "service: has no such command; did you mean install?",
  ],
  [["run", "s3cret"], "argument: run takes none; see agent-daemon help run"],
  [["status", "-x"], "flag: is not known here; see agent-daemon help status"],
  [
    ["completions"],
    "SHELL: is missing; see agent-daemon help completions",
  ],
  [
    ["completions", "s3cret"],
    "SHELL: must be one of bash, zsh, fish, powershell; choose one of them",
  ],
];

for (const [words, message] of refusals) {
  Deno.test(`usage mistake: ${words.join(" ") || "(nothing)"}`, () => {
    const mistake = assertThrows(() => parseArguments(words), Mistake);
    assertEquals(mistake.message, message);
    assertEquals(mistake.exitCode, 64);
    assert(!mistake.message.includes("s3cret"));
  });
}

Deno.test("no command, option or letter of the table is ambiguous", () => {
  const names = COMMANDS.map((each) => each.name);
  assertEquals(new Set(names).size, names.length);
  for (const command of COMMANDS) {
    const options = command.options.flatMap((each) => [
      `--${each.name}`,
      ...(each.short ? [`-${each.short}`] : []),
    ]);
    assertEquals(new Set(options).size, options.length, command.name);
    assert(!options.includes("--help") && !options.includes("-h"));
  }
});
