/** Every test that the security page names exists, under that name, in that file. */
import { assert } from "@std/assert";
import { fromFileUrl, join } from "@std/path";

const root = fromFileUrl(new URL("..", import.meta.url));

Deno.test("the security page names only tests that are there", async () => {
  const page = await Deno.readTextFile(join(root, "docs/security.md"));
  const named = page.split("\n").filter((line) => line.startsWith("| "))
    .flatMap((line) => line.split(/; | \| /))
    .flatMap((each) => [...each.matchAll(/^_(.+)_ \(`(test\/[^`]+)`\)/g)]);
  assert(named.length > 30, `only ${named.length}`);
  for (const [, name = "", file = ""] of named) {
    const text = await Deno.readTextFile(join(root, file));
    assert(text.includes(name), `${file}: ${name}`);
  }
});

Deno.test("every requirement has a test or a reason", async () => {
  const page = await Deno.readTextFile(join(root, "docs/security.md"));
  const [, table = ""] = page.split("## Requirements and their proof");
  const rows = table.split("\n").filter((line) => line.startsWith("| "));
  assert(rows.length > 18);
  for (const row of rows) {
    const [, requirement = "", proof = ""] = row.split(" | ").length === 2
      ? ["", ...row.split(" | ")]
      : [];
    assert(requirement.length > 2 && proof.trim().length > 2, row);
  }
});
