// The size limits of a transfer with real bodies: the largest one in both directions, a cut behind
// every frame, a full disk, and the memory that a body may cost.
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { faultyAccess } from "../workspace/faulty_access.ts";
import { untar } from "../workspace/untar.ts";
import {
  base64,
  BoundWorld,
  bytes,
  digest,
  ENVIRONMENT,
  fileBegin,
  inBoundWorld,
  transferId,
  writeBegin,
} from "./bound_world.ts";

const MIB = 1024 * 1024;
const LARGEST = 50 * MIB;

Deno.test("50 MiB go up by a write and by an initial file, and come down by an export with the same digest", () =>
  inBoundWorld(async (world) => {
    const data = randomBytes(LARGEST);
    const file = transferId(1);
    world.send(
      "runtime_prepare",
      file,
      fileBegin("/workspace/outputs/initial", data),
    );
    await world.reply("runtime_prepare_result", file);
    await world.body("runtime_prepare", file, data);
    world.send("runtime_prepare", file, { step: "commit" });
    assertEquals(await world.reply("runtime_prepare_result", file), {
      outcome: "completed",
      size_bytes: LARGEST,
    });
    assertEquals(await world.write("outputs/written", data, transferId(2)), {
      outcome: "completed",
      size_bytes: LARGEST,
    });
    const archive = await exported(world);
    const files = untar(archive);
    const expected = digest(data);
    assertEquals(
      [...files].map(([name, content]) => [name, digest(content)]),
      [["outputs/initial", expected], ["outputs/written", expected]],
    );
  }));

async function exported(world: BoundWorld): Promise<Uint8Array> {
  const handle = await world.handle();
  world.send("workspace_export", "export", {
    step: "begin",
    handle,
    environment_id: ENVIRONMENT,
  });
  const parts: Uint8Array[] = [];
  let offset = 0;
  for (;;) {
    const result = await world.reply("workspace_export_result", "export");
    if (result.outcome !== "chunk") {
      assertEquals(result, { outcome: "completed", offset });
      return new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer());
    }
    const part = Uint8Array.fromBase64(result.data);
    parts.push(part);
    offset += part.length;
    world.send("workspace_export", "export", { step: "next", offset });
  }
}

Deno.test("a transfer cut behind any of its frames leaves no file and no half of one", async () => {
  const data = randomBytes(3 * 65_536 + 17);
  for (const frame of ["workspace_write", "runtime_prepare"]) {
    const begin = frame === "workspace_write"
      ? writeBegin("dir/file", data)
      : fileBegin("/workspace/dir/file", data);
    for (let frames = 1; frames <= 6; frames++) {
      await inBoundWorld(async (world) => {
        const id = transferId();
        world.send(frame, id, begin);
        for (let sent = 1; sent < frames && sent <= 4; sent++) {
          const offset = (sent - 1) * 65_536;
          const part = data.subarray(offset, offset + 65_536);
          world.send(frame, id, { step: "chunk", offset, data: base64(part) });
        }
        if (frames === 6) world.send(frame, id, { step: "commit" });
        world.world.connection.end();
        await world.world.router.shutdown();
        // Only a commit that was received may have been applied, and then wholly.
        if (frames < 6) assertEquals(world.tree(), []);
        else {
          assertEquals(world.tree(), ["dir", "dir/file"]);
          assertEquals(
            digest(Deno.readFileSync(world.path("dir", "file"))),
            digest(data),
          );
        }
      });
    }
  }
});

/** Fills a file system to its last byte. */
function fill(folder: string): void {
  using file = Deno.openSync(join(folder, "filler"), {
    createNew: true,
    write: true,
  });
  const block = new Uint8Array(4096);
  try {
    for (;;) file.writeSync(block);
  } catch (error) {
    assert(error instanceof Error && error.message.includes("space"));
  }
}

/** A small file system of its own, where the account may mount one. */
function mountSmall(folder: string): boolean {
  return new Deno.Command("mount", {
    args: ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder],
    stdout: "null",
    stderr: "null",
  }).outputSync().success;
}

const fullDisk = {
  outcome: "rejected",
  error_code: "write_rejected",
};

Deno.test("a full disk refuses a write for certain and leaves the old state", async () => {
  const folder = Deno.makeTempDirSync();
  const isMounted = mountSmall(folder);
  try {
    if (!isMounted) return await fullByFault();
    const world = new BoundWorld({ workspace: folder });
    try {
      Deno.writeTextFileSync(join(folder, "kept"), "old");
      fill(folder);
      const data = randomBytes(100_000);
      assertEquals(await world.write("made/new", data), fullDisk);
      assertEquals(world.tree(), ["filler", "kept"]);
      assertEquals(Deno.readTextFileSync(join(folder, "kept")), "old");
      Deno.removeSync(join(folder, "filler"));
      const { outcome } = await world.write("new", data, transferId(2));
      assertEquals(outcome, "completed");
      await world.close();
    } finally {
      world.remove();
    }
  } finally {
    if (isMounted) {
      new Deno.Command("umount", { args: [folder] }).outputSync();
    }
    Deno.removeSync(folder, { recursive: true });
  }
});

/** The same where nothing may be mounted: the device whose writes always find no space. */
function fullByFault(): Promise<void> {
  const access = faultyAccess({
    createExclusive(real, name) {
      fs.closeSync(real.createExclusive(name));
      return fs.openSync("/dev/full", fs.constants.O_WRONLY);
    },
  });
  return inBoundWorld(async (world) => {
    Deno.writeTextFileSync(world.path("kept"), "old");
    assertEquals(await world.write("new", bytes("data")), fullDisk);
    assertEquals(world.tree(), ["kept"]);
  }, { access });
}

Deno.test("a device without space refuses a write for certain", fullByFault);

Deno.test("a body costs its declared size and no more, and is gone after the result", async () => {
  const probe = fromFileUrl(new URL("./memory_probe.ts", import.meta.url));
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--v8-flags=--expose-gc", probe],
  }).output();
  const decoder = new TextDecoder();
  assert(success, decoder.decode(stderr));
  const { idle, peak, after } = JSON.parse(decoder.decode(stdout));
  const mib = (bytes: number) => (bytes / MIB).toFixed(1);
  const figures = `memory in MiB: idle ${mib(idle)}, during 50 MiB ${
    mib(peak)
  }, after ${mib(after)}\n`;
  await Deno.stdout.write(new TextEncoder().encode(figures));
  const frames = 3 * 4 * MIB;
  assert(peak - idle <= LARGEST + frames, `${mib(peak - idle)} MiB more`);
  assert(after - idle <= frames, `${mib(after - idle)} MiB kept`);
});
