/**
 * Directories held by descriptor, for Linux: a name is resolved through `/proc/self/fd/<descriptor>`,
 * which is the held directory whatever was renamed or swapped meanwhile. Each step opens exactly one
 * component and refuses links, so there is no window between a check and its use.
 */
import * as fs from "node:fs";
import {
  DescentError,
  descentError,
  type Directory,
  type EntryFacts,
  entryFacts,
  type Identity,
} from "./directory.ts";

const {
  O_CREAT,
  O_DIRECTORY,
  O_EXCL,
  O_NOFOLLOW,
  O_NONBLOCK,
  O_RDONLY,
  O_WRONLY,
} = fs.constants;

/** Opens the directory at an absolute path; its last component may be a link of the operator's. */
export function openDescriptorDirectory(path: string): Directory {
  try {
    return new DescriptorDirectory(
      fs.openSync(path, O_RDONLY | O_DIRECTORY),
      false,
    );
  } catch (error) {
    throw descentError(error);
  }
}

class DescriptorDirectory implements Directory {
  readonly identity: Identity;
  readonly isNew: boolean;
  readonly #descriptor: number;

  constructor(descriptor: number, isNew: boolean) {
    this.#descriptor = descriptor;
    this.isNew = isNew;
    const stat = fs.fstatSync(descriptor, { bigint: true });
    this.identity = { device: stat.dev, inode: stat.ino };
  }

  child(name: string): Directory {
    return this.#child(name, false);
  }

  #child(name: string, isNew: boolean): Directory {
    const path = this.#path(name);
    try {
      return new DescriptorDirectory(
        fs.openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK),
        isNew,
      );
    } catch (error) {
      // A link also answers ENOTDIR here; which of the two it was only chooses the refusal's code.
      throw descentError(
        error,
        this.#isLink(name) ? "link" : "not_directory",
      );
    }
  }

  makeChild(name: string): Directory {
    try {
      fs.mkdirSync(this.#path(name), 0o700);
    } catch (error) {
      const refused = descentError(error);
      if (refused.problem !== "exists") throw refused;
      return this.#child(name, false);
    }
    return this.#child(name, true);
  }

  openRegular(name: string): number {
    let descriptor: number;
    try {
      descriptor = fs.openSync(
        this.#path(name),
        O_RDONLY | O_NOFOLLOW | O_NONBLOCK,
      );
    } catch (error) {
      throw descentError(error);
    }
    if (fs.fstatSync(descriptor).isFile()) return descriptor;
    fs.closeSync(descriptor);
    throw new DescentError("not_regular");
  }

  createExclusive(name: string): number {
    try {
      return fs.openSync(
        this.#path(name),
        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
        0o600,
      );
    } catch (error) {
      throw descentError(error);
    }
  }

  facts(name: string): EntryFacts {
    try {
      return entryFacts(fs.lstatSync(this.#path(name), { bigint: true }));
    } catch (error) {
      throw descentError(error);
    }
  }

  link(from: string, to: string): void {
    try {
      fs.linkSync(this.#path(from), this.#path(to));
    } catch (error) {
      throw descentError(error);
    }
  }

  rename(from: string, to: string): void {
    try {
      fs.renameSync(this.#path(from), this.#path(to));
    } catch (error) {
      throw descentError(error);
    }
  }

  remove(name: string): void {
    try {
      fs.unlinkSync(this.#path(name));
    } catch (error) {
      throw descentError(error);
    }
  }

  removeEmpty(name: string): void {
    try {
      fs.rmdirSync(this.#path(name));
    } catch (error) {
      throw descentError(error);
    }
  }

  async *names(): AsyncIterable<string> {
    for await (const entry of Deno.readDir(this.#path("."))) yield entry.name;
  }

  sync(): Promise<void> {
    return new Promise((resolve, reject) =>
      fs.fsync(
        this.#descriptor,
        (error) => error ? reject(descentError(error)) : resolve(),
      )
    );
  }

  confirm(): void {}

  close(): void {
    fs.closeSync(this.#descriptor);
  }

  #path(name: string): string {
    return `/proc/self/fd/${this.#descriptor}/${name}`;
  }

  #isLink(name: string): boolean {
    try {
      return fs.lstatSync(this.#path(name)).isSymbolicLink();
    } catch (_gone) {
      return false; // it vanished meanwhile; the first error stands
    }
  }
}
