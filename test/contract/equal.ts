/** Deep equality of JSON values; member order does not count. */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [Object.entries(a), Object.entries(b)];
  return left.length === right.length &&
    left.every(([name, value]) =>
      Object.hasOwn(b, name) &&
      equal(value, (b as Record<string, unknown>)[name])
    );
}
