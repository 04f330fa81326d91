/** One log event as one line: JSON for programs, text for people. Bounded, escaped, redacted. */
import { escapeControls, type Redactor } from "./redaction.ts";

/** The levels, from least to most urgent. */
export type LogLevelName = "debug" | "info" | "warn" | "error";

/** One event before it becomes a line. */
export interface LogEntry {
  /** Unix milliseconds. */
  readonly at: number;
  readonly level: LogLevelName;
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The longest text of one field in characters; the rest is cut with a mark. */
const LONGEST_FIELD = 2_048;
/** The longest line in characters. */
const LONGEST_LINE = 16_384;
/** How many causes of an error are kept. */
const MOST_CAUSES = 5;

/** The event as one JSON line with the members time, level, event and its fields. */
export function jsonLine(entry: LogEntry, redactor: Redactor): string {
  const fields = Object.fromEntries(
    Object.entries(entry.fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [
        clean(name, redactor),
        plain(value, redactor, 0),
      ]),
  );
  const line = JSON.stringify({
    time: new Date(entry.at).toISOString(),
    level: entry.level,
    event: clean(entry.event, redactor),
    ...fields,
  });
  if (line.length <= LONGEST_LINE) return line;
  return JSON.stringify({
    time: new Date(entry.at).toISOString(),
    level: entry.level,
    event: clean(entry.event, redactor),
    cut: line.length,
  });
}

/** The event as one text line: time, level, event and `name=value` pairs. */
export function textLine(entry: LogEntry, redactor: Redactor): string {
  const pairs = Object.entries(entry.fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) =>
      `${clean(name, redactor)}=${textValue(plain(value, redactor, 0))}`
    );
  const time = new Date(entry.at).toISOString();
  const level = entry.level.toUpperCase().padEnd(5);
  const event = clean(entry.event, redactor);
  return cut([time, level, event, ...pairs].join(" "), LONGEST_LINE);
}

function textValue(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text);
}

/** A value that JSON can hold. An error keeps name, message, stack and causes. */
function plain(value: unknown, redactor: Redactor, depth: number): unknown {
  if (typeof value === "string") return clean(value, redactor);
  if (value instanceof Error) return plainError(value, redactor, depth);
  if (Array.isArray(value)) {
    return value.slice(0, 64).map((each) => plain(each, redactor, depth));
  }
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (value === null || value === undefined) return null;
  return clean(String(value), redactor);
}

function plainError(
  error: Error,
  redactor: Redactor,
  depth: number,
): Record<string, unknown> {
  const frames = (error.stack ?? "").split("\n")
    .filter((line) => line.trimStart().startsWith("at ")).slice(0, 8)
    .map((line) => clean(line.trim(), redactor));
  return {
    name: clean(error.name, redactor),
    message: clean(error.message, redactor),
    ...(frames.length > 0 ? { stack: frames } : {}),
    ...(error.cause !== undefined && depth < MOST_CAUSES
      ? { cause: plain(error.cause, redactor, depth + 1) }
      : {}),
  };
}

/** Redacts before cutting: a secret must not survive as a half. */
function clean(text: string, redactor: Redactor): string {
  return cut(escapeControls(redactor.redact(text)), LONGEST_FIELD);
}

function cut(text: string, longest: number): string {
  return text.length <= longest
    ? text
    : `${text.slice(0, longest)}…(${text.length - longest} more)`;
}
