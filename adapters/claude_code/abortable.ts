/** Owns waits that a caller may give up without giving up the work. */

/**
 * Waits for `work` until `signal` aborts. The abort ends the wait only.
 *
 * @throws the reason of `signal` when it aborts first.
 */
export function abortable<T>(
  work: Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  if (signal.aborted) {
    work.catch(() => {}); // its outcome belongs to whoever else waits
    return Promise.reject(signal.reason);
  }
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() =>
      signal.removeEventListener("abort", onAbort)
    );
  });
}
