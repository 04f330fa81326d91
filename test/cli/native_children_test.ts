/** What a forced stop knows of the native processes. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { watchChildren } from "../../src/cli/native_children.ts";
import type { Child, CloseGrace } from "../../src/harness/child.ts";
import { spawnChild } from "../../src/harness/supervised_child.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { RecordingLog } from "../support/recording_log.ts";
import { lives, QUICK_GRACE } from "../harness/harness_fixture.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

function launcher(closeGrace: CloseGrace = QUICK_GRACE) {
  return {
    program: "/bin/sh",
    arguments: [
      "-c",
      "trap '' TERM; sleep 1000 </dev/null >/dev/null 2>&1 & " +
      `printf '{"pid":%d}\\n' $!`,
    ],
    workingDirectory: "/",
    environment: { PATH: "/usr/bin:/bin" },
    name: "launcher",
    clock: systemClock,
    log: new RecordingLog(),
    closeGrace,
    maximumLineBytes: 1024,
  };
}

/** The pid that a launcher told before it ended. */
async function leftBy(child: Child): Promise<number> {
  let left: number | undefined;
  for await (const message of child.messages) {
    left = (message as { pid: number }).pid;
  }
  await child.exited;
  assert(left !== undefined && await lives(left));
  return left;
}

Deno.test("a program that ended is named until nothing it started lives", async () => {
  const children = watchChildren(spawnChild);
  const child = await children.spawn(launcher());
  try {
    const left = await leftBy(child);
    assertEquals(children.names(), [`launcher (pid ${child.pid})`]);
    await child.close();
    assert(!await lives(left));
    assertEquals(children.names(), []);
  } finally {
    await child.close();
  }
});

Deno.test("a forced stop kills what a program left behind", async () => {
  const children = watchChildren(spawnChild);
  const child = await children.spawn(launcher());
  try {
    const left = await leftBy(child);
    assertEquals(await children.killAll(systemClock), []);
    assert(!await lives(left));
    assertEquals(children.names(), []);
  } finally {
    await child.close();
  }
});

Deno.test("a close that fails or does not come in 5 s leaves its name, and only its own", async () => {
  const clock = new VirtualClock();
  const closes = Promise.withResolvers<void>();
  const killed: string[] = [];
  const children = watchChildren((options) =>
    Promise.resolve({
      pid: 7,
      messages: (async function* () {})(),
      exited: Promise.resolve({ code: 0, signal: null }),
      write: () => Promise.resolve(),
      stderrTail: () => "",
      kill: () => void killed.push(options.name),
      close: () => {
        if (options.name === "gone") return Promise.resolve();
        if (options.name === "held") return closes.promise;
        return Promise.reject(new Error("unconfirmed"));
      },
    })
  );
  for (const name of ["gone", "held", "unconfirmed"]) {
    await children.spawn({ ...launcher(), name });
  }
  const stopping = children.killAll(clock);
  await clock.advance(4_999);
  assertEquals(clock.pendingTimers, 1);
  await clock.advance(1);
  assertEquals(await stopping, ["held (pid 7)", "unconfirmed (pid 7)"]);
  assertEquals(killed, ["gone", "held", "unconfirmed"]);
  closes.resolve();
  await closes.promise;
  assertMatch(children.names().join(), /unconfirmed/);
});
