// Owns how paths are spelled on the wire. Spelling only: nothing here looks at a file system, and
// what a path resolves to is the workspace's own question.
import { MAX_PATH_BYTES } from "./limits.ts";
import { fitsUtf8, hasLineBreakOrNul, isWellFormed } from "./text.ts";

const WORKSPACE = "/workspace";

/** Whether the text is `/workspace` or a clean logical path below it. */
export function isWorkspacePathOrRoot(path: string): boolean {
  return path === WORKSPACE || isWorkspacePath(path);
}

/** Whether the text is a clean logical path below `/workspace`. */
export function isWorkspacePath(path: string): boolean {
  return path.startsWith(`${WORKSPACE}/`) &&
    isRelativePath(path.slice(WORKSPACE.length + 1)) &&
    fitsUtf8(path, MAX_PATH_BYTES);
}

/** Whether the text is a workspace-relative path of plain names: the form `workspace_write` takes. */
export function isRelativePath(path: string): boolean {
  return fitsUtf8(path, MAX_PATH_BYTES) && isWellFormed(path) &&
    !path.includes("\\") && !hasLineBreakOrNul(path) && isClean(path);
}

/**
 * Whether the text spells an absolute directory on some system: Unix, a Windows drive or a UNC
 * share. One Runtime resolves only its own kind.
 */
export function isPortableAbsolutePath(path: string): boolean {
  if (!isWellFormed(path) || hasControl(path)) return false;
  if (/^[A-Za-z]:[\\/]/.test(path)) {
    const rest = slashed(path.slice(3));
    return rest === "" || isWindowsClean(rest);
  }
  if (path.startsWith("\\\\") || path.startsWith("//")) {
    const rest = slashed(path.slice(2));
    return rest.includes("/") && isWindowsClean(rest);
  }
  if (!path.startsWith("/") || path.includes("\\")) return false;
  return path === "/" || isClean(path.slice(1));
}

/** ASCII control characters only: the C1 range is allowed in a directory name. */
function hasControl(path: string): boolean {
  for (let index = 0; index < path.length; index++) {
    const unit = path.charCodeAt(index);
    if (unit < 0x20 || unit === 0x7f) return true;
  }
  return false;
}

function slashed(path: string): string {
  return path.replaceAll("\\", "/");
}

function isWindowsClean(path: string): boolean {
  return !/[:*?"<>|]/.test(path) && isClean(path);
}

/** Segments without an empty one, `.` or `..`; so no slash at either end. */
function isClean(path: string): boolean {
  return path.split("/").every((segment) =>
    segment !== "" && segment !== "." && segment !== ".."
  );
}
