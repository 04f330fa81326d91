import { assertEquals } from "@std/assert";
import {
  compareUtf8,
  type ListOutcome,
  type ListRefusal,
  listWorkspaceDirectory,
} from "../../src/workspace/list_directory.ts";
import { ACCESSES, Fixture, makeFifo } from "./support.ts";

const rejected = (code: ListRefusal): ListOutcome => ({
  outcome: "rejected",
  code,
});

for (const [how, access] of ACCESSES) {
  Deno.test(`a listing (${how}) names kinds and sizes, sorted by UTF-8 bytes`, async () => {
    using fixture = new Fixture();
    fixture.file("b.txt", "abc");
    fixture.file("folder/inner", "x");
    fixture.file("\u{1f600}", "");
    fixture.file("\uffee", "");
    Deno.symlinkSync("b.txt", fixture.path("link"));
    makeFifo(fixture.path("fifo"));
    const before = fixture.openDescriptors();
    assertEquals(await listWorkspaceDirectory(fixture.root(access), "", 1024), {
      outcome: "completed",
      entries: [
        { name: "b.txt", kind: "file", size_bytes: 3 },
        { name: "fifo", kind: "other", size_bytes: null },
        { name: "folder", kind: "directory", size_bytes: null },
        { name: "link", kind: "symlink", size_bytes: null },
        { name: "\uffee", kind: "file", size_bytes: 0 },
        { name: "\u{1f600}", kind: "file", size_bytes: 0 },
      ],
      truncated: false,
    });
    assertEquals(fixture.openDescriptors(), before);
  });

  Deno.test(`a listing (${how}) is cut exactly at its limit and says so`, async () => {
    using fixture = new Fixture();
    for (let index = 0; index < 5; index++) fixture.file(`f${index}`, "");
    const root = fixture.root(access);
    for (
      const [limit, count, truncated] of [[4, 4, true], [5, 5, false], [
        6,
        5,
        false,
      ]] as const
    ) {
      const outcome = await listWorkspaceDirectory(root, "", limit);
      assertEquals(
        outcome.outcome === "completed" &&
          [outcome.entries.length, outcome.truncated],
        [count, truncated],
      );
    }
  });

  Deno.test(`a listing (${how}) refuses whatever is no real directory`, async () => {
    using fixture = new Fixture();
    fixture.file("file", "x");
    Deno.symlinkSync(fixture.outside, fixture.path("linked"));
    Deno.mkdirSync(fixture.path("empty"));
    makeFifo(fixture.path("fifo"));
    const root = fixture.root(access);
    for (
      const path of [
        "missing",
        "file",
        "linked",
        "linked/deeper",
        "fifo",
        "file/x",
      ]
    ) {
      assertEquals(
        await listWorkspaceDirectory(root, path, 10),
        rejected("not_directory"),
        path,
      );
    }
    for (const path of [".", "/", "a/", "..", "a//b"]) {
      assertEquals(
        await listWorkspaceDirectory(root, path, 10),
        rejected("invalid_request"),
        path,
      );
    }
    assertEquals(await listWorkspaceDirectory(root, "empty", 10), {
      outcome: "completed",
      entries: [],
      truncated: false,
    });
  });

  Deno.test(`one name that is no UTF-8 (${how}) refuses the whole listing`, async () => {
    using fixture = new Fixture();
    fixture.file("good", "x");
    const made = new Deno.Command("bash", {
      args: ["-c", `touch "$1"/$'bad\\xff'`, "-", fixture.workspace],
    }).outputSync();
    assertEquals(made.success, true);
    assertEquals(
      await listWorkspaceDirectory(fixture.root(access), "", 10),
      rejected("invalid_request"),
    );
  });
}

Deno.test("byte order is a total order and differs from UTF-16 order above U+FFFF", () => {
  assertEquals(compareUtf8("a", "a"), 0);
  assertEquals(compareUtf8("a", "ab") < 0, true);
  assertEquals(compareUtf8("\uffee", "\u{10000}") < 0, true);
  assertEquals("\uffee" < "\u{10000}", false);
});
