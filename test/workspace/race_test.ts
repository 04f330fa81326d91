import { assert, assertEquals } from "@std/assert";
import { exportOutputs } from "../../src/workspace/export_outputs.ts";
import { listWorkspaceDirectory } from "../../src/workspace/list_directory.ts";
import { publishFile } from "../../src/workspace/publish_file.ts";
import { readWorkspaceFile } from "../../src/workspace/read_file.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { directoryAccess, type PinnedRoot } from "../../src/workspace/root.ts";
import { bytes, Fixture, OUTSIDE } from "./support.ts";

/** Operations of each run; a quarter are reads, listings, writes and exports each. */
const OPERATIONS = 10_000;

Deno.test("a directory that is exchanged with a link in a loop leads no operation outside", async () => {
  using fixture = new Fixture();
  fixture.file("outputs/d/secret.txt", "inside");
  Deno.symlinkSync(fixture.outside, fixture.path("outputs/link"));
  const root = fixture.root(directoryAccess("linux"));
  using swapper = startSwapper(fixture.path("outputs"));
  const seen = { inside: 0, refused: 0 };
  for (let round = 0; round < OPERATIONS / 4; round++) {
    await attempt(root, round, seen);
  }
  const exchanges = await swapper.stop();
  assert(exchanges > 100, `only ${exchanges} exchanges happened`);
  assert(seen.inside > 0, "no operation ever saw the inside");
  assert(seen.refused > 0, "no operation ever met the link");
  assertEquals([...Deno.readDirSync(fixture.outside)].map((e) => e.name), [
    "secret.txt",
  ]);
  assertEquals(Deno.readTextFileSync(fixture.secret), OUTSIDE);
});

async function attempt(
  root: PinnedRoot,
  round: number,
  seen: { inside: number; refused: number },
): Promise<void> {
  const read = await readWorkspaceFile(root, "outputs/d/secret.txt", 100);
  if (read.outcome === "completed") {
    assertEquals(new TextDecoder().decode(read.data), "inside");
    seen.inside++;
  } else seen.refused++;

  const list = await listWorkspaceDirectory(root, "outputs/d", 1024);
  if (list.outcome === "completed") {
    for (const entry of list.entries) {
      assert(
        entry.name !== "secret.txt" || entry.size_bytes === "inside".length,
        "a listing showed the outside file",
      );
    }
  }

  await publishFile(root, {
    components: ["outputs", "d", `w${round % 8}`],
    chunks: [bytes("x")],
    mode: "replace",
    clock: systemClock,
    temporaryName: `.w-${round}`,
  });

  let archive = "";
  try {
    for await (const piece of exportOutputs(root)) {
      archive += new TextDecoder("latin1").decode(piece);
    }
  } catch (error) {
    assert(error instanceof Error && error.name === "ExportFailed");
  }
  assert(!archive.includes(OUTSIDE), "an export held outside bytes");
}

function startSwapper(
  folder: string,
): { stop(): Promise<number> } & Disposable {
  const worker = new Worker(new URL("./swapper_worker.ts", import.meta.url), {
    type: "module",
  });
  worker.postMessage({ folder });
  return {
    stop: () =>
      new Promise((resolve) => {
        worker.onmessage = (event: MessageEvent<number>) => resolve(event.data);
        worker.postMessage("stop");
      }),
    [Symbol.dispose]: () => worker.terminate(),
  };
}
