/** What is made from the command table: code, help, completions, manual pages. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { BUILD_VERSION, PERMISSIONS } from "../../src/cli/build.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { completionScript } from "../../src/cli/completions.ts";
import { findHandler, handledCommands } from "../../src/cli/handlers.ts";
import { commandHelp, programHelp } from "../../src/cli/help.ts";
import { commandPage, programPage } from "../../src/cli/manual.ts";
import { settingEntries } from "../../src/cli/settings_table.ts";
import { PROTOCOL_VERSION } from "../../src/protocol/version.ts";
import { agentDaemon, makePlace } from "./command_line.ts";

const root = (path: string) =>
  fromFileUrl(new URL(`../../${path}`, import.meta.url));

Deno.test("every command of the table has code, and no code is without a command", async () => {
  const names = COMMANDS.map((each) => each.name).toSorted();
  for (const name of names) await findHandler(name);
  assertEquals(
    handledCommands().filter((name) => !names.includes(name)),
    [],
  );
});

Deno.test("the version is that of deno.json, and both versions are printed", async () => {
  const { version } = JSON.parse(await Deno.readTextFile(root("deno.json")));
  assertEquals(BUILD_VERSION, version);
  await using place = await makePlace();
  const text = await agentDaemon(["version"], place);
  assertEquals(text.code, 0);
  assertEquals(
    text.stdout,
    `agent-daemon ${version} (wire ${PROTOCOL_VERSION}, ${Deno.build.os}-${Deno.build.arch})\n`,
  );
  const json = await agentDaemon(["version", "--json"], place);
  assertEquals(JSON.parse(json.stdout), {
    name: "agent-daemon",
    version,
    protocol_version: PROTOCOL_VERSION,
    platform: `${Deno.build.os}-${Deno.build.arch}`,
  });
  assertEquals((await agentDaemon(["--version"], place)).stdout, text.stdout);
});

Deno.test("launchers, services and releases get the same permissions", async () => {
  const words = PERMISSIONS.join(" ");
  assert(
    (await Deno.readTextFile(root("install.sh"))).includes(
      `permissions='${words}'`,
    ),
  );
  assert(
    (await Deno.readTextFile(root("install.ps1"))).includes(
      `$Permissions = '${words}'`,
    ),
  );
});

Deno.test("help names every command, option, variable, default and exit code", () => {
  const program = programHelp(80);
  for (const command of COMMANDS) {
    assert(program.includes(command.name), command.name);
    const help = commandHelp(command, 80);
    for (const option of command.options) {
      assert(help.includes(`--${option.name}`), option.name);
      if (option.variable) {
        assert(help.replaceAll(/\s+/g, " ").includes(option.variable));
      }
    }
    for (const line of help.split("\n")) {
      const long = line.length > 100 && !line.startsWith("  agent-daemon");
      assert(!long, line);
    }
    assertMatch(help, /\nExit codes:\n {2}0 /);
  }
});

Deno.test("help comes for each command by flag and by name, with exit code 0", async () => {
  await using place = await makePlace();
  const flag = await agentDaemon(["status", "--help"], place);
  const name = await agentDaemon(["help", "status"], place);
  assertEquals(flag.code, 0);
  assertEquals(flag.stdout, name.stdout);
  const group = await agentDaemon(["help", "service"], place);
  assertMatch(group.stdout, /^agent-daemon service install: /);
});

Deno.test("every setting has a flag and a variable of the same words", () => {
  for (const [, setting] of settingEntries()) {
    if (!setting.variable.startsWith("AGENT_DAEMON_")) continue;
    assertEquals(
      setting.variable,
      `AGENT_DAEMON_${setting.flag.replaceAll("-", "_").toUpperCase()}`,
    );
  }
});

const shells = [
  ["bash", "bash", ["-n"]],
  ["zsh", "zsh", ["-n"]],
  ["fish", "fish", ["-n"]],
] as const;

for (const [shell, program, words] of shells) {
  const there = await hasProgram(program);
  Deno.test({
    name: `${shell} accepts its completion script${
      there ? "" : ` (skipped: ${program} is missing)`
    }`,
    ignore: !there,
    async fn() {
      const path = await Deno.makeTempFile();
      try {
        await Deno.writeTextFile(path, completionScript(shell));
        const { success, stderr } = await new Deno.Command(program, {
          args: [...words, path],
        }).output();
        assert(success, new TextDecoder().decode(stderr));
      } finally {
        await Deno.remove(path);
      }
    },
  });
}

async function hasProgram(program: string): Promise<boolean> {
  try {
    return (await new Deno.Command(program, { args: ["--version"] }).output())
      .success;
  } catch {
    return false; // not installed
  }
}

/** What bash offers after `line`. */
async function offered(line: readonly string[]): Promise<string[]> {
  const script = `${completionScript("bash")}
COMP_WORDS=(agent-daemon ${line.map((word) => `'${word}'`).join(" ")})
COMP_CWORD=${line.length}
_agent_daemon
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await new Deno.Command("bash", {
    args: ["-c", script],
  }).output();
  return new TextDecoder().decode(stdout).split("\n").filter(Boolean);
}

Deno.test({
  name: "completion offers commands, second words, options and values",
  ignore: !await hasProgram("bash"),
  async fn() {
    assertEquals(await offered(["sta"]), ["status"]);
    assertEquals(await offered(["service", "in"]), ["install"]);
    assertEquals(await offered(["status", "--w"]), ["--watch"]);
    assertEquals(await offered(["run", "--permissions", ""]), [
      "unattended",
      "ask",
    ]);
    assertEquals(await offered(["--permissions", "a"]), ["ask"]);
    assertEquals(await offered(["completions", "f"]), ["fish"]);
    assertEquals(await offered(["service", "install", "--prof"]), [
      "--profile",
    ]);
  },
});

Deno.test("each completion script knows every command and option", () => {
  for (const shell of ["bash", "zsh", "fish", "powershell"]) {
    const script = completionScript(shell);
    for (const command of COMMANDS) {
      for (const word of command.name.split(" ")) assert(script.includes(word));
      for (const option of command.options) {
        const flag = shell === "fish"
          ? `-l ${option.name}`
          : `--${option.name}`;
        assert(script.includes(flag), `${shell}: ${flag}`);
      }
    }
  }
});

const groff = await hasProgram("groff");
Deno.test({
  name: `manual pages are accepted without a warning${
    groff ? "" : " (skipped: groff is missing)"
  }`,
  ignore: !groff,
  async fn() {
    const pages = [programPage(), ...COMMANDS.map(commandPage)];
    for (const page of pages) {
      const path = await Deno.makeTempFile();
      await Deno.writeTextFile(path, page);
      const { stderr } = await new Deno.Command("groff", {
        args: ["-man", "-Tutf8", "-ww", "-z", path],
      }).output();
      await Deno.remove(path);
      assertEquals(new TextDecoder().decode(stderr), "");
    }
  },
});

Deno.test("a manual page shows text that begins with a control character", () => {
  for (const command of COMMANDS) {
    for (const line of commandPage(command).split("\n")) {
      assert(!/^'/.test(line), line);
      assert(!/^\.(?!TH|SH|TP|PP|nf|fi)/.test(line), line);
    }
  }
});
