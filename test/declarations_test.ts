import { assert, assertEquals } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { CAPABILITY_NAMES } from "../src/protocol/capabilities.ts";
import { DECLARATIONS, formattedPage } from "./support/capabilities_page.ts";

const here = fromFileUrl(new URL(".", import.meta.url));

/** Every quoted text of a folder's test files, with line breaks of the formatter undone. */
async function textsOf(folder: string): Promise<string> {
  let texts = "";
  for await (const entry of Deno.readDir(join(here, "native", folder))) {
    if (!entry.name.endsWith("_test.ts")) continue;
    texts += await Deno.readTextFile(join(here, "native", folder, entry.name));
  }
  return texts;
}

/** The fields whose test takes its name from the declaration: `proves("field", …)`. */
function provedByField(texts: string): ReadonlySet<string> {
  const fields = new Set<string>();
  for (const [call] of texts.matchAll(/\bproves\([^)]*/g)) {
    for (const [, field] of call.matchAll(/"([a-z_]+)"/g)) {
      if (field) fields.add(field);
    }
  }
  return fields;
}

for (const { kind, folder, rows } of DECLARATIONS) {
  Deno.test(`${kind} decides every field, and every yes names a native test that exists`, async () => {
    assertEquals(Object.keys(rows).sort(), [...CAPABILITY_NAMES].sort());
    const texts = await textsOf(folder);
    const byField = provedByField(texts);
    const unproved: string[] = [];
    for (const name of CAPABILITY_NAMES) {
      const row = rows[name];
      if (!row || row.supported === "never") {
        assert(row?.reason, `${name} is false without a reason`);
        continue;
      }
      const test = row.provenBy ?? "";
      const isNamed = texts.includes(JSON.stringify(test).slice(1, -1));
      if (test === "" || (!isNamed && !byField.has(name))) {
        unproved.push(`${name}: ${test}`);
      }
    }
    assertEquals(unproved, []);
  });
}

Deno.test("the capability page is the one the declarations make", async () => {
  const page = await Deno.readTextFile(join(here, "../docs/capabilities.md"));
  assertEquals(page, await formattedPage());
});
