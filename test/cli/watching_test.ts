/** The commands that go on until they are interrupted: `logs -f` and `status --watch`. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { LoopbackCore } from "../../src/loopback/core.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemIds } from "../../src/platform/ids.ts";
import { makePlace, type Place, spawnAgentDaemon } from "./command_line.ts";
import {
  daemonWords,
  DEVICE,
  startDaemon,
  statusWhere,
  TOKEN,
} from "./running_daemon.ts";

/** The longest time that a command is watched, in milliseconds. */
const LONGEST_WATCH = 20_000;

/** A command whose output is waited for. */
class Watched {
  text = "";
  readonly #child: Deno.ChildProcess;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  readonly #errors: Promise<string>;
  readonly #timer: ReturnType<typeof setTimeout>;

  constructor(words: readonly string[], place: Place) {
    this.#child = spawnAgentDaemon(words, place);
    this.#reader = this.#child.stdout.getReader();
    this.#errors = new Response(this.#child.stderr).text();
    // What should have come and never does must fail its test, not hold it up.
    this.#timer = setTimeout(() => this.#child.kill("SIGKILL"), LONGEST_WATCH);
  }

  /** Resolves when the output fits. */
  async until(fits: (text: string) => boolean): Promise<void> {
    while (!fits(this.text)) {
      const { done, value } = await this.#reader.read();
      if (done) {
        clearTimeout(this.#timer);
        throw new Error(`ended: ${this.text}${await this.#errors}`);
      }
      this.text += this.#decoder.decode(value, { stream: true });
    }
  }

  /** Interrupts it as a terminal does; its exit code and stderr. */
  async interrupt(): Promise<{ code: number; stderr: string }> {
    this.#child.kill("SIGINT");
    while (!(await this.#reader.read()).done);
    const { code } = await this.#child.status;
    clearTimeout(this.#timer);
    return { code, stderr: await this.#errors };
  }
}

Deno.test("logs -f shows what comes, over a rotation, and ends with 0 when it is interrupted", async () => {
  await using place = await makePlace();
  const file = await place.write("daemon.log", "one\ntwo\n");
  const logs = new Watched(
    ["logs", "-f", "-n", "1", "--log-file", file],
    place,
  );
  await logs.until((text) => text === "two\n");
  const add = (text: string | Uint8Array<ArrayBuffer>) =>
    Deno.writeFileSync(
      file,
      typeof text === "string" ? new TextEncoder().encode(text) : text,
      { append: true },
    );
  add("three\n");
  await logs.until((text) => text.endsWith("three\n"));
  // A character in two parts, and a line that nobody saw before the rotation.
  const bytes = new TextEncoder().encode("€\n");
  add(bytes.slice(0, 2));
  add("");
  add(bytes.slice(2));
  add("last of the old file\n");
  await Deno.rename(file, `${file}.1`);
  add("first of the new file\n");
  await logs.until((text) => text.endsWith("new file\n"));
  assertEquals(
    logs.text,
    "two\nthree\n€\nlast of the old file\nfirst of the new file\n",
  );
  assertEquals(await logs.interrupt(), { code: 0, stderr: `${file}\n` });
});

Deno.test("logs -f goes on while the file has no name", async () => {
  await using place = await makePlace();
  const file = await place.write("daemon.log", "one\n");
  const logs = new Watched(["logs", "-f", "--log-file", file], place);
  await logs.until((text) => text === "one\n");
  await Deno.remove(file);
  await place.write("daemon.log", "two\n");
  await logs.until((text) => text === "one\ntwo\n");
  assertEquals((await logs.interrupt()).code, 0);
});

Deno.test("status --watch follows a daemon from before its start to after its end", async () => {
  await using place = await makePlace();
  const core = await LoopbackCore.start({
    devices: { [DEVICE]: { credential: TOKEN } },
    clock: systemClock,
    ids: systemIds,
  });
  const watch = new Watched(["status", "--watch"], place);
  try {
    await watch.until((text) => text.includes("no daemon has run with "));
    const daemon = startDaemon(place, await daemonWords(place, core.origin));
    await watch.until((text) => text.includes("a socket is open since"));
    assertMatch(watch.text, new RegExp(`\nprocess +${daemon.pid}, running`));
    daemon.signal("SIGKILL");
    await daemon.ended;
    await watch.until((text) => text.includes(`${daemon.pid} does not run`));
    // Nothing is cleared where no terminal is.
    assert(!watch.text.includes("\x1b"));
  } finally {
    await core.shutdown();
  }
  assertEquals(await watch.interrupt(), { code: 0, stderr: "" });
});

Deno.test("status --watch --json gives one document a line", async () => {
  await using place = await makePlace();
  const watch = new Watched(["status", "--watch", "--json"], place);
  await watch.until((text) => text.split("\n").length > 2);
  for (const line of watch.text.trimEnd().split("\n")) {
    assertEquals(JSON.parse(line), { running: false });
  }
  assertEquals((await watch.interrupt()).code, 0);
});

Deno.test("while Core is down the daemon keeps trying, and says since when and why", async () => {
  await using place = await makePlace();
  const daemon = startDaemon(
    place,
    await daemonWords(place, "http://127.0.0.1:9"),
  );
  try {
    await daemon.logged("starting");
    const status = await statusWhere(
      place,
      ({ connection }) =>
        connection.attempt >= 1 && connection.next_attempt_at !== null,
    );
    assert(status.connection.last_refusal);
    const watch = new Watched(["status", "--watch"], place);
    await watch.until((text) => /\n {2}next attempt +number [2-9] /.test(text));
    assertMatch(
      watch.text,
      /\nlink +waiting for the next attempt since \d+ s\n/,
    );
    assertMatch(
      watch.text,
      /\n {2}last refusal +bootstrap failed: connection_refused, \d+ s ago\n/,
    );
    assertEquals((await watch.interrupt()).code, 0);
    // The log says it too, with the number of the attempt.
    assertMatch(daemon.errorText(), /connection_refused/);
    daemon.signal("SIGTERM");
    assertEquals((await daemon.ended).code, 0, daemon.errorText());
  } finally {
    daemon.end();
    await daemon.ended;
  }
});
