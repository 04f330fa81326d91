/** Reads the beginning of one regular file of the workspace. */
import type { DescentProblem, Directory } from "./directory.ts";
import { closeFile, readUpTo } from "./file_io.ts";
import { relativeComponents } from "./path.ts";
import { type PinnedRoot, problemOf, RootUnavailable } from "./root.ts";

/** What a read proved. `completed` only after every handle was closed. */
export type ReadOutcome =
  | {
    readonly outcome: "completed";
    readonly data: Uint8Array;
    /** More than the asked bytes existed. */
    readonly truncated: boolean;
  }
  | { readonly outcome: "rejected"; readonly code: ReadRefusal }
  | { readonly outcome: "unknown" };

/** Refusals of a byte read. Nothing was read then. */
export type ReadRefusal =
  | "invalid_request"
  | "not_found"
  | "permission_denied"
  | "resource_unavailable";

/**
 * Reads at most `maximumBytes` (1 to 1 MiB) of the file at `path`. Links are refused in every
 * component, and a FIFO or device answers at once. Never rejects.
 */
export async function readWorkspaceFile(
  root: PinnedRoot,
  path: string,
  maximumBytes: number,
): Promise<ReadOutcome> {
  const components = relativeComponents(path, root.rules);
  const name = components?.at(-1);
  if (!components || name === undefined) {
    return { outcome: "rejected", code: "invalid_request" };
  }
  let directory: Directory;
  let descriptor: number;
  try {
    directory = root.descend(components.slice(0, -1));
  } catch (error) {
    return refusal(error);
  }
  try {
    descriptor = directory.openRegular(name);
  } catch (error) {
    const outcome = refusal(error);
    return closed(directory) ? outcome : { outcome: "unknown" };
  }
  const data = await contentOf(descriptor, maximumBytes);
  const isClosed = closed(directory);
  if (!data || !isClosed) return { outcome: "unknown" };
  const truncated = data.length > maximumBytes;
  return {
    outcome: "completed",
    data: truncated ? data.subarray(0, maximumBytes) : data,
    truncated,
  };
}

/** Up to one byte more than asked, or `undefined` when reading or closing failed. */
async function contentOf(
  descriptor: number,
  maximumBytes: number,
): Promise<Uint8Array | undefined> {
  let data: Uint8Array | undefined;
  try {
    data = await readUpTo(descriptor, maximumBytes + 1);
  } catch (_failed) {
    data = undefined; // the outcome is unknown; the system's text helps no peer
  }
  try {
    closeFile(descriptor);
  } catch (_failed) {
    return undefined;
  }
  return data;
}

/** Closes a directory and says whether that worked. */
function closed(directory: Directory): boolean {
  try {
    directory.close();
    return true;
  } catch (_failed) {
    return false;
  }
}

function refusal(error: unknown): ReadOutcome {
  if (error instanceof RootUnavailable) {
    return { outcome: "rejected", code: "resource_unavailable" };
  }
  const code = refusalOf(problemOf(error));
  return code ? { outcome: "rejected", code } : { outcome: "unknown" };
}

function refusalOf(problem: DescentProblem): ReadRefusal | undefined {
  switch (problem) {
    case "missing":
    case "not_directory":
      return "not_found";
    case "denied":
      return "permission_denied";
    case "link":
    case "not_regular":
      return "invalid_request";
    case "exists":
    case "failed":
      return undefined;
  }
}
