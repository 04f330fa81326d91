/** Archives and a bound installation in fresh folders. */
import { Uint8ArrayReader, Uint8ArrayWriter, ZipWriter } from "@zip.js/zip.js";
import { join } from "@std/path";
import type { InstallationParts } from "../../src/environment/installation.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemIds } from "../../src/platform/ids.ts";
import { directoryAccess, PinnedRoot } from "../../src/workspace/root.ts";
import { WorkspaceWriter } from "../../src/workspace/writer.ts";
import { spawnChild } from "../../src/harness/supervised_child.ts";
import { RecordingLog } from "../support/recording_log.ts";

const REGULAR = 0o100644;

/** One entry of a test archive; a name ending in `/` is a directory. */
export interface ZipItem {
  readonly name: string;
  readonly text?: string;
  /** The whole Unix mode; a plain file when absent. */
  readonly mode?: number;
  readonly password?: string;
}

/** A ZIP with exactly these entries. */
export async function zip(
  items: readonly ZipItem[],
): Promise<Uint8Array<ArrayBuffer>> {
  const writer = new ZipWriter(new Uint8ArrayWriter(), {
    useWebWorkers: false,
    keepOrder: true,
    usdz: false,
  });
  for (const { name, text = "", mode = REGULAR, password } of items) {
    const directory = name.endsWith("/");
    await writer.add(
      name,
      directory
        ? undefined
        : new Uint8ArrayReader(new TextEncoder().encode(text)),
      {
        directory,
        versionMadeBy: (3 << 8) | 20,
        externalFileAttributes: ((directory ? 0o040755 : mode) << 16) >>> 0,
        ...(password === undefined ? {} : { password }),
      },
    );
  }
  return new Uint8Array(await writer.close());
}

/** A `SKILL.md`. */
export function skillText(name = "example", description = "Example"): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n# Steps\n`;
}

/** Folders of one bound daemon, removed at the end. */
export class Installation implements Disposable {
  readonly folder = Deno.makeTempDirSync();
  readonly log = new RecordingLog();
  readonly workspacePath = this.#made("workspace");
  readonly parts: InstallationParts;

  constructor() {
    const access = directoryAccess("linux");
    const workspace = new PinnedRoot(this.workspacePath, access);
    this.parts = {
      identity: {
        environmentId: "11111111-1111-4111-8111-111111111111",
        sessionId: "22222222-2222-4222-8222-222222222222",
      },
      workspace,
      writer: new WorkspaceWriter(workspace, systemIds, systemClock),
      capabilities: new PinnedRoot(this.#made("capabilities"), access),
      markerDirectory: join(this.folder, "markers"),
      tools: {
        initializationDirectory: join(this.folder, "initialization"),
        packageDirectory: join(this.folder, "packages"),
        system: "linux",
        daemonEnvironment: {
          PATH: Deno.env.get("PATH") ?? "",
          HOME: this.folder,
          AGENT_DAEMON_TOKEN_FILE: "/canary/never-passed-on",
          OPENAI_API_KEY: "canary-key-never-passed-on",
        },
      },
      access,
      spawn: spawnChild,
      clock: systemClock,
      log: this.log,
    };
  }

  path(...names: string[]): string {
    return join(this.folder, ...names);
  }

  [Symbol.dispose](): void {
    new Deno.Command("chmod", { args: ["-R", "u+rwX", this.folder] })
      .outputSync();
    Deno.removeSync(this.folder, { recursive: true });
  }

  #made(name: string): string {
    const path = join(this.folder, name);
    Deno.mkdirSync(path, { mode: 0o700 });
    return path;
  }
}
