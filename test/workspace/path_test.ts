import { assertEquals } from "@std/assert";
import {
  isComponent,
  logicalComponents,
  relativeComponents,
} from "../../src/workspace/path.ts";

const accepted: readonly (readonly [string, readonly string[]])[] = [
  ["", []],
  ["a", ["a"]],
  ["a/b.txt", ["a", "b.txt"]],
  ["ä/ö", ["ä", "ö"]],
  [" leading and trailing ", [" leading and trailing "]],
  ["...", ["..."]],
  [".hidden/..x", [".hidden", "..x"]],
  ["a:b", ["a:b"]],
  ["con", ["con"]],
  ["x".repeat(255), ["x".repeat(255)]],
  [
    Array.from({ length: 16 }, () => "y".repeat(255)).join("/"),
    Array.from({ length: 16 }, () => "y".repeat(255)),
  ],
];

const refused: readonly string[] = [
  ".",
  "..",
  "/",
  "/a",
  "a/",
  "a//b",
  "a/../b",
  "a/./b",
  "../a",
  "a/..",
  "a\\b",
  "a\0b",
  "a\nb",
  "a\rb",
  "\ud800",
  "x".repeat(256),
  "ä".repeat(128),
  `${"y".repeat(255)}/`.repeat(16) + "y",
];

Deno.test("a relative path is taken as it is or refused, never normalised", async (t) => {
  for (const [path, components] of accepted) {
    await t.step(`accepts ${JSON.stringify(path).slice(0, 40)}`, () => {
      assertEquals(relativeComponents(path, "posix"), components);
    });
  }
  for (const path of refused) {
    await t.step(`refuses ${JSON.stringify(path).slice(0, 40)}`, () => {
      assertEquals(relativeComponents(path, "posix"), undefined);
    });
  }
});

Deno.test("Windows cannot be given a name that it would change or that is a device", () => {
  const names = ["a:b", "a ", "a.", "con", "CON.txt", "lpt9", "com¹", "conin$"];
  const wild = ["a*", "a?", 'a"', "a<", "a>", "a|", "\u0001"];
  for (const name of [...names, ...wild]) {
    assertEquals(isComponent(name, "windows"), false, name);
    assertEquals(isComponent(name, "posix"), true, name);
  }
  for (const name of ["console", "com", "com10", "a.b", " a", "nulls"]) {
    assertEquals(isComponent(name, "windows"), true, name);
  }
});

Deno.test("a logical path lies below /workspace", () => {
  assertEquals(logicalComponents("/workspace", "posix"), []);
  assertEquals(logicalComponents("/workspace/a/b", "posix"), ["a", "b"]);
  for (
    const path of [
      "",
      "workspace",
      "/",
      "/workspace/",
      "/workspaces",
      "/workspace/../x",
      "/workspace//x",
      "/environment/x",
      "C:\\workspace\\x",
    ]
  ) assertEquals(logicalComponents(path, "posix"), undefined, path);
});
