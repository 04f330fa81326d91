/**
 * Types of the `@std` functions in use. The npm build of the standard library that the import map
 * resolves to has none. One entry per function, sorted by module.
 */

declare module "@std/assert" {
  export class AssertionError extends Error {}
  export function assert(expr: unknown, msg?: string): asserts expr;
  export function assertEquals<T>(actual: T, expected: T, msg?: string): void;
  export function assertExists<T>(
    actual: T,
    msg?: string,
  ): asserts actual is NonNullable<T>;
  export function assertGreater<T>(actual: T, expected: T, msg?: string): void;
  export function assertGreaterOrEqual<T>(
    actual: T,
    expected: T,
    msg?: string,
  ): void;
  export function assertInstanceOf<T>(
    actual: unknown,
    expectedType: new (...args: never[]) => T,
    msg?: string,
  ): asserts actual is T;
  export function assertLess<T>(actual: T, expected: T, msg?: string): void;
  export function assertLessOrEqual<T>(
    actual: T,
    expected: T,
    msg?: string,
  ): void;
  export function assertMatch(
    actual: string,
    expected: RegExp,
    msg?: string,
  ): void;
  export function assertNotEquals<T>(
    actual: T,
    expected: T,
    msg?: string,
  ): void;
  export function assertNotMatch(
    actual: string,
    expected: RegExp,
    msg?: string,
  ): void;
  export function assertNotStrictEquals<T>(
    actual: T,
    expected: T,
    msg?: string,
  ): void;
  export function assertRejects<E extends Error = Error>(
    fn: () => PromiseLike<unknown>,
    errorClass: new (...args: never[]) => E,
    msgIncludes?: string,
    msg?: string,
  ): Promise<E>;
  export function assertRejects(
    fn: () => PromiseLike<unknown>,
    msg?: string,
  ): Promise<unknown>;
  export function assertStrictEquals<T>(
    actual: unknown,
    expected: T,
    msg?: string,
  ): asserts actual is T;
  export function assertStringIncludes(
    actual: string,
    expected: string,
    msg?: string,
  ): void;
  export function assertThrows<E extends Error = Error>(
    fn: () => unknown,
    errorClass: new (...args: never[]) => E,
    msgIncludes?: string,
    msg?: string,
  ): E;
  export function assertThrows(fn: () => unknown, msg?: string): unknown;
  export function fail(msg?: string): never;
  export function unreachable(msg?: string): never;
}

declare module "@std/cli" {
  export function promptSecret(
    message?: string,
    options?: { readonly mask?: string; readonly clear?: boolean },
  ): string | null;
}

declare module "@std/jsonc" {
  export function parse(text: string): unknown;
}

declare module "@std/path" {
  export function basename(path: string, suffix?: string): string;
  export function dirname(path: string): string;
  export function fromFileUrl(url: URL | string): string;
  export function isAbsolute(path: string): boolean;
  export function join(...paths: string[]): string;
  export function normalize(path: string): string;
  export function relative(from: string, to: string): string;
  export function resolve(...paths: string[]): string;
  export function toFileUrl(path: string): URL;
}

declare module "@std/text" {
  export function closestString(
    givenWord: string,
    possibleWords: readonly string[],
    options?: { readonly caseSensitive?: boolean },
  ): string;
  export function levenshteinDistance(first: string, second: string): number;
}
