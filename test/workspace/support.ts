/** A workspace in a fresh folder, with a secret outside of it that no operation may reach. */
import { join } from "@std/path";
import {
  type DirectoryAccess,
  directoryAccess,
  PinnedRoot,
} from "../../src/workspace/root.ts";

/** Content that stands only outside the workspace. */
export const OUTSIDE = "outside-bytes-that-must-never-be-seen";

/** A folder with `workspace/` and `outside/secret.txt`, removed at the end. */
export class Fixture implements Disposable {
  readonly folder = Deno.makeTempDirSync();
  readonly workspace = join(this.folder, "workspace");
  readonly outside = join(this.folder, "outside");
  readonly secret = join(this.outside, "secret.txt");

  constructor() {
    Deno.mkdirSync(this.workspace);
    Deno.mkdirSync(this.outside);
    Deno.writeTextFileSync(this.secret, OUTSIDE);
  }

  root(access: DirectoryAccess): PinnedRoot {
    return new PinnedRoot(this.workspace, access);
  }

  path(...names: string[]): string {
    return join(this.workspace, ...names);
  }

  file(path: string, content: string | Uint8Array): void {
    const whole = this.path(path);
    Deno.mkdirSync(join(whole, ".."), { recursive: true });
    if (typeof content === "string") Deno.writeTextFileSync(whole, content);
    else Deno.writeFileSync(whole, content);
  }

  /** Every name below the workspace, for "nothing else appeared" assertions. */
  tree(folder = this.workspace, prefix = ""): string[] {
    const names: string[] = [];
    for (const entry of Deno.readDirSync(folder)) {
      names.push(prefix + entry.name);
      if (entry.isDirectory) {
        names.push(
          ...this.tree(join(folder, entry.name), `${prefix}${entry.name}/`),
        );
      }
    }
    return names.sort();
  }

  /** Descriptors of this process that are open below the fixture: other tests have their own. */
  openDescriptors(): number {
    let count = 0;
    for (const entry of Deno.readDirSync("/proc/self/fd")) {
      try {
        const target = Deno.readLinkSync(`/proc/self/fd/${entry.name}`);
        if (target.startsWith(this.folder)) count++;
      } catch (error) {
        // The descriptor of the listing itself, or one of another thread, is gone again.
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    }
    return count;
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.folder, { recursive: true });
  }
}

/** Both ways to hold a directory, so that the weaker one is tested on this system too. */
export const ACCESSES: readonly (readonly [string, DirectoryAccess])[] = [
  ["descriptors", directoryAccess("linux")],
  ["verified paths", directoryAccess("darwin")],
];

/** Makes a FIFO. */
export function makeFifo(path: string): void {
  const made = new Deno.Command("mkfifo", { args: [path] }).outputSync();
  if (!made.success) throw new Error("mkfifo failed");
}

/** `text` as bytes. */
export function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
