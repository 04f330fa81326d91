/**
 * Owns the versions of Claude Code this adapter was measured on. Older programs lack frames that
 * receipts rest on; newer ones work until a frame says otherwise, with fewer claims.
 */

/** The oldest served version. */
export const MINIMUM_VERSION = "2.1.332";
/** The newest version that the native tests ran on. */
export const NEWEST_TESTED_VERSION = "2.1.332";

/** How a version stands to the measured range. */
export type VersionVerdict = "too_old" | "tested" | "newer" | "unreadable";

/** Judges a version such as `2.1.332`. */
export function judgeVersion(version: string): VersionVerdict {
  const parsed = parse(version);
  if (!parsed) return "unreadable";
  if (compare(parsed, parse(MINIMUM_VERSION) ?? []) < 0) return "too_old";
  return compare(parsed, parse(NEWEST_TESTED_VERSION) ?? []) > 0
    ? "newer"
    : "tested";
}

function parse(version: string): readonly number[] | undefined {
  const match = /^(\d{1,6})\.(\d{1,6})\.(\d{1,6})$/.exec(version);
  return match ? match.slice(1).map(Number) : undefined;
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (const [index, part] of a.entries()) {
    const difference = part - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
