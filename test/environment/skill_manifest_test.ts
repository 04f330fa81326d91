import { assertEquals, assertThrows } from "@std/assert";
import { InvalidPackage } from "../../src/environment/package_files.ts";
import { readSkillManifest } from "../../src/environment/skill_manifest.ts";

function read(text: string) {
  return readSkillManifest({
    path: "SKILL.md",
    data: new TextEncoder().encode(text),
    executable: false,
  });
}

Deno.test("a Skill's head gives its name and description", () => {
  const expected = { name: "a-b_c1", description: "What it: does" };
  for (
    const text of [
      '---\nname: a-b_c1\ndescription: "What it: does"\n---\nbody\n',
      '---\r\nname: a-b_c1\r\ndescription: "What it: does"\r\n---\r\nbody',
      '---\nname: a-b_c1\ndescription: "What it: does"\n---',
      '---\nname: a-b_c1\ndescription: "What it: does"\nlicense: MIT\ncompatibility: any\nmetadata:\n  author: "1"\n---\n',
    ]
  ) assertEquals(read(text), expected, text);
});

const refused: readonly (readonly [string, string])[] = [
  ["no head", "# body"],
  ["a head that does not end", "---\nname: a\ndescription: b\n"],
  ["a longer fence", "---\nname: a\ndescription: b\n----\n"],
  ["text before the head", "x\n---\nname: a\ndescription: b\n---\n"],
  ["no name", "---\ndescription: b\n---\n"],
  ["no description", "---\nname: a\n---\n"],
  ["an empty description", '---\nname: a\ndescription: ""\n---\n'],
  ["a number as description", "---\nname: a\ndescription: 1\n---\n"],
  [
    "a boolean as license",
    "---\nname: a\ndescription: b\nlicense: true\n---\n",
  ],
  [
    "null as compatibility",
    "---\nname: a\ndescription: b\ncompatibility:\n---\n",
  ],
  [
    "an unknown member",
    "---\nname: a\ndescription: b\nallowed-tools: Bash\n---\n",
  ],
  ["a repeated member", "---\nname: a\nname: a\ndescription: b\n---\n"],
  [
    "metadata that is a list",
    "---\nname: a\ndescription: b\nmetadata: [x]\n---\n",
  ],
  [
    "metadata with a number",
    "---\nname: a\ndescription: b\nmetadata:\n  x: 1\n---\n",
  ],
  ["an alias", "---\nname: &n a\ndescription: *n\n---\n"],
  ["a list", "---\n- name\n---\n"],
  ["two documents", "---\nname: a\ndescription: b\n...\nname: c\n---\n"],
  ["an upper-case name", "---\nname: A\ndescription: b\n---\n"],
  ["a name with a path", "---\nname: ../a\ndescription: b\n---\n"],
  ["a double dash", "---\nname: a--b\ndescription: b\n---\n"],
  ["a name of 65", `---\nname: ${"a".repeat(65)}\ndescription: b\n---\n`],
  [
    "more than 256 KiB",
    `---\nname: a\ndescription: b\n---\n${"x".repeat(262_144)}`,
  ],
];

Deno.test("a head with anything else is refused", async (t) => {
  for (const [what, text] of refused) {
    await t.step(what, () => {
      assertThrows(() => read(text), InvalidPackage);
    });
  }
  await t.step("not UTF-8", () => {
    assertThrows(() =>
      readSkillManifest({
        path: "SKILL.md",
        data: new Uint8Array([0x2d, 0x2d, 0x2d, 0x0a, 0xff]),
        executable: false,
      }), InvalidPackage);
  });
});
