// Owns the rules for single strings: length, blankness and the spelling of identities.
import { MAX_OPERATION_ID_BYTES } from "./limits.ts";

const encoder = new TextEncoder();

/** Length in UTF-8 bytes. Every length limit of the wire counts these. */
export function utf8Bytes(text: string): number {
  return encoder.encode(text).length;
}

/** Whether the text has at most `limit` UTF-8 bytes. Encodes only when the length leaves a doubt. */
export function fitsUtf8(text: string, limit: number): boolean {
  if (text.length > limit) return false;
  return text.length * 3 <= limit || utf8Bytes(text) <= limit;
}

/** Whether the text is empty or only white space by the wire's rule. */
export function isBlank(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    if (!isSpace(text.charCodeAt(index))) return false;
  }
  return true;
}

/**
 * Whether a UTF-16 unit is white space for blankness: the Unicode White_Space set. `String.prototype.trim`
 * differs from it at U+0085, which it keeps, and at U+FEFF, which it removes.
 */
export function isSpace(unit: number): boolean {
  return (unit >= 0x0009 && unit <= 0x000d) || unit === 0x0020 ||
    unit === 0x0085 || unit === 0x00a0 || unit === 0x1680 ||
    (unit >= 0x2000 && unit <= 0x200a) || unit === 0x2028 ||
    unit === 0x2029 || unit === 0x202f || unit === 0x205f || unit === 0x3000;
}

/** Whether the text neither starts nor ends with white space, and is not empty. */
export function isTrimmed(text: string): boolean {
  return text !== "" && !isSpace(text.charCodeAt(0)) &&
    !isSpace(text.charCodeAt(text.length - 1));
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const NIL_UUID = "00000000-0000-0000-0000-000000000000";

/** Whether the text is a lower-case hyphenated UUID other than nil. Version bits are not looked at. */
export function isCanonicalUuid(text: string): boolean {
  return text.length === 36 && UUID.test(text) && text !== NIL_UUID;
}

const SHA256_HEX = /^[0-9a-f]{64}$/;

/** Whether the text is a SHA-256 digest in lower-case hexadecimal. */
export function isSha256Hex(text: string): boolean {
  return text.length === 64 && SHA256_HEX.test(text);
}

/** Whether the text can be encoded as UTF-8: it holds no lone surrogate. */
export function isWellFormed(text: string): boolean {
  return text.isWellFormed();
}

/** Whether the text contains a NUL, CR or LF. */
export function hasLineBreakOrNul(text: string): boolean {
  return /[\0\r\n]/.test(text);
}

/** Whether the text can be an operation or suspension request id: short and not empty. */
export function isOperationId(id: string): boolean {
  return id !== "" && fitsUtf8(id, MAX_OPERATION_ID_BYTES);
}
