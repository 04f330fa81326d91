/** What `doctor` says about Harnesses and about what an earlier daemon left. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { processTable } from "../../src/harness/process_table.ts";
import { SpawnRecordFiles } from "../../src/harness/spawn_records.ts";
import { leftProcessesCheck } from "../../src/cli/doctor_processes.ts";
import { agentDaemon, makePlace, type Place } from "./command_line.ts";

/** `doctor --offline` with a program that calls itself Codex and Claude Code off. */
async function doctor(place: Place, program: string): Promise<string> {
  const { code, stdout, stderr } = await agentDaemon(
    ["doctor", "--offline", "--claude-bin", "off", "--codex-bin", program],
    place,
  );
  assertEquals(code, 2, stderr); // there is no token
  return stdout;
}

Deno.test("doctor says that a Harness's protocol cannot be compared, and that it has no login", async () => {
  await using place = await makePlace();
  const program = await place.write(
    "codex",
    '#!/bin/sh\n[ "$1" = --version ] && echo codex-cli 0.171.0 && exit\nexit 1\n',
    0o755,
  );
  const without = await doctor(place, program);
  assertMatch(
    without,
    /\nwarn {2}schema of codex: 0\.171\.0 did not write .* → install a tested version/,
  );
  assertMatch(without, /\nskip {2}login of codex: none on this account; /);
  await Deno.mkdir(join(place.environment.HOME ?? "", ".codex"));
  await place.write("home/.codex/auth.json", "canary-login");
  const present = await doctor(place, program);
  assertMatch(present, /\nok {4}login of codex: present on this account; /);
  assert(!present.includes("canary"));
});

Deno.test("doctor names what an earlier daemon left alive, and nothing of another boot or pid", async () => {
  await using place = await makePlace();
  const processes = processTable(Deno.build.os);
  const bootId = await processes.bootId();
  const child = new Deno.Command("sleep", { args: ["60"] }).spawn();
  try {
    const entries = await processes.list();
    const identity = (pid: number) => {
      const entry = entries.find((each) => each.pid === pid);
      assert(entry);
      return { pid, startTime: entry.startTime };
    };
    const records = new SpawnRecordFiles(
      join(place.directory, "state/processes"),
    );
    const members = [identity(child.pid)];
    const gone = { pid: 2 ** 22 + 1, startTime: 1 };
    await records.spawned({ leader: gone, bootId, name: "engine", members });
    const own = identity(Deno.pid);
    await records.spawned({
      leader: own,
      bootId: "earlier",
      name: "of another boot",
      members: [],
    });
    const reused = { ...identity(Deno.ppid), startTime: 1 };
    await records.spawned({
      leader: reused,
      bootId,
      name: "of another pid",
      members: [],
    });
    const text = await doctor(place, join(place.directory, "none"));
    assertMatch(
      text,
      new RegExp(
        `\nwarn {2}left processes: of an earlier daemon live: engine \\(process ${child.pid}\\) → start the daemon`,
      ),
    );
    // It only looked.
    assertEquals((await records.all()).length, 3);
    Deno.kill(child.pid, "SIGCONT"); // throws if it is gone
    const owned = await leftProcessesCheck(
      join(place.directory, "state"),
      true,
      processes,
    );
    assertEquals(owned.result, "ok");
  } finally {
    child.kill("SIGKILL");
    await child.status;
  }
});

Deno.test("doctor finds no left process where none was recorded", async () => {
  await using place = await makePlace();
  const check = await leftProcessesCheck(
    join(place.directory, "state"),
    false,
    processTable(Deno.build.os),
  );
  assertEquals(check.found, "none of an earlier daemon");
});
