// What the largest write costs: 50 MiB as base64 chunks, each answered, hashed, checked, synced and
// published without taking anything's place. Against a bare write of the same bytes, and one synced.
import { strict as assert } from "node:assert";
import { randomBytes } from "node:crypto";
import { join } from "@std/path";
import { BoundWorld } from "../runtime/bound_world.ts";

const SIZE = 50 * 1024 * 1024;
const GROUP = { group: "50 MiB", n: 4, warmup: 1 };
const data = new Uint8Array(randomBytes(SIZE));

Deno.bench("bare write", { ...GROUP, baseline: true }, async (b) => {
  const folder = await Deno.makeTempDir();
  b.start();
  await Deno.writeFile(join(folder, "file"), data);
  b.end();
  await Deno.remove(folder, { recursive: true });
});

Deno.bench("bare write, synced", GROUP, async (b) => {
  const folder = await Deno.makeTempDir();
  b.start();
  const path = join(folder, "file");
  const file = await Deno.open(path, { write: true, createNew: true });
  for (let at = 0; at < SIZE;) at += await file.write(data.subarray(at));
  await file.sync();
  file.close();
  b.end();
  await Deno.remove(folder, { recursive: true });
});

Deno.bench("ours: workspace_write", GROUP, async (b) => {
  const world = new BoundWorld();
  b.start();
  const { outcome } = await world.write("file", data);
  b.end();
  assert.equal(outcome, "completed");
  await world.close();
  world.remove();
});
