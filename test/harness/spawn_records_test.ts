import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import {
  type SpawnRecord,
  SpawnRecordFiles,
} from "../../src/harness/spawn_records.ts";
import { sweepOrphans } from "../../src/harness/orphan_sweep.ts";
import { processTable } from "../../src/harness/process_table.ts";
import { supervisedSpawn } from "../../src/harness/supervised_child.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { silentLog } from "../../src/platform/log.ts";
import { RecordingLog } from "../support/recording_log.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { processesOf, QUICK_GRACE } from "./harness_fixture.ts";
import { entry, ProcessDouble } from "./process_double.ts";

const RECORD: SpawnRecord = {
  leader: { pid: 100, startTime: 50 },
  bootId: "boot-1",
  name: "codex app-server",
  members: [],
};

async function withRecords(
  body: (records: SpawnRecordFiles, directory: string) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await body(
      new SpawnRecordFiles(join(directory, "processes")),
      join(directory, "processes"),
    );
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** A machine on which SIGKILL works. */
function machine(...entries: ReturnType<typeof entry>[]): ProcessDouble {
  const table = new ProcessDouble();
  table.entries = entries;
  table.onSignal = (target, signal) => {
    if (signal !== "SIGKILL") return;
    table.entries = table.entries.filter(({ pid, group }) =>
      target < 0 ? group !== -target : pid !== target
    );
  };
  return table;
}

function sweep(records: SpawnRecordFiles, processes: ProcessDouble) {
  return sweepOrphans({
    records,
    processes,
    clock: systemClock,
    log: silentLog,
  });
}

Deno.test("A record is private, whole, and gone when its process is", () =>
  withRecords(async (records, directory) => {
    assertEquals(await records.all(), []);
    await records.spawned(RECORD);
    assertEquals(await records.all(), [RECORD]);
    const members = [{ pid: 101, startTime: 51 }];
    await records.membersSeen(100, members);
    await records.membersSeen(999, members);
    assertEquals(await records.all(), [{ ...RECORD, members }]);
    if (Deno.build.os !== "windows") {
      const file = await Deno.stat(join(directory, "100.json"));
      assertEquals((file.mode ?? 0) & 0o777, 0o600);
      assertEquals(((await Deno.stat(directory)).mode ?? 0) & 0o777, 0o700);
    }
    assertEquals([...Deno.readDirSync(directory)].length, 1);
    await records.gone(100);
    await records.gone(100);
    assertEquals(await records.all(), []);
  }));

Deno.test("A file that is no record is left out, whatever it holds", () =>
  withRecords(async (records, directory) => {
    await records.spawned(RECORD);
    const broken: Record<string, string> = {
      "7.json": "{cut",
      "8.json": "{}",
      "9.json": JSON.stringify({ ...RECORD, leader: { pid: 1, startTime: 0 } }),
      "10.json": JSON.stringify({
        ...RECORD,
        leader: { pid: -5, startTime: 0 },
      }),
      "11.json": JSON.stringify({ ...RECORD, members: [{ pid: "x" }] }),
      "12.json": JSON.stringify({ ...RECORD, bootId: 1 }),
      "13.json": "x".repeat(300_000),
      "14.json.new": JSON.stringify(RECORD),
      "note.txt": "hello",
    };
    for (const [name, text] of Object.entries(broken)) {
      await Deno.writeTextFile(join(directory, name), text);
    }
    assertEquals(await records.all(), [RECORD]);
  }));

Deno.test("A record that cannot be written is an error", () =>
  withRecords(async (records, directory) => {
    await Deno.writeTextFile(directory, "a file in the way");
    await assertRejects(() => records.spawned(RECORD));
  }));

Deno.test("A sweep ends an orphan with its descendants and forgets it", () =>
  withRecords(async (records) => {
    await records.spawned(RECORD);
    const table = machine(
      entry(100, 1, 100, 100, 50),
      entry(200, 100, 200, 200, 60),
      entry(300, 1, 300, 300, 55),
    );
    assertEquals(await sweep(records, table), {
      ended: ["codex app-server"],
      gone: 0,
      unconfirmed: [],
    });
    assertEquals(table.entries.map(({ pid }) => pid), [300]);
    assertEquals(await records.all(), []);
  }));

Deno.test("A sweep never signals a process that got the pid of a recorded one", () =>
  withRecords(async (records) => {
    await records.spawned({
      ...RECORD,
      members: [{ pid: 101, startTime: 51 }],
    });
    const table = machine(
      entry(100, 1, 100, 100, 70),
      entry(101, 100, 100, 100, 71),
      entry(102, 1, 100, 100, 72),
    );
    assertEquals((await sweep(records, table)).gone, 1);
    assertEquals(table.signals, []);
    assertEquals(await records.all(), []);
  }));

Deno.test("A sweep takes no group as its own by number alone", () =>
  withRecords(async (records) => {
    await records.spawned(RECORD);
    const table = machine(entry(130, 1, 100, 100, 80));
    assertEquals((await sweep(records, table)).gone, 1);
    assertEquals(table.signals, []);
  }));

Deno.test("A sweep knows that another boot ended everything", () =>
  withRecords(async (records) => {
    await records.spawned(RECORD);
    const table = machine(entry(100, 1, 100, 100, 50));
    table.boot = "boot-2";
    assertEquals((await sweep(records, table)).gone, 1);
    assertEquals(table.signals, []);
    assertEquals(await records.all(), []);
  }));

Deno.test("A sweep ends recorded members that outlived their leader", () =>
  withRecords(async (records) => {
    await records.spawned({
      ...RECORD,
      members: [{ pid: 200, startTime: 60 }],
    });
    const table = machine(
      entry(200, 1, 200, 200, 60),
      entry(201, 200, 200, 200, 61),
    );
    assertEquals((await sweep(records, table)).ended.length, 1);
    assertEquals(table.entries, []);
  }));

Deno.test("A sweep keeps the record of what SIGKILL did not end, and says so", () =>
  withRecords(async (records) => {
    await records.spawned(RECORD);
    const table = new ProcessDouble();
    table.entries = [entry(100, 1, 100, 100, 50)];
    const clock = new VirtualClock();
    const log = new RecordingLog();
    const sweeping = sweepOrphans({ records, processes: table, clock, log });
    let settled = false;
    sweeping.finally(() => settled = true);
    while (!settled) await clock.advance(250);
    assertEquals(await sweeping, { ended: [], gone: 0, unconfirmed: [100] });
    assertEquals((await records.all()).length, 1);
    assertEquals(clock.pendingTimers, 0);
    assert(log.events.some(({ event }) => event === "orphans.swept"));
  }));

Deno.test({
  name:
    "A real process that outlived its daemon is found and ended by the next one",
  ignore: Deno.build.os === "windows",
  fn: () =>
    withRecords(async (records) => {
      const processes = processTable(Deno.build.os);
      const child = await supervisedSpawn({ processes, records })({
        program: "/bin/sh",
        arguments: ["-c", "setsid sleep 1000 & sleep 1000 & wait"],
        workingDirectory: "/",
        environment: { PATH: "/usr/bin:/bin" },
        name: "left behind",
        clock: systemClock,
        log: silentLog,
        closeGrace: QUICK_GRACE,
        maximumLineBytes: 1024,
      });
      assertEquals((await records.all()).length, 1);
      const result = await sweepOrphans({
        records,
        processes,
        clock: systemClock,
        log: silentLog,
      });
      assertEquals(result, {
        ended: ["left behind"],
        gone: 0,
        unconfirmed: [],
      });
      assertEquals(await processesOf(child.pid), []);
      assertEquals((await child.exited).signal, "SIGKILL");
      await child.close();
    }),
});
