/**
 * The inline image profile: a canonical base64 `data:` URL whose bytes are what its label says.
 * Only the header is read; nothing is decoded, rewritten or fetched.
 */
import type { ContentPart } from "../../src/protocol/message_input.ts";

const PREFIX = /^data:image\/(png|jpeg);base64,/;

/** Whether every image part fits the profile; text parts are not looked at. */
export function imagesAreInline(parts: readonly ContentPart[]): boolean {
  return parts.every((part) =>
    part.type === "input_text" || isInlineImage(part.image_url)
  );
}

function isInlineImage(url: string): boolean {
  const label = PREFIX.exec(url);
  if (!label) return false;
  const bytes = decodeCanonical(url.slice(label[0].length));
  if (!bytes) return false;
  return label[1] === "png" ? isPng(bytes) : isJpeg(bytes);
}

/** Strict base64: padded, no white space, unused bits zero. */
function decodeCanonical(text: string): Uint8Array | undefined {
  try {
    const bytes = Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
    return bytes.toBase64() === text ? bytes : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const PNG_SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const HEADER_TYPE = [0x49, 0x48, 0x44, 0x52];

/** Signature, then a header chunk of 13 bytes with dimensions that are not zero. */
function isPng(bytes: Uint8Array): boolean {
  if (bytes.length < 33) return false;
  if (!PNG_SIGNATURE.every((byte, at) => bytes[at] === byte)) return false;
  if (!HEADER_TYPE.every((byte, at) => bytes[12 + at] === byte)) return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return view.getUint32(8) === 13 && view.getUint32(16) > 0 &&
    view.getUint32(20) > 0;
}

/** Walks the segments to the frame header, which holds the dimensions. */
function isJpeg(bytes: Uint8Array): boolean {
  if (bytes[0] !== 0xff || bytes[1] !== 0xd8) return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 2;
  while (at + 4 <= bytes.length) {
    if (bytes[at] !== 0xff) return false;
    const marker = bytes[at + 1] ?? 0;
    if (marker === 0xff) {
      at++; // fill bytes may precede a marker
      continue;
    }
    const length = view.getUint16(at + 2);
    if (length < 2) return false;
    if (isFrameHeader(marker)) {
      return at + 9 <= bytes.length && view.getUint16(at + 5) > 0 &&
        view.getUint16(at + 7) > 0;
    }
    at += 2 + length;
  }
  return false;
}

/** Start of frame, without the three codes in its range that are tables. */
function isFrameHeader(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 &&
    marker !== 0xc8 && marker !== 0xcc;
}
