/** Rejects when `signal` aborts. */
export function aborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  if (signal.aborted) reject(signal.reason);
  else {
    signal.addEventListener("abort", () => reject(signal.reason), {
      once: true,
    });
  }
  return promise;
}
