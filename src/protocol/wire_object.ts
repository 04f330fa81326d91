// Owns the presence rules: how a declared member is read when it is absent, null or zero, and when
// it is left out of what we write. Each JSON object of the wire is declared once with these pieces;
// the declaration reads and writes.
import * as z from "zod";
import type { InboundEnvelope } from "./envelope.ts";

/** A decoded wire value: the same shape, nothing of it writable. */
export type Immutable<T> = T extends Uint8Array ? T
  : T extends readonly (infer U)[] ? readonly Immutable<U>[]
  : T extends object ? { readonly [K in keyof T]: Immutable<T[K]> }
  : T;

/** The value type of a wire declaration. */
export type Wire<S extends z.ZodType> = Immutable<z.output<S>>;

/** The zero test of a member that is omitted when zero. */
const zeroTests = new WeakMap<z.ZodType, (value: unknown) => boolean>();
/** How a value of a declaration turns into JSON; declarations without one are JSON already. */
const writers = new WeakMap<z.ZodType, (value: unknown) => unknown>();

/** Whole numbers of the wire. Unsafe integers are refused rather than rounded. */
export const integer: z.ZodNumber = z.number().int();

const INT32_MAX = 2 ** 31 - 1;

/** A whole number of 32 bits. */
export const integer32: z.ZodNumber = integer.min(-INT32_MAX - 1).max(
  INT32_MAX,
);

/** A whole number that is never negative. */
export const unsigned: z.ZodNumber = integer.min(0);

/** Text that is always written; absent and null read as the empty text. */
export const text: z.ZodDefault<z.ZodString> = z.string().default("");

/** Any JSON value, carried as it is; must be present, `null` is a value. */
export const rawValue: z.ZodCustom<unknown, unknown> = z.custom<unknown>(
  (value) => value !== undefined,
);

/** A JSON object with free members, carried as it is. */
export const rawObject: z.ZodCustom<
  Record<string, unknown>,
  Record<string, unknown>
> = z.custom<Record<string, unknown>>(isJsonObject);

/** Whether a parsed JSON value is an object: neither null nor an array. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Bytes, base64 on the wire. */
export const bytes: z.ZodType<Uint8Array, string> = z.string().transform(
  (encoded, context) => {
    const decoded = decodeBase64(encoded);
    if (decoded !== undefined) return decoded;
    context.addIssue({ code: "custom", message: "not base64" });
    return z.NEVER;
  },
);
writers.set(bytes, (value) => (value as Uint8Array).toBase64());

/**
 * Padded base64. CR and LF inside are skipped and unused bits are not looked at, which is what the
 * peers of this wire accept; other white space and missing padding are refused.
 */
function decodeBase64(encoded: string): Uint8Array | undefined {
  const whole = decodeUnbroken(encoded);
  if (whole !== undefined || !/[\r\n]/.test(encoded)) return whole;
  return decodeUnbroken(encoded.replace(/[\r\n]+/g, ""));
}

