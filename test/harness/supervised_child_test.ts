import {
  assert,
  assertEquals,
  assertGreater,
  assertLess,
  assertRejects,
} from "@std/assert";
import {
  type Child,
  type ChildOptions,
  CloseUnconfirmed,
  WriteNotStarted,
} from "../../src/harness/child.ts";
import { BrokenStream } from "../../src/harness/json_lines.ts";
import { processTable } from "../../src/harness/process_table.ts";
import {
  noSpawnRecords,
  type SpawnRecord,
} from "../../src/harness/spawn_records.ts";
import {
  spawnChild,
  supervisedSpawn,
} from "../../src/harness/supervised_child.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { RecordingLog } from "../support/recording_log.ts";
import { settleEvents, VirtualClock } from "../support/virtual_clock.ts";
import {
  graceFor,
  lives,
  processesOf,
  QUICK_GRACE,
} from "./harness_fixture.ts";

function shell(
  script: string,
  changes: Partial<ChildOptions> = {},
): ChildOptions {
  return {
    program: "/bin/sh",
    arguments: ["-c", script],
    workingDirectory: "/",
    environment: { PATH: "/usr/bin:/bin" },
    name: "test program",
    clock: systemClock,
    log: new RecordingLog(),
    closeGrace: QUICK_GRACE,
    maximumLineBytes: 1024 * 1024,
    ...changes,
  };
}

/** Runs `body` with a child, closes it, and fails when a process of it is left. */
async function withChild(
  options: ChildOptions,
  body: (child: Child) => Promise<void>,
): Promise<void> {
  const child = await spawnChild(options);
  try {
    await body(child);
  } finally {
    await child.close();
  }
  assertEquals(await processesOf(child.pid), []);
}

async function next(messages: AsyncIterator<unknown>): Promise<unknown> {
  const { value, done } = await messages.next();
  assert(!done, "the messages ended");
  return value;
}

function iterate(child: Child): AsyncIterator<unknown> {
  return child.messages[Symbol.asyncIterator]();
}

async function all(child: Child): Promise<unknown[]> {
  const messages: unknown[] = [];
  for await (const message of child.messages) messages.push(message);
  return messages;
}

async function timed(work: Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work;
  return performance.now() - start;
}

Deno.test("A child has the given environment and directory, and nothing of the daemon", () =>
  withChild(
    shell(
      `printf '{"env":"%s"}\\n{"cwd":"%s"}\\n' "$(env | sort | tr '\\n' ' ')" "$(pwd)"`,
      {
        environment: { PATH: "/usr/bin:/bin", ONLY: "this" },
        workingDirectory: "/usr",
      },
    ),
    async (child) => {
      const [env, cwd] = await all(child) as [{ env: string }, unknown];
      assertEquals(cwd, { cwd: "/usr" });
      // The shell adds two or three of its own.
      const names = env.env.trim().split(" ").map((pair) => pair.split("=")[0]);
      assertEquals(
        names.filter((name) =>
          !["PWD", "_", "SHLVL", "OLDPWD"].includes(name ?? "")
        ),
        ["ONLY", "PATH"],
      );
    },
  ));

Deno.test("A program that cannot be started leaves nothing and names no argument", async () => {
  for (
    const changes of [
      { program: "/nowhere/program" },
      { workingDirectory: "/nowhere" },
      { program: "/etc/passwd" },
    ]
  ) {
    const options = shell("argument-canary", changes);
    const error = await assertRejects(() => spawnChild(options), Error);
    assert(!String(error).includes("argument-canary"));
  }
});

Deno.test("Lines go in and messages come out in order", () =>
  withChild(shell("cat"), async (child) => {
    const messages = iterate(child);
    const writes = Array.from(
      { length: 50 },
      (_, n) => child.write({ n, text: "ü\u2028" }),
    );
    for (let n = 0; n < 50; n++) {
      assertEquals(await next(messages), { n, text: "ü\u2028" });
    }
    await Promise.all(writes);
  }));

Deno.test("A program that ends at the end of its input is asked for nothing else", () =>
  withChild(
    shell("cat >/dev/null; exit 7", { closeGrace: graceFor(null) }),
    async (child) => {
      await child.close();
      assertEquals(await child.exited, { code: 7, signal: null });
      assertEquals(await all(child), []);
    },
  ));

Deno.test("A program that only SIGTERM ends gets it after the grace of its input", () =>
  withChild(
    shell("cat >/dev/null; exec sleep 1000", {
      closeGrace: graceFor("SIGTERM"),
    }),
    async (child) => {
      const time = await timed(child.close());
      assertEquals(await child.exited, { code: null, signal: "SIGTERM" });
      assertGreater(time, QUICK_GRACE.afterEndOfInput - 1);
    },
  ));

