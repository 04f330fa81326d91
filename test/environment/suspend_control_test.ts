// The control file of suspensions and the wake signal, on real files.
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { join } from "@std/path";
import {
  ControlUnavailable,
  readControl,
  SuspendControl,
} from "../../src/environment/suspend_control.ts";
import { WakeSignal } from "../../src/environment/wake_signal.ts";
import { systemIds } from "../../src/platform/ids.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

const ignore = Deno.build.os !== "linux";
const userId = Deno.uid();
const owner = { pid: 12, startTime: 34, environmentId: "environment" };
const context = { clock: new VirtualClock(), ids: systemIds, userId };

/** A private directory of one test. */
async function inDirectory(
  body: (directory: string) => void | Promise<void>,
): Promise<void> {
  const directory = await Deno.realPath(await Deno.makeTempDir());
  await Deno.chmod(directory, 0o700);
  try {
    await body(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function modeOf(path: string): number {
  return (Deno.lstatSync(path).mode ?? 0) & 0o777;
}

Deno.test({
  name:
    "a control names its owner and what is armed, is private, and is removed",
  ignore,
  fn: () =>
    inDirectory(async (directory) => {
      const path = join(directory, "control");
      const control = SuspendControl.open(path, owner, context);
      assertEquals(modeOf(path), 0o600);
      assertEquals(readControl(path, userId), {
        ...owner,
        suspendId: undefined,
      });
      assertEquals(JSON.parse(Deno.readTextFileSync(path)), {
        pid: 12,
        start_time: 34,
        environment_id: "environment",
        suspend_id: "",
      });
      const before = Deno.lstatSync(path).ino;
      await control.store("s");
      assertEquals(readControl(path, userId).suspendId, "s");
      assertEquals(modeOf(path), 0o600);
      // Replaced as a whole: a reader never meets a part of it.
      assertEquals(Deno.lstatSync(path).ino === before, false);
      await control.store(undefined);
      assertEquals(readControl(path, userId).suspendId, undefined);
      assertEquals([...Deno.readDirSync(directory)].length, 1);
      await control.remove();
      assertEquals([...Deno.readDirSync(directory)], []);
      await control.remove();
    }),
});

Deno.test({
  name: "a store that fails leaves what the file said",
  ignore,
  fn: () =>
    inDirectory(async (directory) => {
      const path = join(directory, "control");
      const control = SuspendControl.open(path, owner, {
        ...context,
        rename: () => Promise.reject(new Error("disk full")),
      });
      await assertRejects(() => control.store("s"), Error, "disk full");
      assertEquals(readControl(path, userId).suspendId, undefined);
      assertEquals([...Deno.readDirSync(directory)].length, 1);
    }),
});

const refusals: Readonly<
  Record<string, (directory: string) => { path: string; rule: string }>
> = {
  "a second owner"(directory) {
    const path = join(directory, "control");
    SuspendControl.open(path, { ...owner, pid: 1 }, context);
    return { path, rule: "exists already" };
  },
  "a link in its place"(directory) {
    const path = join(directory, "control");
    Deno.symlinkSync(join(directory, "elsewhere"), path);
    return { path, rule: "exists already" };
  },
  "a directory that others can enter"(directory) {
    Deno.chmodSync(directory, 0o710);
    return { path: join(directory, "control"), rule: "other users can enter" };
  },
  "a directory that others can read"(directory) {
    Deno.chmodSync(directory, 0o704);
    return { path: join(directory, "control"), rule: "other users can enter" };
  },
  "a linked directory"(directory) {
    Deno.mkdirSync(join(directory, "real"), { mode: 0o700 });
    Deno.symlinkSync(join(directory, "real"), join(directory, "link"));
    return {
      path: join(directory, "link", "control"),
      rule: "no directory that can be opened",
    };
  },
  "a missing directory"(directory) {
    return {
      path: join(directory, "none", "control"),
      rule: "no directory that can be opened",
    };
  },
};

for (const [what, arrange] of Object.entries(refusals)) {
  Deno.test({
    name: `${what} is refused, and nothing is written`,
    ignore,
    fn: () =>
      inDirectory((directory) => {
        const { path, rule } = arrange(directory);
        const before = [...Deno.readDirSync(directory)].length;
        assertThrows(
          () => SuspendControl.open(path, owner, context),
          ControlUnavailable,
          rule,
        );
        assertEquals([...Deno.readDirSync(directory)].length, before);
      }),
  });
}

Deno.test({
  name: "a directory of another user is refused",
  ignore,
  fn: () =>
    inDirectory((directory) => {
      const other = { ...context, userId: (userId ?? 0) + 1 };
      assertThrows(
        () => SuspendControl.open(join(directory, "control"), owner, other),
        ControlUnavailable,
        "another user",
      );
    }),
});

for (
  const text of [
    "",
    "{}",
    "[]",
    JSON.stringify({
      pid: 0,
      start_time: 1,
      environment_id: "e",
      suspend_id: "",
    }),
    JSON.stringify({
      pid: 1,
      start_time: 1,
      environment_id: "",
      suspend_id: "",
    }),
    JSON.stringify({ pid: 1, start_time: 1, environment_id: "e" }),
  ]
) {
  Deno.test({
    name: `${JSON.stringify(text)} is no control file`,
    ignore,
    fn: () =>
      inDirectory((directory) => {
        const path = join(directory, "control");
        Deno.writeTextFileSync(path, text, { mode: 0o600 });
        assertThrows(() => readControl(path, userId), ControlUnavailable);
      }),
  });
}

Deno.test({
  name: "a control file that others can read is not believed",
  ignore,
  fn: () =>
    inDirectory((directory) => {
      const path = join(directory, "control");
      SuspendControl.open(path, owner, context);
      Deno.chmodSync(path, 0o644);
      assertThrows(() => readControl(path, userId), ControlUnavailable);
    }),
});

/** A wake signal that a test sends. */
function scriptedWake() {
  const state = { send: () => {}, listening: true };
  const wake = new WakeSignal((listener) => {
    state.send = listener;
    return () => void (state.listening = false);
  });
  return { wake, state };
}

Deno.test("a wake signal of before is forgotten, one after it is kept until it is waited for", async () => {
  const { wake, state } = scriptedWake();
  const stop = new AbortController();
  state.send();
  wake.forget();
  let woken = 0;
  const waiting = wake.received(stop.signal).then(() => woken++);
  await Promise.resolve();
  assertEquals(woken, 0);
  state.send();
  await waiting;
  state.send();
  await wake.received(stop.signal);
  // Used up: the next wait needs a signal of its own.
  const next = wake.received(stop.signal);
  stop.abort(new Error("stopped"));
  await assertRejects(() => next, Error, "stopped");
  await assertRejects(() => wake.received(stop.signal), Error, "stopped");
  wake.close();
  assertEquals(state.listening, false);
});
