/** Writes the few tar blocks an export needs: regular files, POSIX pax format, nothing else. */

/** The size of a tar block in bytes. */
export const TAR_BLOCK = 512;
/** The end of an archive: two empty blocks. */
export const TAR_END: Uint8Array = new Uint8Array(2 * TAR_BLOCK);

const encoder = new TextEncoder();

/**
 * The header blocks of one regular file of `sizeBytes` bytes (below 8 GiB): mode 0600, owner and
 * time 0. A name that does not fit the plain header, or is not ASCII, gets a pax record.
 */
export function tarHeader(name: string, sizeBytes: number): Uint8Array {
  const encoded = encoder.encode(name);
  if (encoded.length <= 100 && encoded.every((byte) => byte < 0x80)) {
    return header(encoded, sizeBytes, "0");
  }
  const record = paxRecord("path", encoded);
  const padding = tarPadding(record.length);
  const blocks = [
    header(encoder.encode("pax"), record.length, "x"),
    record,
    new Uint8Array(padding),
    header(encoder.encode("long"), sizeBytes, "0"),
  ];
  const whole = new Uint8Array(
    blocks.reduce((total, block) => total + block.length, 0),
  );
  let position = 0;
  for (const block of blocks) {
    whole.set(block, position);
    position += block.length;
  }
  return whole;
}

/** Zero bytes that follow content of `sizeBytes` up to the next block. */
export function tarPadding(sizeBytes: number): number {
  return (TAR_BLOCK - (sizeBytes % TAR_BLOCK)) % TAR_BLOCK;
}

function header(
  name: Uint8Array,
  sizeBytes: number,
  type: "0" | "x",
): Uint8Array {
  const block = new Uint8Array(TAR_BLOCK);
  const put = (offset: number, text: string) =>
    block.set(encoder.encode(text), offset);
  const octal = (value: number, digits: number) =>
    value.toString(8).padStart(digits, "0");
  block.set(name, 0);
  put(100, `${octal(0o600, 7)}\0`); // mode
  put(108, `${octal(0, 7)}\0`); // user
  put(116, `${octal(0, 7)}\0`); // group
  put(124, `${octal(sizeBytes, 11)}\0`);
  put(136, `${octal(0, 11)}\0`); // time
  put(148, "        "); // the checksum counts itself as spaces
  put(156, type);
  put(257, "ustar\0" + "00");
  const sum = block.reduce((total, byte) => total + byte, 0);
  put(148, `${octal(sum, 6)}\0 `);
  return block;
}

/** A pax record counts its own length: `<length> key=value\n`. */
function paxRecord(key: string, value: Uint8Array): Uint8Array {
  const rest = encoder.encode(` ${key}=`).length + value.length + 1;
  let length = rest + String(rest).length;
  if (rest + String(length).length !== length) length++;
  const record = new Uint8Array(length);
  const start = encoder.encode(`${length} ${key}=`);
  record.set(start, 0);
  record.set(value, start.length);
  record[length - 1] = 0x0a;
  return record;
}
