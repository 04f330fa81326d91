/**
 * Definitions against golden text. `GOLDEN=write deno test -A test/service/render_test.ts` writes
 * the files anew; the difference is then read by a person.
 */
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { codesWithoutRestart } from "../../src/cli/exit_codes.ts";
import { renderLaunchdPlist } from "../../src/service/launchd_plist.ts";
import type { ServicePlan } from "../../src/service/plan.ts";
import { renderSystemdUnit } from "../../src/service/systemd_unit.ts";
import {
  quoteWindowsWord,
  renderWindowsTask,
} from "../../src/service/windows_task.ts";
import { systemPlan, userPlan } from "./plans.ts";

const golden = fromFileUrl(new URL("./golden", import.meta.url));
const compatible: ServicePlan = { ...systemPlan, profile: "compatible" };
const old: ServicePlan = { ...compatible, credentials: false };
const windowsPlan: ServicePlan = {
  ...userPlan,
  program: ["C:\\Program Files\\agent-daemon\\agent-daemon.exe"],
  configPath: "C:\\Users\\dev\\AppData\\Roaming\\agent-daemon\\config.json",
  stateDirectory: "C:\\Users\\dev\\AppData\\Local\\agent-daemon",
  tokenFile: "C:\\Users\\dev\\AppData\\Roaming\\agent-daemon\\token",
  workspace: 'C:\\work "a"\\',
};

const definitions: readonly (readonly [string, string])[] = [
  ["systemd-system-strict.service", renderSystemdUnit(systemPlan)],
  ["systemd-system-compatible.service", renderSystemdUnit(compatible)],
  ["systemd-system-old.service", renderSystemdUnit(old)],
  ["systemd-user.service", renderSystemdUnit(userPlan)],
  [
    "launchd-daemon.plist",
    renderLaunchdPlist({ ...systemPlan, logDirectory: "/Library/Logs/x" }),
  ],
  ["launchd-agent.plist", renderLaunchdPlist(userPlan)],
  ["windows-logon.xml", renderWindowsTask(windowsPlan)],
  [
    "windows-startup.xml",
    renderWindowsTask({ ...windowsPlan, scope: "system" }),
  ],
];

for (const [name, text] of definitions) {
  Deno.test(`golden definition: ${name}`, async () => {
    // The suffix keeps formatters away.
    const path = join(golden, `${name}.golden`);
    const plain = text.replaceAll("\r\n", "\n");
    if (Deno.env.get("GOLDEN") === "write") {
      await Deno.writeTextFile(path, plain);
    }
    assertEquals(plain, await Deno.readTextFile(path));
  });
}

Deno.test("a unit does not restart after the codes that a restart cannot mend", () => {
  assertEquals(systemPlan.finalExitCodes, codesWithoutRestart());
  assert(
    renderSystemdUnit(systemPlan).includes(
      "\nRestartPreventExitStatus=64 73 76 77 78\n",
    ),
  );
});

Deno.test("the stop timeout is above the settlement budget, and the group is killed last", () => {
  const unit = renderSystemdUnit(systemPlan);
  assert(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]) > 90);
  assert(unit.includes("\nKillMode=mixed\n"));
});

Deno.test("directives that break Harnesses stay out of every profile", () => {
  for (const plan of [systemPlan, compatible, userPlan]) {
    const unit = renderSystemdUnit(plan);
    for (
      const directive of [
        "MemoryDenyWriteExecute",
        "RestrictNamespaces",
        "ProtectProc",
        "ProcSubset",
        "ProtectHome",
        "PrivateUsers",
        "PrivateNetwork",
      ]
    ) assert(!unit.includes(`${directive}=`), directive);
    assert(!/SystemCallFilter=[^~]/.test(unit));
  }
});

Deno.test("managers that cannot exclude exit codes park a refused daemon", () => {
  for (
    const text of [renderLaunchdPlist(userPlan), renderWindowsTask(windowsPlan)]
  ) assert(/--on-permanent-error/.test(text) && /park/.test(text));
  assert(!renderSystemdUnit(systemPlan).includes("--on-permanent-error"));
});

Deno.test("a Windows word comes back as it went in", () => {
  assertEquals(quoteWindowsWord("plain"), "plain");
  assertEquals(quoteWindowsWord(""), '""');
  assertEquals(quoteWindowsWord("a b"), '"a b"');
  assertEquals(quoteWindowsWord('a"b'), '"a\\"b"');
  assertEquals(quoteWindowsWord("a b\\"), '"a b\\\\"');
  assertEquals(quoteWindowsWord('a\\"b'), '"a\\\\\\"b"');
  assertEquals(quoteWindowsWord("a\\b c"), '"a\\b c"');
});

const analyze = await hasProgram("systemd-analyze");

async function hasProgram(program: string): Promise<boolean> {
  try {
    return (await new Deno.Command(program, { args: ["--version"] }).output())
      .success;
  } catch {
    return false; // not installed
  }
}

for (
  const [name, plan] of [["strict", systemPlan], ["compatible", compatible], [
    "user",
    userPlan,
  ]] as const
) {
  Deno.test({
    name: `systemd-analyze verify accepts the ${name} unit${
      analyze ? "" : " (skipped: systemd-analyze is missing)"
    }`,
    ignore: !analyze,
    async fn() {
      const directory = await Deno.makeTempDir();
      try {
        const path = join(directory, "agent-daemon.service");
        // A program that exists here: its absence is not what is judged.
        await Deno.writeTextFile(
          path,
          renderSystemdUnit({ ...plan, program: ["/bin/true"] })
            .replaceAll(/^(User|Group)=.*$/gm, "$1=root"),
        );
        const { stderr, success } = await new Deno.Command("systemd-analyze", {
          args: ["verify", "--man=no", path],
          env: { SYSTEMD_LOG_LEVEL: "warning" },
        }).output();
        const text = new TextDecoder().decode(stderr);
        const ours = text.split("\n").filter((line) =>
          line.includes("agent-daemon.service")
        );
        assertEquals(ours, []);
        assert(success, text);
      } finally {
        await Deno.remove(directory, { recursive: true });
      }
    },
  });
}

Deno.test({
  name: `the strict unit has an exposure of at most 4${
    analyze ? "" : " (skipped: systemd-analyze is missing)"
  }`,
  ignore: !analyze,
  async fn() {
    const directory = await Deno.makeTempDir();
    try {
      const path = join(directory, "agent-daemon.service");
      await Deno.writeTextFile(path, renderSystemdUnit(systemPlan));
      const { stdout, stderr } = await new Deno.Command("systemd-analyze", {
        args: ["security", "--offline=true", path],
      }).output();
      const text = new TextDecoder().decode(stdout);
      const exposure = /Overall exposure level .*: ([\d.]+)/.exec(text)?.[1];
      assert(
        exposure !== undefined && Number(exposure) <= 4,
        `exposure ${exposure} ${new TextDecoder().decode(stderr)}`,
      );
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
});
