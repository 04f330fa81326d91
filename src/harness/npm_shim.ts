/**
 * The script or program behind a `.cmd` file that npm made for Windows. Such a file can only be
 * run by a shell, which would read the arguments as its own language; its target can be run
 * directly.
 */

/** The target of a shim. */
export interface ShimTarget {
  /** Relative to the directory of the shim, with backslashes. */
  readonly path: string;
  /** Whether it needs `node`. */
  readonly script: boolean;
}

/** The one target that the text of a shim names, or `undefined` for any other batch file. */
export function readShim(text: string): ShimTarget | undefined {
  const targets = new Set<string>();
  for (const match of text.matchAll(/"%(?:~dp0|dp0%)\\([^"%]+)"/g)) {
    const path = match[1] ?? "";
    if (path.toLowerCase() !== "node.exe") targets.add(path);
  }
  const [path] = targets;
  if (targets.size !== 1 || path === undefined) return undefined;
  if (/\.exe$/i.test(path)) return { path, script: false };
  return /\.[cm]?js$/i.test(path) ? { path, script: true } : undefined;
}
