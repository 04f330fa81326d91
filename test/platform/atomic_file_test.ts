import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { writeFileAtomically } from "../../src/platform/atomic_file.ts";
import { systemIds } from "../../src/platform/ids.ts";
import { settleEvents, VirtualClock } from "../support/virtual_clock.ts";

async function inDirectory(work: (path: string) => Promise<void>) {
  const path = await Deno.makeTempDir();
  try {
    await work(path);
  } finally {
    await Deno.remove(path, { recursive: true });
  }
}

const names = (directory: string) =>
  [...Deno.readDirSync(directory)].map((entry) => entry.name).sort();

Deno.test("a file is replaced whole, private, and without leftovers", () =>
  inDirectory(async (directory) => {
    const path = join(directory, "status.json");
    const context = { clock: new VirtualClock(), ids: systemIds };
    await writeFileAtomically(path, "first", context);
    await writeFileAtomically(path, new Uint8Array(200_000).fill(65), context);
    assertEquals((await Deno.readTextFile(path)).length, 200_000);
    await writeFileAtomically(path, "äö", context);
    assertEquals(await Deno.readTextFile(path), "äö");
    if (Deno.build.os !== "windows") {
      assertEquals(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
    }
    assertEquals(names(directory), ["status.json"]);
  }));

Deno.test("a link at the target is replaced, what it points to stays as it was", () =>
  inDirectory(async (directory) => {
    const outside = join(directory, "outside");
    const path = join(directory, "status.json");
    await Deno.writeTextFile(outside, "untouched");
    await Deno.symlink(outside, path);
    const context = { clock: new VirtualClock(), ids: systemIds };
    await writeFileAtomically(path, "new", context);
    assertEquals(await Deno.readTextFile(outside), "untouched");
    assert((await Deno.lstat(path)).isFile);
  }));

for (const held of [Deno.errors.PermissionDenied, Deno.errors.Busy]) {
  Deno.test(`a target held for 200 ms (${held.name}) is waited for; it is never absent`, () =>
    inDirectory(async (directory) => {
      const path = join(directory, "status.json");
      await Deno.writeTextFile(path, "old");
      const clock = new VirtualClock();
      const writing = writeFileAtomically(path, "new", {
        clock,
        ids: systemIds,
        rename(from, to) {
          assertEquals(Deno.readTextFileSync(path), "old");
          if (clock.monotonic() < 200) return Promise.reject(new held("held"));
          return Deno.rename(from, to);
        },
      });
      while (clock.pendingTimers === 0) await settleEvents();
      await clock.advance(1_000);
      await writing;
      assertEquals(Deno.readTextFileSync(path), "new");
    }));
}

Deno.test("a target held for ever is given up after about 600 ms; the old content stays, nothing else", () =>
  inDirectory(async (directory) => {
    const path = join(directory, "status.json");
    await Deno.writeTextFile(path, "old");
    const clock = new VirtualClock();
    let attempts = 0;
    const writing = writeFileAtomically(path, "new", {
      clock,
      ids: systemIds,
      rename() {
        attempts++;
        return Promise.reject(new Deno.errors.PermissionDenied("held"));
      },
    });
    const outcome = assertRejects(() => writing, Deno.errors.PermissionDenied);
    while (clock.pendingTimers === 0) await settleEvents();
    await clock.advance(630);
    await outcome;
    assertEquals(attempts, 7);
    assertEquals(Deno.readTextFileSync(path), "old");
    assertEquals(names(directory), ["status.json"]);
  }));

Deno.test("another failure of the rename is not repeated and leaves no temporary file", () =>
  inDirectory(async (directory) => {
    const path = join(directory, "status.json");
    let attempts = 0;
    await assertRejects(
      () =>
        writeFileAtomically(path, "new", {
          clock: new VirtualClock(),
          ids: systemIds,
          rename() {
            attempts++;
            return Promise.reject(new Deno.errors.NotFound("gone"));
          },
        }),
      Deno.errors.NotFound,
    );
    assertEquals(attempts, 1);
    assertEquals(names(directory), []);
  }));

Deno.test("a missing directory is an error", () =>
  inDirectory(async (directory) => {
    await assertRejects(
      () =>
        writeFileAtomically(join(directory, "none", "x"), "new", {
          clock: new VirtualClock(),
          ids: systemIds,
        }),
      Deno.errors.NotFound,
    );
  }));
