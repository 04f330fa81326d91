import { assertEquals } from "@std/assert";
import {
  type ReadOutcome,
  type ReadRefusal,
  readWorkspaceFile,
} from "../../src/workspace/read_file.ts";
import { ACCESSES, bytes, Fixture, makeFifo } from "./support.ts";

const rejected = (code: ReadRefusal): ReadOutcome => ({
  outcome: "rejected",
  code,
});

for (const [how, access] of ACCESSES) {
  Deno.test(`a read (${how}) gives the prefix and says exactly when more existed`, async () => {
    using fixture = new Fixture();
    fixture.file("d/f", "hello");
    fixture.file("empty", "");
    const root = fixture.root(access);
    for (
      const [limit, text, truncated] of [[1, "h", true], [4, "hell", true], [
        5,
        "hello",
        false,
      ], [6, "hello", false]] as const
    ) {
      assertEquals(await readWorkspaceFile(root, "d/f", limit), {
        outcome: "completed",
        data: bytes(text),
        truncated,
      });
    }
    assertEquals(await readWorkspaceFile(root, "empty", 1), {
      outcome: "completed",
      data: bytes(""),
      truncated: false,
    });
  });

  Deno.test(`a read (${how}) refuses with the code of what stands there, promptly and without a handle left`, async () => {
    using fixture = new Fixture();
    fixture.file("file", "x");
    fixture.file("folder/inner", "x");
    Deno.symlinkSync(fixture.secret, fixture.path("link"));
    Deno.symlinkSync(fixture.outside, fixture.path("linked"));
    Deno.symlinkSync("folder", fixture.path("inside"));
    Deno.symlinkSync("nowhere", fixture.path("dangling"));
    makeFifo(fixture.path("fifo"));
    const root = fixture.root(access);
    const before = fixture.openDescriptors();
    const table: readonly (readonly [string, ReadRefusal])[] = [
      ["missing", "not_found"],
      ["missing/deep", "not_found"],
      ["file/below", "not_found"],
      ["folder", "invalid_request"],
      ["link", "invalid_request"],
      ["dangling", "invalid_request"],
      ["linked/secret.txt", "invalid_request"],
      ["inside/inner", "invalid_request"],
      ["fifo", "invalid_request"],
      ["", "invalid_request"],
      ["..", "invalid_request"],
      ["a/../file", "invalid_request"],
      ["x".repeat(256), "invalid_request"],
    ];
    for (const [path, code] of table) {
      assertEquals(
        await readWorkspaceFile(root, path, 10),
        rejected(code),
        path,
      );
    }
    assertEquals(fixture.openDescriptors(), before);
  });

  Deno.test(`another directory at the root's path (${how}) is not served`, async () => {
    using fixture = new Fixture();
    fixture.file("f", "x");
    const root = fixture.root(access);
    Deno.renameSync(fixture.workspace, `${fixture.workspace}-away`);
    assertEquals(
      await readWorkspaceFile(root, "f", 1),
      rejected("resource_unavailable"),
    );
    Deno.mkdirSync(fixture.workspace);
    fixture.file("f", "other");
    assertEquals(
      await readWorkspaceFile(root, "f", 1),
      rejected("resource_unavailable"),
    );
  });
}
