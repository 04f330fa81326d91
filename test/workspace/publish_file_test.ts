import { type Clock, systemClock } from "../../src/platform/clock.ts";
import { assertEquals } from "@std/assert";
import {
  publishFile,
  type PublishOutcome,
  type PublishRefusal,
} from "../../src/workspace/publish_file.ts";
import type { DirectoryAccess } from "../../src/workspace/root.ts";
import { DescentError, type Directory } from "../../src/workspace/directory.ts";
import { ACCESSES, bytes, Fixture, OUTSIDE } from "./support.ts";

const publication = (
  path: string,
  text: string,
  mode: "create" | "replace" = "create",
) => ({
  components: path.split("/"),
  chunks: [bytes(text)],
  mode,
  clock: systemClock,
  temporaryName: ".temporary-name",
});
const refusal = (reason: PublishRefusal): PublishOutcome => ({
  outcome: "rejected",
  refusal: reason,
});

for (const [how, access] of ACCESSES) {
  Deno.test(`a created file (${how}) has the exact bytes and mode 0600, and no sibling stays`, async () => {
    using fixture = new Fixture();
    const before = fixture.openDescriptors();
    const outcome = await publishFile(fixture.root(access), {
      ...publication("a/b/f.txt", ""),
      chunks: [bytes("hel"), bytes("lo")],
    });
    assertEquals(outcome, { outcome: "completed" });
    assertEquals(Deno.readTextFileSync(fixture.path("a/b/f.txt")), "hello");
    assertEquals(
      (Deno.statSync(fixture.path("a/b/f.txt")).mode ?? 0) & 0o777,
      0o600,
    );
    assertEquals((Deno.statSync(fixture.path("a/b")).mode ?? 0) & 0o777, 0o700);
    assertEquals(fixture.tree(), ["a", "a/b", "a/b/f.txt"]);
    assertEquals(fixture.openDescriptors(), before);
  });

  Deno.test(`creation (${how}) never takes the place of anything`, async () => {
    using fixture = new Fixture();
    fixture.file("file", "old");
    Deno.mkdirSync(fixture.path("folder"));
    Deno.symlinkSync(fixture.secret, fixture.path("link"));
    Deno.symlinkSync("nowhere", fixture.path("dangling"));
    const root = fixture.root(access);
    const tree = fixture.tree();
    for (
      const [path, reason] of [
        ["file", "unsafe_destination"],
        ["link", "unsafe_destination"],
        ["dangling", "unsafe_destination"],
        ["folder", "destination_directory"],
        ["file/below", "rejected"],
        ["link/below", "rejected"],
      ] as const
    ) {
      assertEquals(
        await publishFile(root, publication(path, "new")),
        refusal(reason),
        path,
      );
    }
    assertEquals(fixture.tree(), tree);
    assertEquals(Deno.readTextFileSync(fixture.path("file")), "old");
    assertEquals(Deno.readTextFileSync(fixture.secret), OUTSIDE);
  });

  Deno.test(`replacement (${how}) takes the place of a file or of a link itself, not of a directory`, async () => {
    using fixture = new Fixture();
    fixture.file("file", "old");
    Deno.mkdirSync(fixture.path("folder"));
    Deno.symlinkSync(fixture.secret, fixture.path("link"));
    const root = fixture.root(access);
    for (const path of ["file", "link", "fresh"]) {
      assertEquals(
        await publishFile(root, publication(path, "new", "replace")),
        { outcome: "completed" },
      );
      assertEquals(Deno.lstatSync(fixture.path(path)).isFile, true);
      assertEquals(Deno.readTextFileSync(fixture.path(path)), "new");
    }
    assertEquals(
      await publishFile(root, publication("folder", "new", "replace")),
      refusal("destination_directory"),
    );
    assertEquals(Deno.readTextFileSync(fixture.secret), OUTSIDE);
    assertEquals(fixture.tree(), ["file", "folder", "fresh", "link"]);
  });

  Deno.test(`a publish step whose effect cannot be seen (${how}) is unknown, never a clean refusal`, async () => {
    using fixture = new Fixture();
    for (
      const [fault, expected] of [
        ["link fails after it linked", "unknown"],
        ["link fails without effect", "rejected"],
        ["the name is another file afterwards", "unknown"],
        ["entries cannot be made durable", "unknown"],
      ] as const
    ) {
      const root = fixture.root(withFault(access, fault));
      const outcome = await publishFile(root, publication(fault, "new"));
      assertEquals(outcome.outcome, expected, fault);
    }
  });
}

