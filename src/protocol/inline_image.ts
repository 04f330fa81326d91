// Owns the inline image profile: images that travel inside the text of a frame. A Harness that
// takes inline images asks here; the content rules of the wire do not.
import type { ContentPart, MessageInput } from "./message_input.ts";

/**
 * Why an image of the input is outside the profile; `undefined` when all are inside. An image is a
 * `data:` URL of a PNG or JPEG in canonical base64, whose header is that of the named format.
 */
export function checkInlineImages(input: MessageInput): string | undefined {
  for (const { content } of input) {
    const refusal = checkInlineImageParts(content);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** As {@linkcode checkInlineImages}, for the parts of a function result. */
export function checkInlineImageParts(
  parts: readonly ContentPart[],
): string | undefined {
  return parts.every((part) =>
      part.type !== "input_image" || isInlineImage(part.image_url)
    )
    ? undefined
    : "an image is not an inline PNG or JPEG";
}

function isInlineImage(url: string): boolean {
  const comma = url.indexOf(",");
  const label = url.slice(0, Math.max(comma, 0));
  switch (label) {
    case "data:image/png;base64":
      return hasHeader(url.slice(comma + 1), isPng);
    case "data:image/jpeg;base64":
      return hasHeader(url.slice(comma + 1), isJpeg);
    default:
      return false;
  }
}

function hasHeader(
  encoded: string,
  isFormat: (image: DataView) => boolean,
): boolean {
  const image = decodeCanonical(encoded);
  return image !== undefined && isFormat(new DataView(image.buffer));
}

/** Only the one spelling that encoding the bytes again gives. */
function decodeCanonical(
  encoded: string,
): Uint8Array<ArrayBuffer> | undefined {
  try {
    const decoded = Uint8Array.fromBase64(encoded);
    return decoded.toBase64() === encoded ? decoded : undefined;
  } catch {
    return undefined;
  }
}

/** Colour types of PNG with the bit depths each allows. */
const PNG_DEPTHS: ReadonlyMap<number, readonly number[]> = new Map([
  [0, [1, 2, 4, 8, 16]],
  [2, [8, 16]],
  [3, [1, 2, 4, 8]],
  [4, [8, 16]],
  [6, [8, 16]],
]);
/** Signature (8 bytes), length and name of the first chunk (8), its body (13), checksum (4). */
const PNG_HEADER_BYTES = 33;

/** Whether the bytes start with the PNG signature and a valid dimensions chunk. */
function isPng(image: DataView): boolean {
  if (image.byteLength < PNG_HEADER_BYTES) return false;
  const named = image.getUint32(0) === 0x89504e47 &&
    image.getUint32(4) === 0x0d0a1a0a && image.getUint32(8) === 13 &&
    image.getUint32(12) === 0x49484452;
  const depths = PNG_DEPTHS.get(image.getUint8(25)) ?? [];
  return named && image.getInt32(16) > 0 && image.getInt32(20) > 0 &&
    depths.includes(image.getUint8(24)) && image.getUint8(26) === 0 &&
    image.getUint8(27) === 0 && image.getUint8(28) <= 1 &&
    image.getUint32(29) === crc32(image, 12, 29);
}

/** The checksum of PNG chunks, over a range of a few bytes. */
function crc32(image: DataView, start: number, end: number): number {
  let crc = 0xffffffff;
  for (let at = start; at < end; at++) {
    crc ^= image.getUint8(at);
    for (let bit = 0; bit < 8; bit++) {
      crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    }
  }
  return (crc ^ 0xffffffff) >>> 0;
}

/** Whether the bytes start as a JPEG and its segments lead to a valid frame header. */
function isJpeg(image: DataView): boolean {
  if (image.byteLength < 4 || image.getUint16(0) !== 0xffd8) return false;
  let at = 2;
  while (at + 4 <= image.byteLength) {
    if (image.getUint8(at) !== 0xff) return false;
    const marker = image.getUint8(at + 1);
    if (marker === 0xff) {
      at++; // padding before a marker
      continue;
    }
    const length = image.getUint16(at + 2);
    if (marker >= 0xc0 && marker <= 0xc2) {
      return isFrameHeader(image, at + 4, length);
    }
    if (!isSkippable(marker) || length < 2) return false;
    at += 2 + length;
  }
  return false;
}

/** Tables, comments and application segments may precede the frame header; image data may not. */
function isSkippable(marker: number): boolean {
  return marker === 0xc4 || marker === 0xdb || marker === 0xdd ||
    marker === 0xfe || (marker >= 0xe0 && marker <= 0xef);
}

/** Precision, height, width and 1, 3 or 4 components, in a segment of exactly that size. */
function isFrameHeader(image: DataView, at: number, length: number): boolean {
  if (at + 6 > image.byteLength) return false;
  const components = image.getUint8(at + 5);
  return image.getUint8(at) === 8 && image.getUint16(at + 1) > 0 &&
    image.getUint16(at + 3) > 0 && [1, 3, 4].includes(components) &&
    length === 8 + 3 * components && at + length - 2 <= image.byteLength;
}
