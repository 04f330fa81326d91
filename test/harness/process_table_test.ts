import { assert, assertEquals, assertRejects } from "@std/assert";
import { processTable } from "../../src/harness/process_table.ts";
import { parseStat } from "../../src/harness/process_table_linux.ts";
import { parsePs, psProcesses } from "../../src/harness/process_table_ps.ts";
import {
  parseListing,
  windowsProcesses,
} from "../../src/harness/process_table_windows.ts";

const STAT =
  "77 (a ) (b\n) S 1 70 60 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 2 3";

Deno.test("A process name cannot shift the fields of its stat line", () => {
  assertEquals(parseStat(STAT), {
    pid: 77,
    parentPid: 1,
    group: 70,
    session: 60,
    startTime: 12345,
  });
});

Deno.test("A zombie is not a live process", () => {
  assertEquals(parseStat(STAT.replace(") S", ") Z")), undefined);
  assertEquals(parseStat(STAT.replace(") S", ") X")), undefined);
  assertEquals(parsePs("7 1 7 Z+ Mon Nov 30 08:50:04 2026\n"), []);
});

Deno.test("A stat line that is cut is no process", () => {
  assertEquals(parseStat("77 (name) S 1"), undefined);
  assertEquals(parseStat(""), undefined);
});

Deno.test("A listing of ps gives start times in seconds", () => {
  const text = "    1     0     1 Ss   Mon Nov 30 08:50:04 2026\n" +
    "  501   500   400 S+   Thu Jan  1 00:00:10 1970    \n\nbroken line\n";
  assertEquals(parsePs(text), [
    { pid: 1, parentPid: 0, group: 1, startTime: 1796028604 },
    { pid: 501, parentPid: 500, group: 400, startTime: 10 },
  ]);
});

Deno.test("A listing of Windows gives start times that tell processes apart", () => {
  const text = "0 0 133000000000000000\r\n4 0 133000000000000010\r\n" +
    "88 4 133000000000000020\r\n";
  const entries = parseListing(text);
  assertEquals(entries.map(({ pid }) => pid), [4, 88]);
  assert((entries[1]?.startTime ?? 0) > (entries[0]?.startTime ?? 0));
});

Deno.test("Windows ends a tree with taskkill and survives its failures", async () => {
  const calls: string[] = [];
  const table = windowsProcesses((program, toolArguments) => {
    calls.push([program, ...toolArguments].join(" "));
    return Promise.reject(new Error("code 128"));
  });
  await table.signalGroup(9, "SIGTERM");
  await table.signalGroup(9, "SIGKILL");
  await table.signal(9, "SIGKILL");
  await table.signal(9, "SIGSTOP");
  await table.signalGroup(9, "SIGSTOP");
  assertEquals(calls, [
    "taskkill.exe /T /PID 9",
    "taskkill.exe /T /F /PID 9",
    "taskkill.exe /F /PID 9",
  ]);
  await assertRejects(() => table.list(), Error, "code 128");
});

Deno.test("macOS asks for the boot by its own name", async () => {
  const table = psProcesses((program) => Promise.resolve(`${program}\n`));
  assertEquals(await table.bootId(), "/usr/sbin/sysctl");
});

Deno.test({
  name:
    "The real table shows this process and its parent, and keeps its start time",
  ignore: Deno.build.os === "windows",
  async fn() {
    const table = processTable(Deno.build.os);
    const own = (await table.list()).find(({ pid }) => pid === Deno.pid);
    assertEquals(own?.parentPid, Deno.ppid);
    const again = (await table.list()).find(({ pid }) => pid === Deno.pid);
    assertEquals(again?.startTime, own?.startTime);
    assert((await table.bootId()).length > 8);
    // A signal to a pid that cannot exist is no error.
    await table.signal(2 ** 22 + 1, "SIGTERM");
  },
});
