/**
 * A directory that was chosen by the operator, such as the workspace: pinned by identity when the
 * daemon starts, and opened anew for each operation. Another directory at its path is refused.
 */
import {
  DescentError,
  type Directory,
  type Identity,
  sameObject,
} from "./directory.ts";
import { openDescriptorDirectory } from "./descriptor_directory.ts";
import { openVerifiedDirectory } from "./verified_directory.ts";
import type { PathRules } from "./path.ts";

/** How directories are held on a system. */
export interface DirectoryAccess {
  readonly rules: PathRules;
  /** Opens the directory at an absolute path without links. Throws `DescentError`. */
  open(path: string): Directory;
}

/** The access that fits an operating system. */
export function directoryAccess(
  system: "linux" | "darwin" | "windows",
): DirectoryAccess {
  return {
    rules: system === "windows" ? "windows" : "posix",
    open: system === "linux" ? openDescriptorDirectory : openVerifiedDirectory,
  };
}

/** The root is not there, not a directory or not the pinned one. */
export class RootUnavailable extends Error {
  override readonly name = "RootUnavailable";
}

/** The pinned root. Holds no handle between operations. */
export class PinnedRoot {
  /** The absolute path after the operator's own links were resolved once. */
  readonly path: string;
  readonly rules: PathRules;
  readonly #access: DirectoryAccess;
  readonly #identity: Identity;

  /**
   * Pins the directory at `path`, an absolute path.
   *
   * @throws {RootUnavailable} when there is none.
   */
  constructor(path: string, access: DirectoryAccess) {
    try {
      this.path = Deno.realPathSync(path);
      const root = access.open(this.path);
      this.#identity = root.identity;
      root.close();
    } catch (error) {
      throw new RootUnavailable("the directory cannot be opened", {
        cause: error,
      });
    }
    this.#access = access;
    this.rules = access.rules;
  }

  /**
   * Opens the root for one operation.
   *
   * @throws {RootUnavailable} when it is gone or was exchanged since it was pinned.
   */
  open(): Directory {
    let root: Directory;
    try {
      root = this.#access.open(this.path);
    } catch (error) {
      throw new RootUnavailable("the directory cannot be opened", {
        cause: error,
      });
    }
    if (sameObject(root.identity, this.#identity)) return root;
    root.close();
    throw new RootUnavailable("the directory was exchanged");
  }

  /**
   * Opens the directory at `components` below the root, one component at a time. With
   * `missing: "make"` absent ones are made, and each is reported to `made` by its number of
   * components. The caller closes the result.
   *
   * @throws {RootUnavailable} as {@linkcode open}.
   * @throws {DescentError} at the first component that is no real directory.
   */
  descend(
    components: readonly string[],
    missing: "refuse" | "make" = "refuse",
    made: (depth: number) => void = () => {},
  ): Directory {
    let directory = this.open();
    for (const [index, name] of components.entries()) {
      const parent = directory;
      try {
        directory = missing === "make"
          ? parent.makeChild(name)
          : parent.child(name);
      } finally {
        parent.close();
      }
      if (directory.isNew) made(index + 1);
    }
    return directory;
  }
}

/** The kind of a descent problem, or `failed` for anything else. */
export function problemOf(error: unknown): DescentError["problem"] {
  return error instanceof DescentError ? error.problem : "failed";
}
