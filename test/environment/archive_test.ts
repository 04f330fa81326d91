import { assertEquals, assertRejects } from "@std/assert";
import { readArchive } from "../../src/environment/archive.ts";
import { InvalidPackage } from "../../src/environment/package_files.ts";
import { skillText, zip, type ZipItem } from "./support.ts";

Deno.test("an archive gives its files without the wrapper, and their execute bit", async () => {
  const files = await readArchive(
    await zip([
      { name: "wrapper/" },
      { name: "wrapper/SKILL.md", text: skillText() },
      { name: "wrapper/bin/run", text: "#!/bin/sh\n", mode: 0o100755 },
      { name: "wrapper/größe", text: "x" },
    ]),
  );
  assertEquals(
    files.map((file) => [file.path, file.data.length, file.executable]),
    [["SKILL.md", skillText().length, false], ["bin/run", 10, true], [
      "größe",
      1,
      false,
    ]],
  );
});

const many = Array.from({ length: 1001 }, (_, n) => ({ name: `w/${n}` }));

const refused: readonly (readonly [string, readonly ZipItem[]])[] = [
  ["nothing in it", []],
  ["1001 entries", many],
  ["a file beside the wrapper", [{ name: "SKILL.md", text: "x" }]],
  ["two wrappers", [{ name: "a/x" }, { name: "b/x" }]],
  ["a parent step", [{ name: "w/../x" }]],
  ["a parent at its start", [{ name: "../x" }]],
  ["an absolute name", [{ name: "/w/x" }]],
  ["an empty component", [{ name: "w//x" }]],
  ["a dot component", [{ name: "w/./x" }]],
  ["a backslash", [{ name: "w/a\\b" }]],
  ["a line feed", [{ name: "w/a\nb" }]],
  ["a NUL", [{ name: "w/a\0b" }]],
  ["a symbolic link", [{
    name: "w/link",
    text: "/etc/passwd",
    mode: 0o120777,
  }]],
  ["a FIFO", [{ name: "w/fifo", mode: 0o010644 }]],
  ["a device", [{ name: "w/device", mode: 0o020644 }]],
  ["a file that is a parent", [{ name: "w/a", text: "x" }, { name: "w/a/b" }]],
  ["an encrypted entry", [{ name: "w/a", text: "x", password: "secret" }]],
  ["a name of 4097 bytes", [{ name: `w/${"x".repeat(4095)}` }]],
  ["more than 20 MiB expanded", [{
    name: "w/a",
    text: "x".repeat(20 * 1024 * 1024 + 1),
  }]],
];

Deno.test("an archive that breaks a rule is refused whole", async (t) => {
  for (const [what, items] of refused) {
    await t.step(what, async () => {
      const data = await zip(items);
      await assertRejects(() => readArchive(data), InvalidPackage);
    });
  }
  await t.step("not a ZIP", async () => {
    const data = new TextEncoder().encode("not a zip at all");
    await assertRejects(() => readArchive(data), InvalidPackage);
  });
  await t.step("more than 5 MiB compressed", async () => {
    const data = new Uint8Array(5 * 1024 * 1024 + 1);
    await assertRejects(() => readArchive(data), InvalidPackage, "too large");
  });
  await t.step("content that does not match its checksum", async () => {
    const data = await zip([{ name: "w/a", text: "checksummed content" }]);
    const view = new DataView(data.buffer);
    const position = 30 + view.getUint16(26, true) + view.getUint16(28, true);
    data[position + 4] = (data[position + 4] ?? 0) ^ 0xff;
    await assertRejects(() => readArchive(data), InvalidPackage);
  });
  await t.step("cut short", async () => {
    const data = await zip([{ name: "w/a", text: "x" }]);
    await assertRejects(
      () => readArchive(data.subarray(0, -10)),
      InvalidPackage,
    );
  });
});

Deno.test("1000 entries are allowed", async () => {
  assertEquals((await readArchive(await zip(many.slice(1)))).length, 1000);
});
