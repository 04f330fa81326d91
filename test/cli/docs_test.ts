/**
 * The operators' documentation tells the truth: the reference is made from the settings table, the
 * exit codes are those of the program. Their commands are run by `test/docs_test.ts`.
 * `DOCS=write deno test -A test/cli/docs_test.ts` writes the generated part anew.
 */
import { assert } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { EXIT_CODES } from "../../src/cli/exit_codes.ts";
import { parseConfig } from "../../src/cli/config_file.ts";
import { settingEntries } from "../../src/cli/settings_table.ts";

const root = fromFileUrl(new URL("../..", import.meta.url));
const pages = [
  "docs/installation.md",
  "docs/configuration.md",
  "docs/operations.md",
  "docs/troubleshooting.md",
  "docs/security.md",
];

const read = (path: string) => Deno.readTextFile(join(root, path));

/** The blocks of a language. */
function blocks(text: string, language: string): string[] {
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
    .filter(([, each]) => each === language)
    .map(([, , body]) => body ?? "");
}

const BEGIN = "<!-- generated: settings -->";
const END = "<!-- end of generated -->";

function reference(): string {
  const lines = settingEntries().flatMap(([, setting]) => [
    `### \`${setting.member ?? "(no member)"}\``,
    "",
    setting.description,
    "",
    `- flag \`--${setting.flag} ${setting.placeholder}\`, variable \`${setting.variable}\``,
    `- ${setting.rule}`,
    `- default: ${
      setting.initialText ??
        (setting.initial === undefined ? "none" : String(setting.initial))
    }`,
    "",
  ]);
  return `${BEGIN}\n\n${lines.join("\n")}${END}`;
}

/** Words and order count, line breaks do not: a formatter sets them. */
function flat(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}

Deno.test("the configuration reference is made from the settings table", async () => {
  const path = join(root, "docs/configuration.md");
  let text = await Deno.readTextFile(path);
  if (Deno.env.get("DOCS") === "write") {
    text = text.slice(0, text.indexOf(BEGIN)) + reference() +
      text.slice(text.indexOf(END) + END.length);
    await Deno.writeTextFile(path, text);
  }
  assert(flat(text).includes(flat(reference())));
});

Deno.test("the example configuration is valid", async () => {
  const [example = ""] = blocks(await read("docs/configuration.md"), "jsonc");
  assert(parseConfig(example, "example").size > 5);
});

Deno.test("troubleshooting knows every exit code and its meaning", async () => {
  const text = await read("docs/troubleshooting.md");
  for (const { code } of Object.values(EXIT_CODES)) {
    assert(new RegExp(`^\\| ${code} +\\|`, "m").test(text), String(code));
  }
});

Deno.test("every link between the pages leads somewhere", async () => {
  for (const page of [...pages, "SECURITY.md"]) {
    const text = await read(page);
    for (const [, target = ""] of text.matchAll(/\]\(([^)#]+)[^)]*\)/g)) {
      if (/^https?:/.test(target)) continue;
      const directory = page.includes("/") ? "docs" : ".";
      await Deno.stat(join(root, directory, target));
    }
    for (const [, file = ""] of text.matchAll(/`(test\/[a-z_/]+(?:\.ts)?)`/g)) {
      await Deno.stat(join(root, file));
    }
  }
});
