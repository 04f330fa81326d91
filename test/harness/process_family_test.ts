import { assertEquals } from "@std/assert";
import { ProcessFamily } from "../../src/harness/process_family.ts";
import { entry, ProcessDouble } from "./process_double.ts";

const LEADER = { pid: 100, startTime: 50 };

function familyOn(table: ProcessDouble): ProcessFamily {
  return new ProcessFamily(table, [LEADER], LEADER);
}

async function pids(family: ProcessFamily): Promise<number[]> {
  return (await family.collect()).map(({ pid }) => pid).sort((a, b) => a - b);
}

Deno.test("Descendants belong to the family at any depth, in any group or session, strangers do not", async () => {
  const table = new ProcessDouble();
  table.entries = [
    entry(300, 200, 300, 300, 70),
    entry(200, 100, 200, 200, 60),
    entry(100, 1, 100, 100, 50),
    entry(101, 100, 100, 100, 51),
    entry(1, 0, 1, 1, 0),
    entry(400, 1, 400, 400, 65),
  ];
  assertEquals(await pids(familyOn(table)), [100, 101, 200, 300]);
});

Deno.test("What left the parent chain is still known by its group, or by a session a member opened", async () => {
  const table = new ProcessDouble();
  const family = familyOn(table);
  table.entries = [
    entry(100, 1, 100, 100, 50),
    entry(200, 100, 200, 200, 60),
    entry(201, 200, 200, 200, 61),
  ];
  await family.collect();
  table.entries = [
    entry(102, 1, 100, 100, 55),
    entry(202, 1, 202, 200, 62),
  ];
  table.entries.push(entry(201, 1, 200, 200, 61));
  assertEquals(await pids(family), [102, 201, 202]);
});

Deno.test("A pid that came back is a stranger, and so are its children and its group", async () => {
  const table = new ProcessDouble();
  const family = familyOn(table);
  table.entries = [
    entry(100, 1, 100, 100, 50),
    entry(200, 100, 200, 200, 60),
  ];
  await family.collect();
  table.entries = [
    entry(100, 1, 100, 100, 90),
    entry(110, 100, 100, 100, 91),
    entry(200, 1, 200, 200, 92),
    entry(210, 200, 200, 200, 93),
  ];
  assertEquals(await pids(family), []);
  await family.terminateGroup(100);
  await family.kill(100);
  assertEquals(table.signals, []);
});

Deno.test("A group that was seen empty is never taken as ours again", async () => {
  const table = new ProcessDouble();
  const family = familyOn(table);
  table.entries = [];
  assertEquals(await pids(family), []);
  // The number came back, its leader died, a member of the stranger's group remains.
  table.entries = [entry(120, 1, 100, 100, 95)];
  assertEquals(await pids(family), []);
  await family.kill(100);
  assertEquals(table.signals, []);
});

Deno.test("A process older than its parent by number is a stranger", async () => {
  const table = new ProcessDouble();
  // A system that keeps the pid of a dead parent: 40's parent had the number 100 before.
  table.entries = [
    entry(100, 1, 100, 100, 50),
    entry(40, 100, 40, 40, 20),
  ];
  assertEquals(await pids(familyOn(table)), [100]);
});

Deno.test("A kill meets the group first and then each member outside of it", async () => {
  const table = new ProcessDouble();
  table.entries = [
    entry(100, 1, 100, 100, 50),
    entry(200, 100, 200, 200, 60),
  ];
  await familyOn(table).kill(100);
  assertEquals(table.signals, [
    "SIGSTOP 100",
    "SIGSTOP 200",
    "SIGKILL -100",
    "SIGKILL 100",
    "SIGKILL 200",
  ]);
});

Deno.test("What a member starts at the last moment, in a session of its own, is killed too", async () => {
  const table = new ProcessDouble();
  table.entries = [entry(100, 1, 100, 100, 50)];
  let frozen = false;
  let started = false;
  const look = table.list.bind(table);
  table.list = async () => {
    const entries = [...await look()];
    // Right after the look that does not show it yet.
    if (!frozen && !started) {
      table.entries.push(entry(300, 100, 300, 300, 70));
      started = true;
    }
    return entries;
  };
  table.onSignal = (target, signal) => {
    frozen ||= signal === "SIGSTOP";
    if (signal === "SIGKILL") {
      table.entries = table.entries.filter(({ pid, group }) =>
        target < 0 ? group !== -target : pid !== target
      ).map((left) =>
        left.parentPid === 100 ? { ...left, parentPid: 1 } : left
      );
    }
  };
  await familyOn(table).kill(100);
  assertEquals(table.entries, []);
});

Deno.test("SIGTERM goes to the group only: a command in its own session belongs to its engine", async () => {
  const table = new ProcessDouble();
  table.entries = [
    entry(100, 1, 100, 100, 50),
    entry(200, 100, 200, 200, 60),
  ];
  await familyOn(table).terminateGroup(100);
  assertEquals(table.signals, ["SIGTERM -100"]);
});

Deno.test("Members from an earlier life are found without their leader", async () => {
  const table = new ProcessDouble();
  table.entries = [entry(200, 1, 200, 200, 60), entry(201, 200, 200, 200, 61)];
  const family = new ProcessFamily(table, [
    LEADER,
    { pid: 200, startTime: 60 },
  ]);
  assertEquals(await pids(family), [200, 201]);
  assertEquals(family.known.length, 3);
});