Deno.test("A program deaf to SIGTERM is killed after both graces", () =>
  withChild(
    shell(
      `trap '' TERM; echo '{"ready":1}'; cat >/dev/null; while :; do sleep 1000; done`,
    ),
    async (child) => {
      await next(iterate(child));
      const time = await timed(child.close());
      assertEquals(await child.exited, { code: null, signal: "SIGKILL" });
      const graces = QUICK_GRACE.afterEndOfInput + QUICK_GRACE.afterTerminate;
      assertGreater(time, graces - 1);
      assertLess(time, graces + QUICK_GRACE.afterKill);
    },
  ));

Deno.test("A program that spins after the end of its input dies within the close budget", () =>
  withChild(
    shell(
      `trap '' TERM; echo '{"ready":1}'; cat >/dev/null; while :; do :; done`,
    ),
    async (child) => {
      await next(iterate(child));
      const time = await timed(child.close());
      assertLess(
        time,
        QUICK_GRACE.afterEndOfInput + QUICK_GRACE.afterTerminate +
          QUICK_GRACE.afterKill,
      );
    },
  ));

Deno.test("Everything that descends from a program that spins and is deaf is gone with it", () =>
  withChild(
    shell(
      `trap '' TERM
       setsid sh -c 'trap "" TERM; sleep 1000 & one=$!; setsid sleep 1000 &
         echo "{\\"pids\\":[$$,$one,$!]}"; wait' &
       sleep 1000 & echo '{"pids":['$!']}'; cat >/dev/null; while :; do :; done`,
    ),
    async (child) => {
      const messages = iterate(child);
      const pids = [await next(messages), await next(messages)].flatMap(
        (message) => (message as { pids: number[] }).pids,
      );
      assertEquals(pids.length, 4);
      for (const pid of pids) assert(await lives(pid));
      await child.close();
      for (const pid of pids) assert(!await lives(pid), String(pid));
    },
  ));

Deno.test("When only the leader dies, its group is ended before the close is confirmed", () =>
  withChild(
    shell(`sleep 1000 & echo '{"pid":'$!'}'; wait`),
    async (child) => {
      const { pid } = await next(iterate(child)) as { pid: number };
      Deno.kill(child.pid, "SIGKILL");
      await child.exited;
      assert(await lives(pid));
      await child.close();
      assert(!await lives(pid));
    },
  ));

Deno.test("A command in its own session ends with the program that started it", () =>
  withChild(
    shell(
      `setsid sh -c 'echo "{\\"pid\\":$$}"; trap "" TERM; sleep 1000 & wait' & cat >/dev/null; exec sleep 1000`,
    ),
    async (child) => {
      const { pid } = await next(iterate(child)) as { pid: number };
      assertGreater((await processesOf(pid)).length, 0);
      await child.close();
      assertEquals(await processesOf(pid), []);
    },
  ));

Deno.test("What a program left in its own session keeps both graces and is then ended", () =>
  withChild(
    shell(`setsid sleep 1000 & echo '{"pid":'$!'}'; cat >/dev/null`),
    async (child) => {
      const { pid } = await next(iterate(child)) as { pid: number };
      const time = await timed(child.close());
      // The leader ended at once; what it left keeps the rest of both graces.
      const graces = QUICK_GRACE.afterEndOfInput + QUICK_GRACE.afterTerminate;
      assertGreater(time, graces - 1);
      assert(!await lives(pid));
    },
  ));

Deno.test("A kill reaches the program, its group and its sessions without waiting", () =>
  withChild(
    shell(`sleep 1000 & setsid sleep 1000 & echo '{"pid":'$!'}'; wait`),
    async (child) => {
      const { pid } = await next(iterate(child)) as { pid: number };
      child.kill();
      assertEquals(await child.exited, { code: null, signal: "SIGKILL" });
      await child.close();
      assert(!await lives(pid));
    },
  ));

Deno.test("Ten MB of stderr stall nothing, and secrets in it do not show", () =>
  withChild(
    shell(
      `yes 'token canary-4711-secret' | head -c 10485760 >&2; echo '{"done":1}'`,
      { secrets: ["canary-4711-secret"] },
    ),
    async (child) => {
      assertEquals(await all(child), [{ done: 1 }]);
      await child.close();
      const tail = child.stderrTail();
      assertGreater(tail.length, 8 * 1024 - 10);
      assert(tail.includes("[hidden]"));
      assert(!tail.includes("4711"));
    },
  ));

