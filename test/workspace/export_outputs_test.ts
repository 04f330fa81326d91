import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path";
import {
  EXPORT_BOUNDS,
  ExportFailed,
  exportOutputs,
} from "../../src/workspace/export_outputs.ts";
import type { PinnedRoot } from "../../src/workspace/root.ts";
import { ACCESSES, bytes, Fixture, makeFifo } from "./support.ts";

async function archive(
  root: PinnedRoot,
  bounds = EXPORT_BOUNDS,
): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  for await (const piece of exportOutputs(root, bounds)) {
    assert(piece.length > 0 && piece.length <= 64 * 1024);
    pieces.push(piece.slice());
  }
  return new Uint8Array(await new Blob(pieces as BlobPart[]).arrayBuffer());
}

/** Unpacks with the system's tar, so that the format is judged by someone else. */
function unpack(fixture: Fixture, data: Uint8Array): Map<string, string> {
  const file = join(fixture.folder, "a.tar");
  const target = join(fixture.folder, "unpacked");
  Deno.writeFileSync(file, data);
  Deno.mkdirSync(target);
  const tar = new Deno.Command("tar", { args: ["xf", file, "-C", target] })
    .outputSync();
  assertEquals(new TextDecoder().decode(tar.stderr), "");
  const found = new Map<string, string>();
  for (const path of fixture.tree(target)) {
    if (Deno.statSync(join(target, path)).isFile) {
      found.set(path, Deno.readTextFileSync(join(target, path)));
    }
  }
  return found;
}

for (const [how, access] of ACCESSES) {
  Deno.test(`an export (${how}) holds the regular files of outputs and nothing else`, async () => {
    using fixture = new Fixture();
    const long = `${"d".repeat(90)}/${"n".repeat(200)}`;
    fixture.file("outputs/b", "bee");
    fixture.file("outputs/a/inner", "x".repeat(513));
    fixture.file("outputs/empty", "");
    fixture.file("outputs/größe", "umlaut");
    fixture.file(`outputs/${long}`, "long");
    fixture.file("elsewhere", "no");
    Deno.mkdirSync(fixture.path("outputs/nothing"));
    Deno.symlinkSync(fixture.secret, fixture.path("outputs/link"));
    const before = fixture.openDescriptors();
    const data = await archive(fixture.root(access));
    assertEquals(fixture.openDescriptors(), before);
    assertEquals(data.length % 512, 0);
    assertEquals(
      unpack(fixture, data),
      new Map([
        ["outputs/a/inner", "x".repeat(513)],
        ["outputs/b", "bee"],
        [`outputs/${long}`, "long"],
        ["outputs/empty", ""],
        ["outputs/größe", "umlaut"],
      ]),
    );
  });

  Deno.test(`an export (${how}) without outputs is an empty closed archive`, async () => {
    using fixture = new Fixture();
    assertEquals(await archive(fixture.root(access)), new Uint8Array(1024));
  });

  Deno.test(`an export (${how}) fails whole on anything it cannot represent or bound`, async () => {
    const bounds = { entries: 4, depth: 1, fileBytes: 10, contentBytes: 12 };
    const cases: readonly (readonly [string, (fixture: Fixture) => void])[] = [
      ["outputs is a file", (f) => f.file("outputs", "x")],
      [
        "outputs is a link",
        (f) => Deno.symlinkSync(f.outside, f.path("outputs")),
      ],
      ["a FIFO", (f) => {
        Deno.mkdirSync(f.path("outputs"));
        makeFifo(f.path("outputs/fifo"));
      }],
      ["too many entries", (f) => {
        for (let n = 0; n < 5; n++) f.file(`outputs/${n}`, "");
      }],
      ["too deep", (f) => f.file("outputs/a/b/c", "")],
      ["a file too large", (f) => f.file("outputs/a", "x".repeat(11))],
      ["all files too large", (f) => {
        f.file("outputs/a", "x".repeat(7));
        f.file("outputs/b", "x".repeat(6));
      }],
      ["a name with a line feed", (f) => f.file("outputs/a\nb", "")],
    ];
    for (const [what, arrange] of cases) {
      using fixture = new Fixture();
      arrange(fixture);
      const before = fixture.openDescriptors();
      await assertRejects(
        () => archive(fixture.root(access), bounds),
        ExportFailed,
        undefined,
        what,
      );
      assertEquals(fixture.openDescriptors(), before, what);
    }
    using fixture = new Fixture();
    fixture.file("outputs/a/b", "x".repeat(10));
    fixture.file("outputs/c", "xx");
    await archive(fixture.root(access), bounds);
  });

  Deno.test(`a file that changes while it is exported (${how}) fails the export`, async () => {
    for (const change of ["grow", "shrink", "rewrite"]) {
      using fixture = new Fixture();
      fixture.file("outputs/a", new Uint8Array(200_000));
      // Times of files go in ticks of the kernel: the change must not share one with the creation.
      Deno.utimeSync(fixture.path("outputs/a"), 1_000_000, 1_000_000);
      await assertRejects(async () => {
        let pieces = 0;
        for await (const _piece of exportOutputs(fixture.root(access))) {
          if (++pieces !== 2) continue;
          const path = fixture.path("outputs/a");
          if (change === "grow") {
            Deno.writeFileSync(path, bytes("x"), { append: true });
          }
          if (change === "shrink") Deno.truncateSync(path, 70_000);
          if (change === "rewrite") {
            using file = Deno.openSync(path, { write: true });
            file.writeSync(bytes("y"));
          }
        }
      }, ExportFailed);
    }
  });

  Deno.test(`an export (${how}) that is abandoned holds no handle`, async () => {
    using fixture = new Fixture();
    fixture.file("outputs/a/b", new Uint8Array(200_000));
    const before = fixture.openDescriptors();
    const stream = exportOutputs(fixture.root(access));
    await stream.next();
    await stream.next();
    assert(fixture.openDescriptors() > before || how !== "descriptors");
    await stream.return();
    assertEquals(fixture.openDescriptors(), before);
  });
}
