/** "Did you mean": proposes a known name. It never repeats what was typed, which may be a secret. */
import { closestString, levenshteinDistance } from "@std/text";

/** The longest name that is compared; longer ones are no typing mistakes. */
const LONGEST_NAME = 40;
/** A shorter start fits too many names. */
const SHORTEST_START = 4;

/**
 * A hint that names the known name that `typed` begins, or the nearest one, or `otherwise` when
 * none is near: at most a third of its letters may differ.
 */
export function suggestion(
  typed: string,
  known: readonly string[],
  otherwise: string,
): string {
  if (known.length === 0 || typed.length > LONGEST_NAME) return otherwise;
  const begun = typed.length >= SHORTEST_START
    ? known.find((name) => name.startsWith(typed))
    : undefined;
  if (begun !== undefined) return `did you mean ${begun}?`;
  const nearest = closestString(typed, known);
  const distance = levenshteinDistance(
    typed.toLowerCase(),
    nearest.toLowerCase(),
  );
  return distance <= Math.max(1, Math.floor(nearest.length / 3))
    ? `did you mean ${nearest}?`
    : otherwise;
}
