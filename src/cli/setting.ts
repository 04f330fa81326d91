/** The shape of one setting: one value that a flag, a variable and a file member can give. */
import { z } from "zod";
import { InvalidProxy, parseProxy } from "../transport/proxy.ts";

/** A value that the operator may choose; `T` includes `undefined` when there is no default. */
export interface Setting<T> {
  /** The flag without its dashes. */
  readonly flag: string;
  readonly variable: string;
  /** The member of the configuration file, dotted; absent when a file cannot give it. */
  readonly member?: string;
  /** What stands for the value in help. */
  readonly placeholder: string;
  /** One sentence for help, manual pages and the configuration reference. */
  readonly description: string;
  /** Checks a member of the file, or the text of a flag or variable. */
  readonly schema: z.ZodType<NonNullable<T>>;
  /** The rule in words, without the value. */
  readonly rule: string;
  /** How to mend a broken rule. */
  readonly fix: string;
  /** Values offered by completion. */
  readonly choices?: readonly string[];
  /** A file or directory: relative ones are taken from the working directory on the command line. */
  readonly path?: true;
  /** May hold a password; `config show` hides it. */
  readonly confidential?: true;
  readonly initial: T;
  /** The default in words, where `initial` does not say it. */
  readonly initialText?: string;
}

/** Declares a setting without a default. */
export function optional<T>(
  parts: Omit<Setting<T>, "initial">,
): Setting<T | undefined> {
  return { ...parts, initial: undefined } as Setting<T | undefined>;
}

/** Declares a setting with a default. */
export function defaulted<T>(parts: Setting<T>): Setting<T> {
  return parts;
}

/** A canonical lower-case UUID that is not zero. */
export const canonicalUuid: z.ZodType<string> = z.string()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
  .refine((value) => !/^[0-]+$/.test(value));

/** An absolute path without `.`, `..`, doubled or trailing separators, on Unix or Windows. */
export const cleanAbsolutePath: z.ZodType<string> = z.string().max(4096)
  .refine(isCleanAbsolutePath);

/** Whether `path` is absolute and has no segment that could be left out. */
export function isCleanAbsolutePath(path: string): boolean {
  if (path.includes("\0")) return false;
  const windows = /^(?:[A-Za-z]:\\|\\\\[^\\]+\\[^\\]+)/.exec(path);
  if (windows) return areCleanSegments(path.slice(windows[0].length), "\\");
  return path.startsWith("/") && areCleanSegments(path.slice(1), "/");
}

function areCleanSegments(rest: string, separator: string): boolean {
  const text = rest.startsWith(separator) ? rest.slice(1) : rest;
  return text === "" ||
    text.split(separator).every((part) =>
      part !== "" && part !== "." && part !== ".."
    );
}

/** An http or https URL whose credentials, if any, can be read. */
export const proxyUrl: z.ZodType<string> = z.string().refine(isProxyUrl);

function isProxyUrl(text: string): boolean {
  if (!/^https?:/i.test(text) || !URL.canParse(text)) return false;
  try {
    parseProxy(text);
    return true;
  } catch (error) {
    if (!(error instanceof InvalidProxy)) throw error;
    return false;
  }
}

/** A whole number in a range, from a number or its decimal text. */
export function wholeNumber(least: number, most: number): z.ZodType<number> {
  return z.union([
    z.number().int(),
    z.string().regex(/^\d{1,9}$/).transform(Number),
  ]).refine((value) => value >= least && value <= most);
}

/** A duration such as `90s`, `2m` or `500ms`; the value is in milliseconds, at most a day. */
export const durationText: z.ZodType<number> = z.string()
  .regex(/^\d{1,8}(?:ms|s|m|h)$/).transform((text) => {
    const [, amount = "0", unit = "s"] = /^(\d+)(\D+)$/.exec(text) ?? [];
    return Number(amount) * (MILLISECONDS[unit] ?? 0);
  }).refine((value) => value <= 86_400_000);

const MILLISECONDS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** The rule that a value broke: the schema's own words where it has some. They hold no value. */
export function brokenRule(
  setting: Setting<unknown>,
  error: z.ZodError,
): string {
  const message = error.issues.find((issue) => issue.code === "custom")
    ?.message;
  return message && /^(?:must|may|is) /.test(message) ? message : setting.rule;
}

/** A setting that is one of a few words. */
export function choice<const C extends string>(
  ...choices: readonly C[]
): { schema: z.ZodType<C>; rule: string; choices: readonly C[] } {
  return {
    schema: z.enum(choices as readonly [C, ...C[]]) as unknown as z.ZodType<C>,
    rule: `must be one of ${choices.join(", ")}`,
    choices,
  };
}