/** The native decoder also takes white space and missing padding: the length gives both away. */
function decodeUnbroken(encoded: string): Uint8Array | undefined {
  const padding = encoded.endsWith("==") ? 2 : encoded.endsWith("=") ? 1 : 0;
  try {
    const decoded = Uint8Array.fromBase64(encoded);
    return decoded.length === encoded.length / 4 * 3 - padding
      ? decoded
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A member that is omitted when it is the zero of its kind. Absent, null and zero read alike: the
 * member is absent.
 */
export function omitted<S extends z.ZodType>(
  schema: S,
): z.ZodExactOptional<S> {
  const member = schema.exactOptional();
  zeroTests.set(member, zeroTestOf(schema));
  return inherit(schema, member);
}

/** A member whose absence differs from its zero value: a present zero is kept, null is absence. */
export function pointer<S extends z.ZodType>(schema: S): z.ZodExactOptional<S> {
  return inherit(schema, schema.exactOptional());
}

/** A list of a declaration. */
export function list<S extends z.ZodType>(item: S): z.ZodArray<S> {
  const schema = z.array(item);
  const write = writers.get(item);
  if (write !== undefined) {
    writers.set(schema, (value) => (value as unknown[]).map(write));
  }
  return schema;
}

/** A member that is always written and may be `null`. */
export function nullable<S extends z.ZodType>(schema: S): z.ZodNullable<S> {
  const member = schema.nullable();
  const write = writers.get(schema);
  if (write !== undefined) {
    writers.set(member, (value) => value === null ? null : write(value));
  }
  return member;
}

/** A member that is always written; absent and null read as `value`. */
export function absentAs<S extends z.ZodType>(
  schema: S,
  value: z.core.util.NoUndefined<z.output<S>>,
): z.ZodDefault<S> {
  return inherit(schema, schema.default(value));
}

/** The same declaration, with values adjusted before they are written. */
export function adjusted<S extends z.ZodType>(
  schema: S,
  adjust: (value: Wire<S>) => unknown,
): S {
  const write = writers.get(schema);
  const copy = schema.clone();
  writers.set(copy, (value) => {
    const adjustedValue = adjust(value as Wire<S>);
    return write === undefined ? adjustedValue : write(adjustedValue);
  });
  return copy;
}

/** What becomes of members that a declaration does not name. */
export type UnknownMembers = "ignored" | "rejected";

/** A JSON object of the wire. Members are written in the order of the declaration. */
export function wireObject<S extends z.ZodRawShape>(
  shape: S,
  unknownMembers: UnknownMembers = "ignored",
): z.ZodType<z.output<z.ZodObject<S>>, unknown> {
  const members = Object.entries(shape).map(([name, member]) => {
    const schema = member as z.ZodType;
    return {
      name,
      isZero: zeroTests.get(schema),
      write: writers.get(schema),
      takesNull: schema.safeParse(null).success,
    };
  });
  const schema = z.preprocess(
    (input) => withoutAbsent(input, members),
    unknownMembers === "rejected" ? z.strictObject(shape) : z.object(shape),
  );
  writers.set(schema, (value) => writeMembers(value, members));
  return schema;
}

/** The JSON form of a value of the declaration: declared members only, zeros left out. */
export function writeWire<S extends z.ZodType>(
  schema: S,
  value: Wire<S>,
): unknown {
  const write = writers.get(schema);
  return write === undefined ? value : write(value);
}

/**
 * Reads the payload of a frame. An absent payload reads as the empty object, so that body-less
 * frames pass and all others fail by their own rules.
 */
export function readPayload<S extends z.ZodType>(
  schema: S,
  envelope: InboundEnvelope,
): Wire<S> | undefined {
  return readWire(schema, envelope.payload ?? {});
}

/** Reads one JSON value; `undefined` when it does not have the declared shape. */
export function readWire<S extends z.ZodType>(
  schema: S,
  value: unknown,
): Wire<S> | undefined {
  const result = schema.safeParse(value);
  return result.success ? result.data as Wire<S> : undefined;
}

interface MemberRule {
  readonly name: string;
  readonly isZero: ((value: unknown) => boolean) | undefined;
  readonly write: ((value: unknown) => unknown) | undefined;
  readonly takesNull: boolean;
}

/** Drops what reads as absent. Copies only when there is something to drop. */
function withoutAbsent(
  input: unknown,
  members: readonly MemberRule[],
): unknown {
  if (!isJsonObject(input)) return input;
  let kept = input;
  for (const { name, isZero, takesNull } of members) {
    const value = input[name];
    if (value === undefined) continue;
    if (value === null ? takesNull : !isZero?.(value)) continue;
    if (kept === input) kept = { ...input };
    delete kept[name];
  }
  return kept;
}

function writeMembers(
  value: unknown,
  members: readonly MemberRule[],
): Record<string, unknown> {
  const object = value as Record<string, unknown>;
  const written: Record<string, unknown> = {};
  for (const { name, isZero, write } of members) {
    const member = object[name];
    if (member === undefined) continue;
    const json = write === undefined ? member : write(member);
    if (isZero?.(json)) continue;
    written[name] = json;
  }
  return written;
}

function inherit<S extends z.ZodType>(from: z.ZodType, to: S): S {
  const write = writers.get(from);
  if (write !== undefined) writers.set(to, write);
  return to;
}

/** The zero of the schema's own kind: `0` is not the zero of a text. */
function zeroTestOf(schema: z.ZodType): (value: unknown) => boolean {
  if (schema instanceof z.ZodEnum || schema.safeParse("").success) {
    return (value) => value === "";
  }
  if (schema.safeParse(0).success) return (value) => value === 0;
  if (schema.safeParse(false).success) return (value) => value === false;
  if (schema.safeParse([]).success) {
    return (value) => Array.isArray(value) && value.length === 0;
  }
  return (value) => isJsonObject(value) && isEmpty(value);
}

function isEmpty(object: Record<string, unknown>): boolean {
  for (const _ in object) return false;
  return true;
}
