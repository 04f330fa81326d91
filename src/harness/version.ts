/** Program versions: read from a `--version` line, compared, and judged against a range. */

/** A version as numbers; what follows them is a pre-release. */
export interface ProgramVersion {
  readonly numbers: readonly [number, number, number];
  readonly prerelease: boolean;
}

/** Versions an adapter was made for. */
export interface VersionRange {
  /** Older ones are not used. */
  readonly minimum: string;
  /** Newer ones are used with a warning and with conservative capabilities. */
  readonly newestTested: string;
}

/** How a version relates to a {@linkcode VersionRange}. */
export type VersionVerdict = "unreadable" | "too_old" | "tested" | "newer";

/** The first `x.y.z` of a line such as `codex-cli 0.171.0`, or `undefined`. */
export function readVersion(line: string): ProgramVersion | undefined {
  const match = /(?<![\d.])(\d{1,9})\.(\d{1,9})\.(\d{1,9})(-[\w.-]+)?/
    .exec(line);
  if (!match) return undefined;
  const [, major, minor, patch, prerelease] = match;
  return {
    numbers: [Number(major), Number(minor), Number(patch)],
    prerelease: prerelease !== undefined,
  };
}

/** Negative when `one` is older than `other`. A pre-release is older than its release. */
export function compareVersions(
  one: ProgramVersion,
  other: ProgramVersion,
): number {
  for (let place = 0; place < 3; place++) {
    const difference = (one.numbers[place] ?? 0) - (other.numbers[place] ?? 0);
    if (difference !== 0) return difference;
  }
  return Number(other.prerelease) - Number(one.prerelease);
}

/** Judges the version in `line`. */
export function judgeVersion(
  line: string,
  range: VersionRange,
): VersionVerdict {
  const version = readVersion(line);
  const minimum = readVersion(range.minimum);
  const newest = readVersion(range.newestTested);
  if (!version || !minimum || !newest) return "unreadable";
  if (compareVersions(version, minimum) < 0) return "too_old";
  return compareVersions(version, newest) > 0 ? "newer" : "tested";
}