Deno.test("A program and its owner may both write four MiB before they read", () =>
  withChild(
    shell(
      `head -c 4194304 /dev/zero | tr '\\0' 'x' | sed 's/^/{"big":"/;s/$/"}/'; echo; head -c 4194307 >/dev/null; echo '{"read":1}'`,
      { maximumLineBytes: 8 * 1024 * 1024 },
    ),
    async (child) => {
      const writing = child.write("y".repeat(4 * 1024 * 1024));
      const messages = iterate(child);
      const big = await next(messages) as { big: string };
      assertEquals(big.big.length, 4 * 1024 * 1024);
      await writing;
      assertEquals(await next(messages), { read: 1 });
    },
  ));

Deno.test("A program that closes its stdin fails one write, and nothing goes unhandled", () =>
  withChild(
    shell(`exec 0<&-; echo '{"closed":1}'; exec sleep 1000`),
    async (child) => {
      await next(iterate(child));
      const error = await assertRejects(() => child.write("first"), Error);
      assert(!(error instanceof WriteNotStarted));
      await assertRejects(() => child.write("second"), WriteNotStarted);
    },
  ));

Deno.test("A write that a program never reads is bounded by its caller and stays unknown", () =>
  withChild(shell("exec sleep 1000"), async (child) => {
    const deadline = new AbortController();
    const writing = child.write("x".repeat(1024 * 1024), deadline.signal);
    const waiting = child.write("waiting", deadline.signal);
    await settleEvents();
    deadline.abort(new Error("too slow"));
    await assertRejects(() => waiting, WriteNotStarted);
    const error = await assertRejects(() => writing, Error);
    assert(!(error instanceof WriteNotStarted));
    await assertRejects(() => child.write("later"), WriteNotStarted);
  }));

Deno.test("A broken stream is thrown to its reader, and the rest cannot block the program", () =>
  withChild(
    shell(`echo '{"a":1}'; echo '{broken'; head -c 1048576 /dev/zero; exit 5`),
    async (child) => {
      await assertRejects(() => all(child), BrokenStream);
      assertEquals(await child.exited, { code: 5, signal: null });
    },
  ));

Deno.test("A reader that leaves does not block the program", () =>
  withChild(
    shell(`echo '{"a":1}'; head -c 1048576 /dev/zero; exit 6`),
    async (child) => {
      for await (const _ of child.messages) break;
      assertEquals(await child.exited, { code: 6, signal: null });
    },
  ));

Deno.test("Output that nobody reads does not keep a program from ending", () =>
  withChild(
    shell(`head -c 1048576 /dev/zero; exit 8`, { closeGrace: graceFor(null) }),
    async (child) => {
      await child.close();
      assertEquals((await child.exited).code, 8);
    },
  ));

Deno.test("Messages end a second after the exit when another process holds the pipe in silence", async () => {
  const clock = new VirtualClock();
  const log = new RecordingLog();
  const child = await spawnChild(
    shell(`setsid sleep 1000 & echo '{"pid":'$!'}'; exit 0`, { clock, log }),
  );
  const messages = iterate(child);
  const { pid } = await next(messages) as { pid: number };
  const end = messages.next();
  await child.exited;
  await clock.advance(1_000);
  assertEquals(await end, { value: undefined, done: true });
  assert(log.events.some(({ event }) => event === "child.stdout.held"));
  // It left the family before anyone looked: out of reach, and the test's own to end.
  Deno.kill(pid, "SIGKILL");
  const closing = child.close();
  await clock.advance(60_000);
  await closing;
});

Deno.test("A message that breaks off at a raw line feed does not wait for ever", async () => {
  const clock = new VirtualClock();
  const child = await spawnChild(
    shell(`echo '{"a":1}'; echo '{"b":"on'; exec sleep 1000`, { clock }),
  );
  const messages = iterate(child);
  await next(messages);
  const rest = assertRejects(() => messages.next(), BrokenStream, "broke off");
  await advanceUntil(clock, rest);
  child.kill();
  await child.exited;
  await advanceUntil(clock, child.close());
});

/** Moves the clock on while real processes do their part. */
async function advanceUntil(
  clock: VirtualClock,
  work: Promise<unknown>,
): Promise<void> {
  let settled = false;
  const note = () => void (settled = true);
  work.then(note, note);
  while (!settled) await clock.advance(100);
  await work;
}

