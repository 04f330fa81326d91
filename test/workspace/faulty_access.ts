/** Real directories of which single operations fail or wait, as a broken disk or a dead mount would. */
import type { Directory } from "../../src/workspace/directory.ts";
import {
  type DirectoryAccess,
  directoryAccess,
} from "../../src/workspace/root.ts";

/** Operations that take the place of the real ones; each gets the real directory first. */
export type Faults = {
  readonly [Name in keyof Directory]?: Directory[Name] extends
    (...words: infer Words) => infer Result
    ? (real: Directory, ...words: Words) => Result
    : never;
};

/** An access whose directories, the root's children included, have these faults. */
export function faultyAccess(faults: Faults): DirectoryAccess {
  const access = directoryAccess("linux");
  return { ...access, open: (path) => faulty(access.open(path), faults) };
}

function faulty(real: Directory, faults: Faults): Directory {
  return new Proxy(real, {
    get(target, name) {
      const fault = Reflect.get(faults, name);
      if (typeof fault === "function") {
        return (...words: unknown[]) => fault(target, ...words);
      }
      const value = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...words: unknown[]) => {
        const result = value.apply(target, words);
        return name === "child" || name === "makeChild"
          ? faulty(result, faults)
          : result;
      };
    },
  });
}
