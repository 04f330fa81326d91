import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { ChildInput, WriteInterrupted } from "../../src/harness/child_input.ts";
import { WriteNotStarted } from "../../src/harness/child.ts";

/** A pipe under the control of a test: each piece is taken, or refused, when the test says so. */
class TestPipe {
  text = "";
  closed = false;
  aborted = false;
  pieces: { readonly length: number; take(error?: Error): void }[] = [];
  #came = Promise.withResolvers<void>();
  readonly stream = new WritableStream<Uint8Array>({
    write: (piece) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      this.pieces.push({
        length: piece.length,
        take: (error) => {
          if (error) return reject(error);
          this.text += new TextDecoder().decode(piece);
          resolve();
        },
      });
      this.#came.resolve();
      this.#came = Promise.withResolvers();
      return promise;
    },
    close: () => void (this.closed = true),
    abort: () => void (this.aborted = true),
  });

  /** Waits for the next piece and returns it. */
  async next(): Promise<TestPipe["pieces"][number]> {
    while (this.pieces.length === 0) await this.#came.promise;
    const [piece] = this.pieces.splice(0, 1);
    if (!piece) throw new Error("no piece");
    return piece;
  }
}

Deno.test("Lines are written whole and in the order of the calls", async () => {
  const pipe = new TestPipe();
  const input = new ChildInput(pipe.stream);
  const order: number[] = [];
  const writes = [1, 2, 3].map((n) =>
    input.write({ n }).then(() => order.push(n))
  );
  for (let count = 0; count < 3; count++) (await pipe.next()).take();
  await Promise.all(writes);
  assertEquals(order, [1, 2, 3]);
  assertEquals(pipe.text, '{"n":1}\n{"n":2}\n{"n":3}\n');
});

Deno.test("A value is taken as it is at the call", async () => {
  const pipe = new TestPipe();
  const input = new ChildInput(pipe.stream);
  const value = { text: "before" };
  const first = input.write({});
  const second = input.write(value);
  value.text = "after";
  (await pipe.next()).take();
  (await pipe.next()).take();
  await Promise.all([first, second]);
  assertEquals(pipe.text, '{}\n{"text":"before"}\n');
});

Deno.test("No character that some reader takes for a line end is written raw", async () => {
  const pipe = new TestPipe();
  const writing = new ChildInput(pipe.stream).write({
    text: "a\u2028b\u2029c\n",
  });
  (await pipe.next()).take();
  await writing;
  assertEquals(pipe.text, '{"text":"a\\u2028b\\u2029c\\n"}\n');
});

Deno.test("A write that is cancelled while it waits has not started, and the next one goes on", async () => {
  const pipe = new TestPipe();
  const input = new ChildInput(pipe.stream);
  const cancelled = new AbortController();
  const long = "1".repeat(100_000);
  const first = input.write(long);
  const second = input.write(2, cancelled.signal);
  const third = input.write(3);
  cancelled.abort();
  await assertRejects(() => second, WriteNotStarted);
  for (let count = 0; count < 3; count++) (await pipe.next()).take();
  await Promise.all([first, third]);
  assertEquals(pipe.text, `"${long}"\n3\n`);
  await assertRejects(
    () => input.write(4, AbortSignal.abort()),
    WriteNotStarted,
  );
});

Deno.test("A write that is cancelled in mid-line is unknown and closes the input", async () => {
  const pipe = new TestPipe();
  const input = new ChildInput(pipe.stream);
  const cancelled = new AbortController();
  const writing = input.write("x".repeat(200_000), cancelled.signal);
  const later = input.write("later");
  const first = await pipe.next();
  assertEquals(first.length, 64 * 1024);
  cancelled.abort();
  await assertRejects(() => writing, WriteInterrupted);
  await assertRejects(() => later, WriteNotStarted);
  await assertRejects(() => input.write("even later"), WriteNotStarted);
  first.take();
  await Promise.resolve();
  // Of the rest nothing follows: only the piece that was on its way arrived.
  assertEquals(pipe.pieces.length, 0);
});

Deno.test("A broken pipe is unknown for its line and certain for every later one", async () => {
  const pipe = new TestPipe();
  const input = new ChildInput(pipe.stream);
  const cause = new Deno.errors.BrokenPipe("gone");
  const writing = input.write("line");
  const waiting = input.write("waiting");
  (await pipe.next()).take(cause);
  const error = await assertRejects(() => writing, WriteInterrupted);
  assertStrictEquals(error.cause, cause);
  await assertRejects(() => waiting, WriteNotStarted);
  await assertRejects(() => input.write("later"), WriteNotStarted);
  input.end();
});

Deno.test("The end of the input waits for the line being written, not for those behind it", async () => {
  const pipe = new TestPipe();
  const input = new ChildInput(pipe.stream);
  const writing = input.write("y".repeat(100_000));
  const behind = input.write("behind");
  const first = await pipe.next();
  input.end();
  input.end();
  first.take();
  (await pipe.next()).take();
  await writing;
  await assertRejects(() => behind, WriteNotStarted, "closed");
  assertEquals(pipe.text.length, 100_003);
  assertEquals(pipe.closed, true);
});

Deno.test("A process that does not read gets 256 waiting lines, no more", async () => {
  const pipe = new TestPipe();
  const input = new ChildInput(pipe.stream);
  const stop = new AbortController();
  const first = input.write(0, stop.signal);
  await pipe.next();
  const waiting = Array.from(
    { length: 256 },
    () => input.write(0, stop.signal),
  );
  const outcomes = Promise.allSettled([first, ...waiting]);
  await assertRejects(() => input.write(0), WriteNotStarted, "Too many");
  stop.abort();
  const names = (await outcomes).map((outcome) =>
    outcome.status === "rejected" ? outcome.reason.name : "written"
  );
  assertEquals(names[0], "WriteInterrupted");
  assertEquals(new Set(names.slice(1)), new Set(["WriteNotStarted"]));
});
