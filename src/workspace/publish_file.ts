/**
 * Puts one complete file into the workspace: a temporary sibling, made exclusively, written and
 * synced, then given its final name in one step. Until that step nothing of the target changed, and
 * a refusal leaves nothing behind, directories included.
 */
import { RENAME_PAUSES } from "../platform/atomic_file.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import {
  codeOf,
  DescentError,
  type Directory,
  type Identity,
  sameObject,
} from "./directory.ts";
import { closeFile, syncFile, writeAll } from "./file_io.ts";
import { type PinnedRoot, problemOf, RootUnavailable } from "./root.ts";
import * as fs from "node:fs";

/** What a publication proved. `rejected` means that the target is as before. */
export type PublishOutcome =
  | { readonly outcome: "completed" }
  | { readonly outcome: "rejected"; readonly refusal: PublishRefusal }
  | { readonly outcome: "unknown" };

/** Why nothing was published. */
export type PublishRefusal =
  | "resource_unavailable"
  | "destination_directory"
  | "unsafe_destination"
  | "rejected";

/** The file to publish. */
export interface Publication {
  /** Where, below the root; not empty. Missing parents are made (0700). */
  readonly components: readonly string[];
  readonly chunks: Iterable<Uint8Array>;
  /** `create` refuses any existing entry; `replace` takes the place of a file or link. */
  readonly mode: "create" | "replace";
  /** Times the attempts at a target that another program holds. */
  readonly clock: Clock;
  /** A name that no one can guess, one component, for the temporary sibling. */
  readonly temporaryName: string;
}

/** Publishes one file, mode 0600. Never rejects. */
export async function publishFile(
  root: PinnedRoot,
  publication: Publication,
): Promise<PublishOutcome> {
  const name = publication.components.at(-1);
  if (name === undefined) return rejected("rejected");
  const parents = publication.components.slice(0, -1);
  const made: number[] = [];
  const outcome = await publishBelow(root, parents, made, publication, name);
  if (outcome.outcome !== "rejected") return outcome;
  for (const depth of made.reverse()) {
    if (!undone(root, parents.slice(0, depth))) break;
  }
  return outcome;
}

async function publishBelow(
  root: PinnedRoot,
  parents: readonly string[],
  made: number[],
  publication: Publication,
  name: string,
): Promise<PublishOutcome> {
  let directory: Directory;
  try {
    directory = root.descend(parents, "make", (depth) => made.push(depth));
  } catch (error) {
    return rejected(
      error instanceof RootUnavailable ? "resource_unavailable" : "rejected",
    );
  }
  const outcome = await publishIn(directory, name, publication);
  try {
    directory.close();
  } catch (_failed) {
    return { outcome: "unknown" };
  }
  return outcome;
}

/** Removes a directory that was made for a refused file. One that is in use meanwhile stays. */
function undone(root: PinnedRoot, components: readonly string[]): boolean {
  try {
    const parent = root.descend(components.slice(0, -1));
    try {
      parent.removeEmpty(components.at(-1) ?? "");
    } finally {
      parent.close();
    }
    return true;
  } catch (_inUse) {
    return false;
  }
}

async function publishIn(
  directory: Directory,
  name: string,
  publication: Publication,
): Promise<PublishOutcome> {
  const occupied = occupant(directory, name);
  if (occupied === "unreadable") return rejected("rejected");
  const early = refusalFor(occupied, publication.mode);
  if (early) return rejected(early);
  const { temporaryName } = publication;
  const written = await writeTemporary(directory, publication);
  if (!written) return rejected("rejected");
  const outcome = await placePatiently(directory, name, written, publication);
  if (publication.mode === "create" || outcome.outcome !== "completed") {
    discard(directory, temporaryName);
  }
  if (outcome.outcome !== "completed") return outcome;
  try {
    await directory.sync();
    return outcome;
  } catch (_failed) {
    return { outcome: "unknown" }; // it is there, but a power cut might undo it
  }
}

/** Writes and syncs the temporary sibling; `undefined` when that failed and it was removed. */
async function writeTemporary(
  directory: Directory,
  publication: Publication,
): Promise<Identity | undefined> {
  let descriptor: number;
  try {
    descriptor = directory.createExclusive(publication.temporaryName);
  } catch (_failed) {
    return undefined;
  }
  let identity: Identity | undefined;
  try {
    for (const chunk of publication.chunks) await writeAll(descriptor, chunk);
    await syncFile(descriptor);
    const stat = fs.fstatSync(descriptor, { bigint: true });
    identity = { device: stat.dev, inode: stat.ino };
  } catch (_failed) {
    identity = undefined;
  }
  try {
    closeFile(descriptor);
  } catch (_failed) {
    identity = undefined; // a full disk may show itself only here
  }
  if (!identity) discard(directory, publication.temporaryName);
  return identity;
}

/**
 * Places the file. A replacement that is refused because another program holds the target is tried
 * again for about 600 ms, the old file staying in place meanwhile.
 */
async function placePatiently(
  directory: Directory,
  name: string,
  written: Identity,
  publication: Publication,
): Promise<PublishOutcome> {
  const { clock, mode, temporaryName } = publication;
  for (const pause of mode === "replace" ? RENAME_PAUSES : []) {
    const placed = place(directory, temporaryName, name, written, publication);
    if (placed !== "held") return placed;
    await sleep(clock, pause);
  }
  const placed = place(directory, temporaryName, name, written, publication);
  return placed === "held" ? rejected("rejected") : placed;
}

/** Gives the written file its name and confirms that the name now is this file. */
function place(
  directory: Directory,
  temporaryName: string,
  name: string,
  written: Identity,
  publication: Publication,
): PublishOutcome | "held" {
  try {
    if (publication.mode === "create") directory.link(temporaryName, name);
    else directory.rename(temporaryName, name);
  } catch (error) {
    const now = occupant(directory, name);
    if (now === "unreadable" || isFile(now, written)) {
      return { outcome: "unknown" };
    }
    if (publication.mode === "replace" && isHeldElsewhere(error)) return "held";
    const refusal =
      problemOf(error) === "exists" || publication.mode === "replace"
        ? refusalFor(now, publication.mode)
        : undefined;
    return rejected(refusal ?? "rejected");
  }
  return isFile(occupant(directory, name), written)
    ? { outcome: "completed" }
    : { outcome: "unknown" };
}

/** Windows refuses to replace a file that another program has open. */
function isHeldElsewhere(error: unknown): boolean {
  return error instanceof DescentError &&
    (error.problem === "denied" || codeOf(error.cause) === "EBUSY");
}

type Occupant = ReturnType<Directory["facts"]> | "free" | "unreadable";

function occupant(directory: Directory, name: string): Occupant {
  try {
    return directory.facts(name);
  } catch (error) {
    return error instanceof DescentError && error.problem === "missing"
      ? "free"
      : "unreadable";
  }
}

function isFile(occupied: Occupant, written: Identity): boolean {
  return typeof occupied === "object" && occupied.kind === "file" &&
    sameObject(occupied, written);
}

function refusalFor(
  occupied: Occupant,
  mode: Publication["mode"],
): PublishRefusal | undefined {
  if (typeof occupied !== "object") return undefined;
  if (occupied.kind === "directory") return "destination_directory";
  return mode === "create" ? "unsafe_destination" : undefined;
}

/** Removes the temporary name. A failure leaves a dot file behind and changes no outcome. */
function discard(directory: Directory, temporaryName: string): void {
  try {
    directory.remove(temporaryName);
  } catch (_failed) {
    return;
  }
}

function rejected(refusal: PublishRefusal): PublishOutcome {
  return { outcome: "rejected", refusal };
}
