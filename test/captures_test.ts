/** The page of captures holds each view, and nothing of the machine that it was made on. */
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { normalised } from "./support/captures.ts";

const page = await Deno.readTextFile(
  fromFileUrl(new URL("../docs/captures.md", import.meta.url)),
);

Deno.test("the page shows status, doctor and a traced Turn", () => {
  for (
    const line of [
      "last heartbeat written",
      "ok    schema of codex: ",
      "→ execution_prepare ",
      "agent-daemon: completed (",
    ]
  ) assert(page.includes(line), line);
  assert(!/^fail /m.test(page));
});

Deno.test("what changes from run to run has a fixed name", () => {
  assertEquals(normalised(page, []), page);
  assert(!page.includes("/tmp/"));
  assert(!page.includes("/root/"));
  const text =
    "process 31 at 2026-11-30T10:52:21.001Z, 31.5 ms, 127.0.0.1:4, /x/y, 10 s";
  assertEquals(
    normalised(text, [["/x", "/home/dev"]]),
    "process 4711 at 2026-01-02T03:04:05.678Z, 12 ms, 127.0.0.1:8080, /home/dev/y, 1 s",
  );
});
