/** Reads the manifest of a Skill: the YAML head of its `SKILL.md`. */
import { isMap, isScalar, parseAllDocuments } from "yaml";
import {
  InvalidPackage,
  manifestText,
  type PackageFile,
} from "./package_files.ts";

/** What a Skill calls itself. */
export interface SkillManifest {
  readonly name: string;
  readonly description: string;
}

/** The file that makes a directory a Skill. */
export const SKILL_FILE = "SKILL.md";
const NAME = /^[a-z0-9]+(?:[-_][a-z0-9]+)*$/;
/** The longest Skill name, in bytes. */
const NAME_BYTES = 64;
const TEXT_MEMBERS: ReadonlySet<string> = new Set([
  "name",
  "description",
  "license",
  "compatibility",
]);

/**
 * The manifest in a `SKILL.md`. Members outside the known ones are refused, because a Harness might
 * give them authority.
 *
 * @throws {InvalidPackage} when it is not exactly such a manifest.
 */
export function readSkillManifest(file: PackageFile): SkillManifest {
  const members = new Map<string, string>();
  const documents = parseAllDocuments(head(manifestText(file)), {
    uniqueKeys: true,
    strict: true,
    merge: false,
  });
  const document = Array.isArray(documents) && documents.length === 1
    ? documents[0]
    : undefined;
  if (!document || document.errors.length > 0 || !isMap(document.contents)) {
    throw new InvalidPackage("a Skill's head is not one YAML mapping");
  }
  for (const { key, value } of document.contents.items) {
    const name = stringOf(key);
    if (name === "metadata") checkMetadata(value);
    else if (TEXT_MEMBERS.has(name)) members.set(name, stringOf(value));
    else throw new InvalidPackage("a Skill's head has an unknown member");
  }
  const name = members.get("name") ?? "";
  const description = members.get("description") ?? "";
  if (!NAME.test(name) || name.length > NAME_BYTES || description === "") {
    throw new InvalidPackage("a Skill lacks its name or description");
  }
  return { name, description };
}

/** The lines between the opening `---` and the next one. */
function head(text: string): string {
  const lines = text.replaceAll("\r\n", "\n");
  if (!lines.startsWith("---\n")) {
    throw new InvalidPackage("a Skill has no head");
  }
  const end = lines.indexOf("\n---", 3);
  const after = lines[end + 4];
  if (end < 0 || (after !== undefined && after !== "\n")) {
    throw new InvalidPackage("a Skill's head does not end");
  }
  return lines.slice(4, end + 1);
}

function stringOf(node: unknown): string {
  if (!isScalar(node) || typeof node.value !== "string") {
    throw new InvalidPackage("a Skill's member is not a string");
  }
  return node.value;
}

function checkMetadata(node: unknown): void {
  if (!isMap(node)) {
    throw new InvalidPackage("a Skill's metadata is not a mapping");
  }
  for (const { key, value } of node.items) {
    stringOf(key);
    stringOf(value);
  }
}

/**
 * The Skills below `roots` of a package, each named by the directory of its `SKILL.md`; the name of
 * that file is matched without case.
 */
export function findSkills(
  files: readonly PackageFile[],
  roots: readonly string[],
): readonly { readonly directory: string; readonly manifest: SkillManifest }[] {
  const found = [];
  for (const file of files) {
    const parts = file.path.split("/");
    if (parts.at(-1)?.toLowerCase() !== SKILL_FILE.toLowerCase()) continue;
    const directory = parts.slice(0, -1).join("/");
    const isBelow = roots.some((root) =>
      root === "" || directory === root || directory.startsWith(`${root}/`)
    );
    if (isBelow) {
      found.push({ directory, manifest: readSkillManifest(file) });
    }
  }
  return found;
}
