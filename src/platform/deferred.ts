/** A promise with its two ends in one object: the waiting points of owners are of this shape. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  /** True once resolved or rejected. */
  readonly settled: boolean;
  /** Settles once; later calls change nothing. */
  resolve(value: T): void;
  /** Settles once; later calls change nothing. */
  reject(reason: unknown): void;
}

/**
 * Creates a pending {@linkcode Deferred}. Its rejection counts as handled: a waiting point that
 * nobody waits on must not end the process.
 */
export function deferred<T = void>(): Deferred<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  promise.catch(() => {}); // the owner reads the outcome; an unread one is not a fault
  let settled = false;
  return {
    promise,
    get settled() {
      return settled;
    },
    resolve(value) {
      settled = true;
      resolve(value);
    },
    reject(reason) {
      settled = true;
      reject(reason);
    },
  };
}
