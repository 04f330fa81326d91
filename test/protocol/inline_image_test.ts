// The inline image profile: canonical base64, and a header of the format that the URL names.
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Decoded } from "../../src/protocol/decoded.ts";
import {
  checkInlineImageParts,
  checkInlineImages,
} from "../../src/protocol/inline_image.ts";
import {
  checkMessageInput,
  type MessageInput,
} from "../../src/protocol/message_input.ts";
import { acceptEach, refuseEach } from "./wire_rows.ts";

/** A 2x2 PNG: signature, dimensions chunk with its checksum, then nothing that matters. */
const PNG = Uint8Array.fromBase64(
  "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8DAAMIM/wEAHwAD/oyd+r4AAAAASUVORK5CYII=",
);

/** A JPEG header: start, application segment, 2x2 baseline frame of the given components. */
function jpeg(components: number, marker = 0xc0): Uint8Array {
  const frame = [8, 0, 2, 0, 2, components];
  for (let id = 1; id <= components; id++) frame.push(id, 0x11, 0);
  return new Uint8Array([
    ...[0xff, 0xd8],
    ...[0xff, 0xe0, 0, 4, 0x4a, 0x46],
    ...[0xff, 0xff, 0xdb, 0, 3, 0],
    ...[0xff, marker, 0, frame.length + 2],
    ...frame,
    ...[0xff, 0xda],
  ]);
}

/** A copy with one byte changed. */
function changed(bytes: Uint8Array, at: number, value: number): Uint8Array {
  const copy = bytes.slice();
  copy[at] = value;
  return copy;
}

const png = (bytes: Uint8Array) => `data:image/png;base64,${bytes.toBase64()}`;
const jpg = (bytes: Uint8Array) => `data:image/jpeg;base64,${bytes.toBase64()}`;

function input(image_url: string): MessageInput {
  return [
    { content: [{ type: "input_text", text: "t" }] },
    { content: [{ type: "input_image", image_url }] },
  ];
}

function decode(url: string): Decoded<true> {
  const reason = checkInlineImages(input(url));
  return reason === undefined
    ? { ok: true, value: true }
    : { ok: false, reason };
}

const LENGTHENED = `${PNG.toBase64().slice(0, 40)}\n${
  PNG.toBase64().slice(40)
}`;

const REFUSED = {
  "PNG bytes as gif": `data:image/gif;base64,${PNG.toBase64()}`,
  "PNG bytes labelled jpeg": jpg(PNG),
  "JPEG bytes labelled png": png(jpeg(3)),
  "https URL": "https://example.test/image.png",
  "file URL": "file:///private/image.png",
  "not an image": "data:image/png;base64,AA==",
  "not base64": "data:image/png;base64,!",
  "no bytes": "data:image/png;base64,",
  "no comma": "data:image/png;base64",
  "label in capitals": png(PNG).replace("image/png", "image/PNG"),
  "charset parameter": png(PNG).replace("png;", "png;charset=utf-8;"),
  "line break inside": `data:image/png;base64,${LENGTHENED}`,
  "no padding": png(PNG).replace(/=+$/, ""),
  "unused bits set": png(PNG).replace(/I=$/, "J="),
  "PNG cut inside its header": png(PNG.slice(0, 32)),
  "PNG of width zero": png(changed(PNG, 19, 0)),
  "PNG with a wrong checksum": png(changed(PNG, 32, 0)),
  "PNG of depth 3": png(changed(PNG, 24, 3)),
  "JPEG without a frame": jpg(jpeg(3).slice(0, 14)),
  "JPEG of height zero": jpg(changed(jpeg(3), 20, 0)),
  "JPEG of 2 components": jpg(jpeg(2)),
  "JPEG of an unread coding": jpg(jpeg(3, 0xc9)),
  "JPEG cut inside its frame": jpg(jpeg(3).slice(0, 24)),
};

Deno.test("inline images", async (t) => {
  await acceptEach(t, {
    "2x2 PNG": png(PNG),
    "2x2 JPEG": jpg(jpeg(3)),
    "grey JPEG": jpg(jpeg(1)),
    "progressive JPEG": jpg(jpeg(4, 0xc2)),
  }, decode);
  await refuseEach(t, REFUSED, decode);
});

Deno.test("the profile does not leak into the content rules", () => {
  for (const url of Object.values(REFUSED)) {
    assertEquals(checkMessageInput(input(url)).ok, true);
  }
});

Deno.test("text is not looked at", () => {
  const text = { type: "input_text", text: "data:image/gif;base64,AA==" };
  const content = [text as { type: "input_text"; text: string }];
  assertEquals(checkInlineImages([{ content }]), undefined);
  assertEquals(checkInlineImageParts(content), undefined);
});

Deno.test("no bytes make the header check throw, and random ones are no image", () => {
  const heads = fc.constantFrom(
    new Uint8Array(),
    PNG.slice(0, 16),
    jpeg(3).slice(0, 2),
    jpeg(3).slice(0, 8),
    new Uint8Array([0xff, 0xd8, 0xff, 0xc0]),
  );
  fc.assert(
    fc.property(heads, fc.uint8Array({ maxLength: 64 }), (head, tail) => {
      const bytes = new Uint8Array([...head, ...tail]);
      const asPng = decode(png(bytes)).ok;
      const asJpeg = decode(jpg(bytes)).ok;
      assertEquals(asPng && asJpeg, false);
      if (head.length === 0 && tail.length < 12) {
        assertEquals(asPng || asJpeg, false);
      }
    }),
    { numRuns: 1000 },
  );
});
