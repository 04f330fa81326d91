/** The shape of a check of `doctor`, and how checks are printed. */

/** How a check came out. */
export type CheckResult = "ok" | "warn" | "fail" | "skip";

/** One line of `doctor`. The members of its JSON form are stable. */
export interface Check {
  /** Fixed words. */
  readonly name: string;
  readonly result: CheckResult;
  /** What was found. */
  readonly found: string;
  /** What to do; present for every `fail` and `warn`. */
  readonly remedy?: string;
}

/** A check that is in order. */
export function ok(name: string, found: string): Check {
  return { name, result: "ok", found };
}

/** A check that cannot be made, with the reason. */
export function skip(name: string, found: string): Check {
  return { name, result: "skip", found };
}

/** A check that an operator should know about. */
export function warn(name: string, found: string, remedy: string): Check {
  return { name, result: "warn", found, remedy };
}

/** A check that keeps the daemon from its work. */
export function fail(name: string, found: string, remedy: string): Check {
  return { name, result: "fail", found, remedy };
}

/** One line for people. */
export function checkLine(check: Check): string {
  const remedy = check.remedy === undefined ? "" : ` → ${check.remedy}`;
  return `${check.result.padEnd(4)}  ${check.name}: ${check.found}${remedy}`;
}
