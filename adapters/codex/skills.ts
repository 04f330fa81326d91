/** Installed skills that the engine can take: each a directory with one `SKILL.md` and no settings. */
import { join } from "@std/path";

/** Entries looked at below one skill; a larger tree is no skill. */
const MAX_ENTRIES = 20_000;

/** @throws when a skill brings engine settings of its own or holds another skill. */
export async function checkSkills(
  directories: readonly string[],
): Promise<void> {
  for (const directory of directories) {
    let entries = 0;
    for await (const path of walk(directory)) {
      if (++entries > MAX_ENTRIES) {
        throw new Error("codex: a Skill holds too many files");
      }
      if (path === join(directory, "agents", "openai.yaml")) {
        throw new Error("codex: native Skill configuration is unsupported");
      }
      const nested = path.endsWith("SKILL.md") &&
        path !== join(directory, "SKILL.md");
      if (nested) {
        throw new Error("codex: nested native Skills are unsupported");
      }
    }
  }
}

async function* walk(directory: string): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(directory)) {
    const path = join(directory, entry.name);
    if (entry.isDirectory) yield* walk(path);
    else yield path;
  }
}