for (const [how, access] of ACCESSES) {
  Deno.test(`a refused file (${how}) takes back the directories that were made for it, and only those`, async () => {
    using fixture = new Fixture();
    Deno.mkdirSync(fixture.path("own"));
    const before = fixture.openDescriptors();
    const refusing = (whenCreated: () => void): DirectoryAccess => ({
      rules: access.rules,
      open: (path) => refusingDirectory(access.open(path), whenCreated),
    });
    const write = (whenCreated: () => void) =>
      publishFile(
        fixture.root(refusing(whenCreated)),
        publication("own/new/deep/file", "text"),
      );
    assertEquals(await write(() => {}), refusal("rejected"));
    assertEquals(fixture.tree(), ["own"]);
    const outcome = await write(() =>
      fixture.file("own/new/used", "by others")
    );
    assertEquals(outcome, refusal("rejected"));
    assertEquals(fixture.tree(), ["own", "own/new", "own/new/used"]);
    assertEquals(fixture.openDescriptors(), before);
  });
}

/** A clock that waits for nothing and notes what it was asked to wait for. */
function noting(pauses: number[]): Clock {
  return {
    ...systemClock,
    after(milliseconds, callback) {
      pauses.push(milliseconds);
      queueMicrotask(callback);
      return { cancel() {} };
    },
  };
}

/** A directory whose target is held by another program for the first `refusals` renames. */
function held(
  access: DirectoryAccess,
  refusals: number,
  whenRefused: () => void,
): DirectoryAccess {
  let left = refusals;
  return {
    rules: access.rules,
    open: (path) =>
      new Proxy(access.open(path), {
        get(target, name) {
          const value = Reflect.get(target, name);
          if (typeof value !== "function") return value;
          return (...words: unknown[]) => {
            if (name === "rename" && left-- > 0) {
              whenRefused();
              throw new DescentError("denied");
            }
            return value.apply(target, words);
          };
        },
      }),
  };
}

for (const [how, access] of ACCESSES) {
  Deno.test(`a replacement (${how}) of a file that another program holds is tried again, and the file is never absent`, async () => {
    using fixture = new Fixture();
    fixture.file("file", "old");
    const present = () =>
      assertEquals(Deno.readTextFileSync(fixture.path("file")), "old");
    const pauses: number[] = [];
    const replace = (refusals: number) =>
      publishFile(fixture.root(held(access, refusals, present)), {
        ...publication("file", "new", "replace"),
        clock: noting(pauses),
      });
    assertEquals(await replace(99), refusal("rejected"));
    assertEquals(pauses, [10, 20, 40, 80, 160, 320]);
    present();
    assertEquals(fixture.tree(), ["file"]);
    pauses.length = 0;
    assertEquals(await replace(4), { outcome: "completed" });
    assertEquals(pauses, [10, 20, 40, 80]);
    assertEquals(Deno.readTextFileSync(fixture.path("file")), "new");
    assertEquals(fixture.tree(), ["file"]);
  });
}

/** A directory below which no file can be created. */
function refusingDirectory(
  inner: Directory,
  whenCreated: () => void,
): Directory {
  return new Proxy(inner, {
    get(target, name) {
      if (name === "createExclusive") {
        return () => {
          whenCreated();
          throw new DescentError("failed");
        };
      }
      const value = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...words: unknown[]) => {
        const result = value.apply(target, words);
        return name === "child" || name === "makeChild"
          ? refusingDirectory(result, whenCreated)
          : result;
      };
    },
  });
}

/** Wraps the last directory of a path so that one step goes wrong in a way a disk can. */
function withFault(access: DirectoryAccess, fault: string): DirectoryAccess {
  return {
    rules: access.rules,
    open: (path) => {
      const inner = access.open(path);
      const broken: Directory = {
        identity: inner.identity,
        isNew: inner.isNew,
        child: (name) => inner.child(name),
        makeChild: (name) => inner.makeChild(name),
        openRegular: (name) => inner.openRegular(name),
        createExclusive: (name) => inner.createExclusive(name),
        facts: (name) => inner.facts(name),
        link(from, to) {
          if (fault === "link fails without effect") {
            throw new DescentError("failed");
          }
          inner.link(from, to);
          if (fault === "link fails after it linked") {
            throw new DescentError("failed");
          }
          if (fault === "the name is another file afterwards") {
            inner.remove(to);
            Deno.writeTextFileSync(`${path}/${to}`, "someone else's");
          }
        },
        rename: (from, to) => inner.rename(from, to),
        remove: (name) => inner.remove(name),
        removeEmpty: (name) => inner.removeEmpty(name),
        names: () => inner.names(),
        sync: () =>
          fault === "entries cannot be made durable"
            ? Promise.reject(new DescentError("failed"))
            : inner.sync(),
        confirm: () => inner.confirm(),
        close: () => inner.close(),
      };
      return broken;
    },
  };
}
