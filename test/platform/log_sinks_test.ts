import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { openLog } from "../../src/platform/log_sinks.ts";
import { createRedactor } from "../../src/platform/redaction.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

const SECRET = "canary-Tok3n-9f8e7d6c5b4a";

Deno.test("events below the level are dropped, the others are whole lines", () => {
  const lines: string[] = [];
  const log = openLog({
    level: "warn",
    format: "json",
    redactor: createRedactor(),
    clock: new VirtualClock(5),
    write: (line) => void lines.push(line),
  });
  log.debug("d");
  log.info("i");
  log.with({ run: "r1" }).warn("w {run}", { count: 2 });
  log.error("e");
  assertEquals(lines.length, 2);
  assertEquals(JSON.parse(lines[0] ?? ""), {
    time: "1970-01-01T00:00:00.005Z",
    level: "warn",
    event: "w {run}",
    run: "r1",
    count: 2,
  });
  assert(lines.every((line) => line.endsWith("\n")));
});

Deno.test("a secret reaches the output at no level and in no format", () => {
  const redactor = createRedactor();
  redactor.add(SECRET);
  for (const format of ["text", "json"] as const) {
    let output = "";
    const log = openLog({
      level: "debug",
      format,
      redactor,
      clock: new VirtualClock(),
      write: (line) => void (output += line),
    });
    for (const level of ["debug", "info", "warn", "error"] as const) {
      log[level](`event ${SECRET}`, {
        text: `Bearer ${SECRET}`,
        list: [SECRET],
        error: new Error(`refused ${SECRET}`, { cause: new Error(SECRET) }),
      });
    }
    assert(output.length > 0);
    assert(!output.includes("canary"), output);
  }
});

Deno.test("the log file is private, rotates by size and keeps five old files", async () => {
  const directory = await Deno.makeTempDir();
  const mask = Deno.umask(0o077);
  try {
    const file = join(directory, "daemon.log");
    const log = openLog({
      level: "info",
      format: "json",
      redactor: createRedactor(),
      clock: new VirtualClock(),
      file,
      write: () => {},
    });
    const text = "x".repeat(2_000);
    const fields = { a: text, b: text, c: text, d: text, e: text };
    for (let count = 0; count < 7_500; count++) log.info("filler", fields);
    const names = [...Deno.readDirSync(directory)].map((entry) => entry.name)
      .toSorted();
    assertEquals(names.length, 6, names.join(" "));
    for (const name of names) {
      const { mode, size } = Deno.statSync(join(directory, name));
      assertEquals((mode ?? 0) & 0o777, 0o600);
      assert(size <= 10 * 1024 * 1024 + 16_384);
    }
  } finally {
    Deno.umask(mask);
    // Closes the file before the sanitizer looks for open resources.
    openLog({
      level: "info",
      format: "json",
      redactor: createRedactor(),
      clock: new VirtualClock(),
      write: () => {},
    });
    await Deno.remove(directory, { recursive: true });
  }
});
