/**
 * Directories held by path, for systems without a way to resolve a name from a held directory
 * (macOS, Windows): every component is looked at without following it, and after an object was
 * opened the whole chain is looked at again. An exchange of a component between the two looks is
 * noticed; one that is undone again within them is not, and `docs/security.md` says so.
 */
import * as fs from "node:fs";
import { join } from "@std/path";
import {
  DescentError,
  descentError,
  type Directory,
  type EntryFacts,
  entryFacts,
  type Identity,
  sameObject,
} from "./directory.ts";

const { O_CREAT, O_EXCL, O_RDONLY, O_WRONLY } = fs.constants;
// Windows has neither; there the look before and after is what protects.
const O_NOFOLLOW = fs.constants.O_NOFOLLOW ?? 0;
const O_NONBLOCK = fs.constants.O_NONBLOCK ?? 0;

/** Opens the directory at an absolute path that holds no link. */
export function openVerifiedDirectory(path: string): Directory {
  return new VerifiedDirectory(path, undefined, false);
}

class VerifiedDirectory implements Directory {
  readonly identity: Identity;
  readonly isNew: boolean;
  readonly #path: string;
  readonly #parent: VerifiedDirectory | undefined;

  constructor(
    path: string,
    parent: VerifiedDirectory | undefined,
    isNew: boolean,
  ) {
    this.#path = path;
    this.isNew = isNew;
    this.#parent = parent;
    this.identity = directoryIdentity(path);
  }

  child(name: string): Directory {
    return this.#child(name, false);
  }

  #child(name: string, isNew: boolean): Directory {
    const child = new VerifiedDirectory(join(this.#path, name), this, isNew);
    this.confirm();
    return child;
  }

  makeChild(name: string): Directory {
    this.confirm();
    try {
      fs.mkdirSync(join(this.#path, name), 0o700);
    } catch (error) {
      const refused = descentError(error);
      if (refused.problem !== "exists") throw refused;
      return this.#child(name, false);
    }
    return this.#child(name, true);
  }

  openRegular(name: string): number {
    const before = this.facts(name);
    if (before.kind === "symlink") throw new DescentError("link");
    if (before.kind !== "file") throw new DescentError("not_regular");
    return this.#opened(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, before);
  }

  createExclusive(name: string): number {
    this.confirm();
    return this.#opened(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
  }

  facts(name: string): EntryFacts {
    let facts: EntryFacts;
    try {
      facts = entryFacts(
        fs.lstatSync(join(this.#path, name), { bigint: true }),
      );
    } catch (error) {
      throw descentError(error);
    }
    this.confirm();
    return facts;
  }

  link(from: string, to: string): void {
    this.confirm();
    try {
      fs.linkSync(join(this.#path, from), join(this.#path, to));
    } catch (error) {
      throw descentError(error);
    }
    this.confirm();
  }

  rename(from: string, to: string): void {
    this.confirm();
    try {
      fs.renameSync(join(this.#path, from), join(this.#path, to));
    } catch (error) {
      throw descentError(error);
    }
    this.confirm();
  }

  remove(name: string): void {
    this.confirm();
    try {
      fs.unlinkSync(join(this.#path, name));
    } catch (error) {
      throw descentError(error);
    }
  }

  removeEmpty(name: string): void {
    this.confirm();
    try {
      fs.rmdirSync(join(this.#path, name));
    } catch (error) {
      throw descentError(error);
    }
  }

  async *names(): AsyncIterable<string> {
    for await (const entry of Deno.readDir(this.#path)) yield entry.name;
    this.confirm();
  }

  async sync(): Promise<void> {
    if (Deno.build.os === "windows") return; // it cannot sync a directory
    const file = await Deno.open(this.#path, { read: true });
    try {
      await file.sync();
    } finally {
      file.close();
    }
  }

  confirm(): void {
    this.#parent?.confirm();
    if (!sameObject(directoryIdentity(this.#path), this.identity)) {
      throw new DescentError("link");
    }
  }

  close(): void {}

  #opened(name: string, flags: number, expected?: Identity): number {
    let descriptor: number;
    try {
      descriptor = fs.openSync(join(this.#path, name), flags, 0o600);
    } catch (error) {
      throw descentError(error);
    }
    try {
      const stat = fs.fstatSync(descriptor, { bigint: true });
      if (!stat.isFile()) throw new DescentError("not_regular");
      const opened = { device: stat.dev, inode: stat.ino };
      if (expected && !sameObject(opened, expected)) {
        throw new DescentError("link");
      }
      this.confirm();
      return descriptor;
    } catch (error) {
      fs.closeSync(descriptor);
      throw error;
    }
  }
}

function directoryIdentity(path: string): Identity {
  let stat: fs.BigIntStats;
  try {
    stat = fs.lstatSync(path, { bigint: true });
  } catch (error) {
    throw descentError(error);
  }
  if (stat.isSymbolicLink()) throw new DescentError("link");
  if (!stat.isDirectory()) throw new DescentError("not_directory");
  return { device: stat.dev, inode: stat.ino };
}
