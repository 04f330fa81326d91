// Owns what `JSON.parse` forgets: the source text of a member, its size in bytes, repeated members
// and exact number spellings. The scanner is linear, keeps no recursion, and trusts that the text
// has been parsed: it is used only for the frame types that need it.
import type { InboundEnvelope } from "./envelope.ts";
import { fitsUtf8 } from "./text.ts";

/** A part of a source text: `start` inclusive, `end` exclusive, in UTF-16 units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Whether the payload as received has at most `limit` UTF-8 bytes. A small frame is decided without
 * a scan.
 */
export function payloadFits(envelope: InboundEnvelope, limit: number): boolean {
  if (fitsUtf8(envelope.source, limit)) return true;
  const payload = rawMember(envelope.source, ["payload"]);
  return payload === undefined || fitsUtf8(payload, limit);
}

/** The exact text of a member, found by its path of member names; `undefined` when it is not there. */
export function rawMember(
  source: string,
  path: readonly string[],
): string | undefined {
  let span: Span | undefined = valueSpan(source, 0);
  for (const name of path) {
    span = memberSpan(source, span, name);
    if (span === undefined) return undefined;
  }
  return source.slice(span.start, span.end);
}

/** The span of the JSON value at or after `from`, without the white space around it. */
export function valueSpan(source: string, from: number): Span {
  const start = skipSpace(source, from);
  return { start, end: skipValue(source, start) };
}

/** The spans of an array's items; none when the value is not an array. */
export function itemSpans(source: string, array: Span): Span[] {
  const spans: Span[] = [];
  if (source[array.start] !== "[") return spans;
  let at = skipSpace(source, array.start + 1);
  while (at < array.end - 1) {
    const item = valueSpan(source, at);
    spans.push(item);
    at = skipSpace(source, skipSpace(source, item.end) + 1);
  }
  return spans;
}

/** The value of a member of the object at `object`. A repeated member counts with its last value. */
export function memberSpan(
  source: string,
  object: Span,
  name: string,
): Span | undefined {
  if (source[object.start] !== "{") return undefined;
  let found: Span | undefined;
  let at = skipSpace(source, object.start + 1);
  while (at < object.end - 1) {
    const nameEnd = skipString(source, at);
    const value = valueSpan(source, skipSpace(source, nameEnd) + 1);
    if (memberName(source, at, nameEnd) === name) found = value;
    at = skipSpace(source, skipSpace(source, value.end) + 1);
  }
  return found;
}

/** Whether any object inside the JSON text names a member twice. */
export function hasRepeatedMember(text: string): boolean {
  // One entry per open container: the names of an object so far, or `undefined` for an array.
  const open: (Set<string> | undefined)[] = [];
  let at = 0;
  while (at < text.length) {
    switch (text[at]) {
      case "{":
        open.push(new Set());
        at++;
        break;
      case "[":
        open.push(undefined);
        at++;
        break;
      case "}":
      case "]":
        open.pop();
        at++;
        break;
      case '"': {
        const end = skipString(text, at);
        const names = open.at(-1);
        if (names !== undefined && text[skipSpace(text, end)] === ":") {
          const name = memberName(text, at, end);
          if (names.has(name)) return true;
          names.add(name);
        }
        at = end;
        break;
      }
      default:
        at++;
    }
  }
  return false;
}

/** Every number of the JSON text as it is spelled, in order. */
export function* numberTokens(text: string): Generator<string> {
  let at = 0;
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    if (unit === 0x22) {
      at = skipString(text, at);
    } else if (unit === 0x2d || (unit >= 0x30 && unit <= 0x39)) {
      const end = skipValue(text, at);
      yield text.slice(at, end);
      at = end;
    } else {
      at++;
    }
  }
}

function memberName(source: string, start: number, end: number): string {
  const token = source.slice(start, end);
  return token.includes("\\")
    ? JSON.parse(token) as string
    : token.slice(1, -1);
}

/** The end of the value that starts at `start`. */
function skipValue(source: string, start: number): number {
  const first = source[start];
  if (first === '"') return skipString(source, start);
  if (first === "{" || first === "[") return skipContainer(source, start);
  let at = start;
  while (at < source.length && !isDelimiter(source.charCodeAt(at))) at++;
  return at;
}

function skipContainer(source: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < source.length) {
    const unit = source.charCodeAt(at);
    if (unit === 0x22) {
      at = skipString(source, at);
      continue;
    }
    at++;
    if (unit === 0x7b || unit === 0x5b) depth++;
    else if ((unit === 0x7d || unit === 0x5d) && --depth === 0) return at;
  }
  return at;
}

/** The position after the closing quote: the first one with an even number of backslashes before. */
function skipString(source: string, start: number): number {
  let quote = source.indexOf('"', start + 1);
  while (quote !== -1) {
    let backslashes = 0;
    while (source.charCodeAt(quote - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
    quote = source.indexOf('"', quote + 1);
  }
  return source.length;
}

function skipSpace(source: string, from: number): number {
  let at = from;
  while (isJsonSpace(source.charCodeAt(at))) at++;
  return at;
}

function isJsonSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
}

/** What ends a number or a literal: white space, comma, or a closing bracket. */
function isDelimiter(unit: number): boolean {
  return isJsonSpace(unit) || unit === 0x2c || unit === 0x7d || unit === 0x5d;
}
