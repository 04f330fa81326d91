/** What an adapter finds when a person asks it to look closer than discovery does. */

/** One thing that a closer look found. */
export interface Finding {
  /** A short fixed word, such as `schema`. */
  readonly subject: string;
  /** `skip`: was not looked at, `found` says why. */
  readonly result: "ok" | "warn" | "skip";
  /** One line; never a secret and never text of a peer. */
  readonly found: string;
  /** What to do; present for `warn`. */
  readonly remedy?: string;
}

/**
 * Whether this account has a login of its own, judged by the existence of any of `files` alone:
 * none is opened. Whether it still works would cost a request and is not looked at.
 */
export async function loginFinding(files: readonly string[]): Promise<Finding> {
  const there = await Promise.all(files.map(isFile));
  return there.includes(true)
    ? {
      subject: "login",
      result: "ok",
      found: "present on this account; whether it works is not checked",
    }
    : {
      subject: "login",
      result: "skip",
      found:
        "none on this account; only `try` without --demo needs one, and a provider that Core sends is not checked",
    };
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch {
    return false; // not there, or not readable for us
  }
}