Deno.test("A close that cannot prove the end rejects with the pid, and can be tried again", async () => {
  const real = processTable(Deno.build.os);
  let blind = true;
  const spawn = supervisedSpawn({
    records: noSpawnRecords,
    processes: {
      ...real,
      async list() {
        const entries = await real.list();
        if (blind) return [...entries, ...entries.filter(isOwn).map(immortal)];
        return entries;
      },
    },
  });
  let leader = 0;
  const isOwn = ({ pid }: { pid: number }) => pid === Deno.pid;
  /** A member of the child's group that no signal ends. */
  const immortal = (own: Awaited<ReturnType<typeof real.list>>[number]) => ({
    ...own,
    pid: 2 ** 22 + 1,
    parentPid: 1,
    group: leader,
    session: leader,
    startTime: Number.MAX_SAFE_INTEGER,
  });
  const child = await spawn(
    shell("cat", {
      closeGrace: { afterEndOfInput: 20, afterTerminate: 20, afterKill: 20 },
    }),
  );
  leader = child.pid;
  const [one, other] = await Promise.allSettled([child.close(), child.close()]);
  assertEquals([one.status, other.status], ["rejected", "rejected"]);
  const error = await assertRejects(() => child.close(), CloseUnconfirmed);
  assert(error.message.includes(String(2 ** 22 + 1)));
  blind = false;
  await child.exited; // killed long ago; only the look at it is left
  await child.close();
  await child.close();
});

Deno.test("Processes that cannot be seen are not called gone", async () => {
  const real = processTable(Deno.build.os);
  let blind = false;
  const child = await supervisedSpawn({
    records: noSpawnRecords,
    processes: {
      ...real,
      list: () => blind ? Promise.reject(new Error("no /proc")) : real.list(),
    },
  })(shell("cat", {
    closeGrace: { afterEndOfInput: 20, afterTerminate: 20, afterKill: 20 },
  }));
  blind = true;
  await assertRejects(() => child.close(), CloseUnconfirmed);
  blind = false;
  await child.exited; // killed long ago; only the look at it is left
  await child.close();
});

Deno.test("A kill works without the list of processes", async () => {
  const real = processTable(Deno.build.os);
  let blind = false;
  const child = await supervisedSpawn({
    records: noSpawnRecords,
    processes: {
      ...real,
      list: () => blind ? Promise.reject(new Error("no /proc")) : real.list(),
    },
  })(shell("exec sleep 1000"));
  blind = true;
  child.kill();
  assertEquals((await child.exited).signal, "SIGKILL");
  blind = false;
  await child.close();
});

Deno.test("A process is on record from its start to its proven end", async () => {
  const events: string[] = [];
  let record: SpawnRecord | undefined;
  const spawn = supervisedSpawn({
    processes: processTable(Deno.build.os),
    records: {
      spawned: (spawned) => {
        record = spawned;
        events.push("spawned");
        return Promise.resolve();
      },
      membersSeen: (_pid, members) => {
        events.push(`members ${members.length}`);
        return Promise.resolve();
      },
      gone: () => {
        events.push("gone");
        return Promise.resolve();
      },
    },
  });
  const child = await spawn(
    shell(
      `trap '' TERM; echo '{"ready":1}'; setsid sleep 1000 & while :; do sleep 1000; done`,
    ),
  );
  await next(iterate(child));
  assertEquals(record?.leader.pid, child.pid);
  assertEquals(record?.name, "test program");
  assertEquals(events, ["spawned"]);
  await child.close();
  assertEquals(events.at(-1), "gone");
  assert(events.some((event) => event.startsWith("members ")));
});

Deno.test("A process that cannot be put on record is ended again", async () => {
  let pid = 0;
  const spawn = supervisedSpawn({
    processes: processTable(Deno.build.os),
    records: {
      ...noSpawnRecords,
      spawned: (record) => {
        pid = record.leader.pid;
        return Promise.reject(new Error("disk full"));
      },
    },
  });
  await assertRejects(
    () => spawn(shell("sleep 1000 & wait")),
    Error,
    "disk full",
  );
  assertGreater(pid, 0);
  assertEquals(await processesOf(pid), []);
});

Deno.test("A child without pipes takes no input and gives no messages", () =>
  withChild(
    shell("echo ignored; echo seen >&2", { pipes: "none" }),
    async (child) => {
      await child.exited;
      assertEquals(await all(child), []);
      await assertRejects(() => child.write(1), Error);
    },
  ));

Deno.test("The messages of a child are read once", () =>
  withChild(shell(`echo '{"a":1}'`), async (child) => {
    assertEquals((await all(child)).length, 1);
    assertEquals((await all(child)).length, 0);
  }));
