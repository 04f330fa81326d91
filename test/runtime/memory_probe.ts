// A program of its own: sends 50 MiB through one router and prints what of it is held, as JSON. Needs
// `--expose-gc`, so that only what is reachable counts.
import { createHash } from "node:crypto";
import { BoundWorld, transferId, writeBegin } from "./bound_world.ts";

const SIZE = 50 * 1024 * 1024;
const CHUNK = 65_536;

const { gc } = globalThis as unknown as { gc: () => void };

/** Bytes that are reachable now. Buffers are only given back in a later turn than their objects. */
async function held(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}

function part(index: number): Uint8Array {
  return new Uint8Array(CHUNK).fill(index % 251);
}

const hash = createHash("sha256");
for (let index = 0; index < SIZE / CHUNK; index++) hash.update(part(index));
const world = new BoundWorld();
const id = transferId();
const type = "workspace_write";
await world.write("warm", new Uint8Array(CHUNK), transferId(9));
const idle = await held();
world.send(type, id, {
  ...writeBegin("file", new Uint8Array(0)),
  size_bytes: SIZE,
  sha256: hash.digest("hex"),
});
await world.reply("workspace_write_result", id);
let peak = 0;
for (let index = 0; index < SIZE / CHUNK; index++) {
  const data = part(index).toBase64();
  world.send(type, id, { step: "chunk", offset: index * CHUNK, data });
  await world.reply("workspace_write_result", id);
  if (index % 100 === 99) peak = Math.max(peak, await held());
}
peak = Math.max(peak, await held());
world.send(type, id, { step: "commit" });
const { outcome } = await world.reply("workspace_write_result", id);
if (outcome !== "completed") throw new Error(outcome);
await world.quiet();
const after = await held();
await world.close();
world.remove();
await Deno.stdout.write(
  new TextEncoder().encode(JSON.stringify({ idle, peak, after })),
);
