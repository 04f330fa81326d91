/** Lists one directory of the workspace, bounded and without following anything. */
import type { DescentProblem, Directory, EntryFacts } from "./directory.ts";
import { isComponent, relativeComponents } from "./path.ts";
import { type PinnedRoot, problemOf, RootUnavailable } from "./root.ts";

/** One entry as the wire names it: size only for regular files. */
export interface ListedEntry {
  readonly name: string;
  readonly kind: EntryFacts["kind"];
  readonly size_bytes: number | null;
}

/** What a listing proved. `completed` only after every handle was closed. */
export type ListOutcome =
  | {
    readonly outcome: "completed";
    readonly entries: readonly ListedEntry[];
    readonly truncated: boolean;
  }
  | { readonly outcome: "rejected"; readonly code: ListRefusal }
  | { readonly outcome: "unknown" };

/** Refusals of a listing. */
export type ListRefusal =
  | "invalid_request"
  | "not_directory"
  | "permission_denied"
  | "resource_unavailable";

/**
 * Lists at most `maximumEntries` (1 to 1024) entries of the directory at `path`, the empty path
 * being the root, sorted by the UTF-8 bytes of their names. Which entries a truncated listing keeps
 * is the system's choice. Never rejects.
 */
export async function listWorkspaceDirectory(
  root: PinnedRoot,
  path: string,
  maximumEntries: number,
): Promise<ListOutcome> {
  const components = relativeComponents(path, root.rules);
  if (!components) return { outcome: "rejected", code: "invalid_request" };
  let directory: Directory;
  try {
    directory = root.descend(components);
  } catch (error) {
    return refusal(error);
  }
  let outcome: ListOutcome;
  try {
    outcome = await entriesOf(directory, maximumEntries);
  } catch (_failed) {
    outcome = { outcome: "unknown" };
  }
  try {
    directory.close();
  } catch (_failed) {
    return { outcome: "unknown" };
  }
  return outcome;
}

async function entriesOf(
  directory: Directory,
  maximumEntries: number,
): Promise<ListOutcome> {
  const names: string[] = [];
  let truncated = false;
  for await (const name of directory.names()) {
    if (names.length === maximumEntries) {
      truncated = true;
      break;
    }
    names.push(name);
  }
  // Two names that read the same are names that are not UTF-8: both decode to a replacement.
  if (
    new Set(names).size !== names.length ||
    !names.every((name) => isComponent(name, "posix"))
  ) return { outcome: "rejected", code: "invalid_request" };
  const entries: ListedEntry[] = [];
  for (const name of names) {
    try {
      const facts = directory.facts(name);
      entries.push({
        name,
        kind: facts.kind,
        size_bytes: facts.kind === "file" ? facts.sizeBytes : null,
      });
    } catch (error) {
      if (problemOf(error) === "missing" && name.includes("\ufffd")) {
        return { outcome: "rejected", code: "invalid_request" };
      }
      return { outcome: "unknown" };
    }
  }
  entries.sort((left, right) => compareUtf8(left.name, right.name));
  return { outcome: "completed", entries, truncated };
}

const encoder = new TextEncoder();

/** Orders names by their UTF-8 bytes, which differs from UTF-16 order above U+FFFF. */
export function compareUtf8(left: string, right: string): number {
  const a = encoder.encode(left);
  const b = encoder.encode(right);
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

function refusal(error: unknown): ListOutcome {
  if (error instanceof RootUnavailable) {
    return { outcome: "rejected", code: "resource_unavailable" };
  }
  const code = refusalOf(problemOf(error));
  return code ? { outcome: "rejected", code } : { outcome: "unknown" };
}

function refusalOf(problem: DescentProblem): ListRefusal | undefined {
  switch (problem) {
    case "missing":
    case "not_directory":
    case "link":
    case "not_regular":
      return "not_directory";
    case "denied":
      return "permission_denied";
    case "exists":
    case "failed":
      return undefined;
  }
}
