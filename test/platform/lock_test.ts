import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { systemIds } from "../../src/platform/ids.ts";
import { lockFileName, takeDeviceLock } from "../../src/platform/lock.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

const subject = {
  origin: "https://core.example",
  deviceId: "6f0c2d1e-0f54-4b7e-9b36-2b8f1f9d7a10",
};
const context = () => ({ clock: new VirtualClock(), ids: systemIds });

async function inDirectory(work: (path: string) => Promise<void>) {
  const path = await Deno.makeTempDir();
  try {
    await work(path);
  } finally {
    await Deno.remove(path, { recursive: true });
  }
}

/** A program that takes the lock, says what came out, and keeps it until its input ends. */
const HOLDER = `
  import { takeDeviceLock } from ${
  JSON.stringify(
    new URL("../../src/platform/lock.ts", import.meta.url).href,
  )
};
  import { systemClock } from ${
  JSON.stringify(
    new URL("../../src/platform/clock.ts", import.meta.url).href,
  )
};
  import { systemIds } from ${
  JSON.stringify(new URL("../../src/platform/ids.ts", import.meta.url).href)
};
  const outcome = await takeDeviceLock(
    Deno.args[0], JSON.parse(Deno.args[1]), { clock: systemClock, ids: systemIds });
  console.log(JSON.stringify({ ok: outcome.ok, holder: outcome.holder }));
  await Deno.stdin.read(new Uint8Array(1));
`;

async function holder(directory: string) {
  const program = join(directory, "holder.ts");
  await Deno.writeTextFile(program, HOLDER);
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--quiet",
      "--no-check",
      `--config=${fromFileUrl(new URL("../../deno.json", import.meta.url))}`,
      program,
      directory,
      JSON.stringify(subject),
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  const said = JSON.parse(new TextDecoder().decode(value));
  return {
    child,
    said,
    async end(signal: Deno.Signal) {
      child.kill(signal);
      await child.stdin.abort().catch((error) => assert(error));
      await reader.cancel();
      await child.status;
    },
  };
}

Deno.test("a second start in another process is refused and learns who holds the lock", () =>
  inDirectory(async (directory) => {
    const first = await holder(directory);
    assertEquals(first.said.ok, true);
    const outcome = await takeDeviceLock(directory, subject, context());
    assert(!outcome.ok);
    assertEquals(outcome.holder?.pid, first.child.pid);
    assert(Math.abs((outcome.holder?.since ?? 0) - Date.now()) < 600_000);
    if (Deno.build.os === "linux") {
      const line = await Deno.readTextFile(`/proc/${first.child.pid}/stat`);
      assert(line.includes(` ${outcome.holder?.start} `));
    }
    await first.end("SIGTERM");
  }));

Deno.test("a killed holder leaves nothing that blocks the next start", () =>
  inDirectory(async (directory) => {
    const first = await holder(directory);
    assertEquals(first.said.ok, true);
    await first.end("SIGKILL");
    const outcome = await takeDeviceLock(directory, subject, context());
    assert(outcome.ok);
    const second = await holder(directory);
    assertEquals(second.said.ok, false);
    assertEquals(second.said.holder.pid, Deno.pid);
    await second.end("SIGTERM");
    outcome.lock.release();
  }));

Deno.test("the same process cannot hold the lock twice, and can take it again after release", () =>
  inDirectory(async (directory) => {
    const first = await takeDeviceLock(directory, subject, context());
    assert(first.ok);
    assertEquals(
      (await takeDeviceLock(directory, subject, context())).ok,
      false,
    );
    first.lock.release();
    const again = await takeDeviceLock(directory, subject, context());
    assert(again.ok);
    again.lock.release();
  }));

Deno.test("two devices and two Cores do not exclude each other", () =>
  inDirectory(async (directory) => {
    const subjects = [
      subject,
      { ...subject, deviceId: "00000000-0000-4000-8000-000000000001" },
      { ...subject, origin: "https://other.example" },
    ];
    const outcomes = await Promise.all(
      subjects.map((one) => takeDeviceLock(directory, one, context())),
    );
    for (const outcome of outcomes) {
      assert(outcome.ok);
      outcome.lock.release();
    }
    assertEquals(new Set(subjects.map(lockFileName)).size, 3);
  }));

Deno.test("of many starts at once exactly one gets the lock", () =>
  inDirectory(async (directory) => {
    const outcomes = await Promise.all(
      Array.from(
        { length: 20 },
        () => takeDeviceLock(directory, subject, context()),
      ),
    );
    const held = outcomes.filter((outcome) => outcome.ok);
    assertEquals(held.length, 1);
    for (const outcome of held) outcome.lock.release();
  }));

Deno.test("a damaged or missing record does not turn a refusal into a lock", () =>
  inDirectory(async (directory) => {
    const first = await takeDeviceLock(directory, subject, context());
    assert(first.ok);
    const record = `${first.lock.path}.holder.json`;
    for (const content of ["", "null", "[]", '{"pid":"x"}', "{", undefined]) {
      if (content === undefined) await Deno.remove(record);
      else await Deno.writeTextFile(record, content);
      const outcome = await takeDeviceLock(directory, subject, context());
      assertEquals(outcome, { ok: false });
    }
    first.lock.release();
  }));

Deno.test("lock and record are private and their names hide the Core", () =>
  inDirectory(async (directory) => {
    const outcome = await takeDeviceLock(directory, subject, context());
    assert(outcome.ok);
    for await (const entry of Deno.readDir(directory)) {
      const { mode } = await Deno.stat(join(directory, entry.name));
      if (Deno.build.os !== "windows") assertEquals((mode ?? 0) & 0o777, 0o600);
      assertEquals(entry.name.includes("core.example"), false);
    }
    outcome.lock.release();
    assertNotEquals(lockFileName(subject), "");
  }));
