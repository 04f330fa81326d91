/**
 * Owns the workspace of a bound scenario: a fresh folder with the scenario's files, served by the
 * production parts, and what is in it at the end.
 */
import { dirname, join } from "@std/path";
import { openBoundParts } from "../../src/cli/bound_parts.ts";
import type { BoundParts } from "../../src/cli/session_parts.ts";
import { spawnChild } from "../../src/harness/supervised_child.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { outsideDouble } from "../cli/outside_double.ts";
import { RecordingLog } from "../support/recording_log.ts";

/** The Environment and Session of every bound scenario. */
export const ENVIRONMENT = "11111111-1111-4111-8111-111111111111";
export const SESSION = "22222222-2222-4222-8222-222222222222";

/** See the file comment. */
export class BoundFolder {
  readonly #folder: string;
  readonly parts: BoundParts;

  private constructor(folder: string, parts: BoundParts) {
    this.#folder = folder;
    this.parts = parts;
  }

  static async open(
    files: Readonly<Record<string, string>>,
  ): Promise<BoundFolder> {
    const folder = await Deno.makeTempDir();
    const root = join(folder, "workspace");
    const stateDirectory = join(folder, "state");
    await Deno.mkdir(root);
    await Deno.mkdir(stateDirectory, { mode: 0o700 });
    for (const [path, text] of Object.entries(files)) {
      const whole = join(root, path);
      await Deno.mkdir(dirname(whole), { recursive: true });
      await Deno.writeTextFile(whole, text);
    }
    const parts = await openBoundParts(
      { environmentId: ENVIRONMENT, sessionId: SESSION, root },
      {
        stateDirectory,
        outside: {
          ...outsideDouble(),
          environment: { PATH: Deno.env.get("PATH") ?? "" },
          clock: systemClock,
        },
        log: new RecordingLog(),
        spawn: spawnChild,
      },
    );
    return new BoundFolder(folder, parts);
  }

  files(): Record<string, string> {
    const root = join(this.#folder, "workspace");
    const found: Record<string, string> = {};
    const walk = (folder: string, prefix: string) => {
      for (const { name, isDirectory } of Deno.readDirSync(folder)) {
        const path = join(folder, name);
        if (isDirectory) walk(path, `${prefix}${name}/`);
        else found[prefix + name] = Deno.readTextFileSync(path);
      }
    };
    walk(root, "");
    return found;
  }

  remove(): void {
    Deno.removeSync(this.#folder, { recursive: true });
  }
}
