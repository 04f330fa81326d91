/**
 * JSON messages out of a byte stream, one per line. Works on bytes, decodes only complete lines,
 * copies each byte at most twice however long its line is. Owns the incomplete line; reads nothing
 * itself.
 */

/** Output before the first message that is skipped: shells print banners. */
const NOISE_LINES = 64;
const NOISE_BYTES = 64 * 1024;
/** Lines that one message, broken by raw line feeds, may consist of. */
const BROKEN_MESSAGE_LINES = 64;

const LINE_FEED = 0x0a;
// Control sequences: titles and colours that a shell prints before the first message.
const TERMINAL_SEQUENCES =
  // deno-lint-ignore no-control-regex
  /^(?:\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\s)+/;

/** The stream cannot be followed any further. Carries a fixed sentence, never its content. */
export class BrokenStream extends Error {
  override readonly name = "BrokenStream";
}

/** Takes the bytes of a stream, gives what its lines hold. */
export interface LineReader {
  /** Lines skipped so far, empty ones included. */
  readonly skippedLines: number;
  /** Whether a message broken by a line feed waits for its rest: it should come at once. */
  readonly insideBrokenMessage: boolean;
  /**
   * Takes the next bytes and yields what they complete; take all of it before the next call.
   * `chunk` must not be changed afterwards.
   *
   * @throws {BrokenStream} when the stream cannot be followed; the reader is of no use then.
   */
  push(chunk: Uint8Array): Generator<unknown>;
  /** What the last line holds, where it has no line end. */
  end(): unknown;
}

/** Bytes of the line that has not ended yet, within a bound. */
class OpenLine {
  readonly #maximumBytes: number;
  #parts: Uint8Array[] = [];
  #bytes = 0;

  constructor(maximumBytes: number) {
    this.#maximumBytes = maximumBytes;
  }

  /** Yields each line that `chunk` completes, without its line feed; keeps the rest. */
  *complete(chunk: Uint8Array): Generator<Uint8Array> {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(LINE_FEED, start);
      this.#keep(chunk.subarray(start, end < 0 ? chunk.length : end));
      if (end < 0) return;
      start = end + 1;
      yield this.take();
    }
  }

  take(): Uint8Array {
    const line = join(this.#parts, this.#bytes);
    this.#parts = [];
    this.#bytes = 0;
    return line;
  }

  #keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#parts.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes > this.#maximumBytes) {
      throw new BrokenStream("A line is longer than its limit");
    }
  }
}

/** Lines as they are, for programs that print no messages. */
export class TextLineReader implements LineReader {
  readonly skippedLines = 0;
  readonly insideBrokenMessage = false;
  readonly #open: OpenLine;

  /** `maximumLineBytes` bounds a line. */
  constructor(maximumLineBytes: number) {
    this.#open = new OpenLine(maximumLineBytes);
  }

  /** Yields text lines without their ends; what is not UTF-8 is replaced. */
  *push(chunk: Uint8Array): Generator<string> {
    for (const line of this.#open.complete(chunk)) yield lossy(line);
  }

  /** The last line, unless it is empty. */
  end(): string | undefined {
    return lossy(this.#open.take()) || undefined;
  }
}

function lossy(line: Uint8Array): string {
  return withoutReturn(new TextDecoder().decode(line));
}

/**
 * Takes chunks, gives messages. A message is a line that holds a JSON object. Other lines are
 * noise: counted, and skipped up to 64 lines or 64 KiB in a row. After the first message, a line
 * that starts like an object and is none ends the stream with {@linkcode BrokenStream}, with one
 * exception: where the line breaks off inside a string, its producer may have written a raw line
 * feed there. Then it is joined with the following lines, the feed restored, until they are an
 * object; a following line that is an object by itself proves that the first was cut, and ends
 * the stream.
 */
export class JsonLineReader implements LineReader {
  readonly #maximumLineBytes: number;
  readonly #open: OpenLine;
  #started = false;
  #broken = "";
  #brokenLines = 0;
  #noiseLines = 0;
  #noiseBytes = 0;
  #skippedLines = 0;

  /**
   * `maximumLineBytes` bounds a line, and a message joined from several. A whole line is parsed at
   * once, and nothing else happens meanwhile: about 0.1 s for 24 MB of a history, up to 0.7 s for
   * 32 MiB of nothing but the smallest objects.
   */
  constructor(maximumLineBytes: number) {
    this.#maximumLineBytes = maximumLineBytes;
    this.#open = new OpenLine(maximumLineBytes);
  }

  get skippedLines(): number {
    return this.#skippedLines;
  }

  get insideBrokenMessage(): boolean {
    return this.#broken !== "";
  }

  /** Yields the messages that `chunk` completes. */
  *push(chunk: Uint8Array): Generator<object> {
    for (const line of this.#open.complete(chunk)) {
      const message = this.#line({ text: decode(line), bytes: line.length });
      if (message) yield message;
    }
  }

  /**
   * The message in a last line without line end, if it is whole. A cut one is dropped: whoever
   * wrote it is gone, which its owner learns in another way.
   */
  end(): object | undefined {
    return parseObject(decode(this.#open.take())?.trim() ?? "");
  }

  #line(line: { text: string | undefined; bytes: number }): object | undefined {
    if (line.text === undefined) return this.#noise(line.bytes, true);
    if (this.#broken) return this.#continue(line.text);
    const text =
      (this.#started ? line.text : line.text.replace(TERMINAL_SEQUENCES, ""))
        .trim();
    if (!text.startsWith("{")) return this.#noise(line.bytes, false);
    const message = parseObject(text);
    if (message) return this.#deliver(message);
    if (!this.#started) return this.#noise(line.bytes, false);
    if (!endsInsideString(text)) throw malformed();
    this.#broken = line.text;
    this.#brokenLines = 1;
    return undefined;
  }

  #continue(text: string): object | undefined {
    const joined = `${withoutReturn(this.#broken)}\\n${text}`;
    const message = parseObject(joined);
    if (message) {
      this.#broken = "";
      return this.#deliver(message);
    }
    // Inside a string every quote is escaped, so a part of one is never an object with members.
    const own = parseObject(text.trim());
    if (own && Object.keys(own).length > 0) throw malformed();
    this.#brokenLines += 1;
    if (
      !endsInsideString(joined) || this.#brokenLines > BROKEN_MESSAGE_LINES ||
      joined.length > this.#maximumLineBytes
    ) throw malformed();
    this.#broken = joined;
    return undefined;
  }

  #deliver(message: object): object {
    this.#started = true;
    this.#noiseLines = 0;
    this.#noiseBytes = 0;
    return message;
  }

  #noise(bytes: number, undecodable: boolean): undefined {
    if (undecodable && this.#started) {
      throw new BrokenStream("A line is not UTF-8");
    }
    this.#skippedLines += 1;
    this.#noiseLines += 1;
    this.#noiseBytes += bytes;
    if (this.#noiseLines > NOISE_LINES || this.#noiseBytes > NOISE_BYTES) {
      throw new BrokenStream("Too much output that is no message");
    }
  }
}

function malformed(): BrokenStream {
  return new BrokenStream("A line starts like a message and is none");
}

function join(parts: readonly Uint8Array[], bytes: number): Uint8Array {
  const [only] = parts;
  if (parts.length === 1 && only) return only;
  const line = new Uint8Array(bytes);
  let offset = 0;
  for (const part of parts) {
    line.set(part, offset);
    offset += part.length;
  }
  return line;
}

/** A whole line as text, or `undefined` where it is not UTF-8: nothing is replaced silently. */
function decode(line: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(line);
  } catch {
    return undefined;
  }
}

function parseObject(text: string): object | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function withoutReturn(text: string): string {
  return text.endsWith("\r") ? text.slice(0, -1) : text;
}

/** Whether JSON text breaks off between the quotes of a string. */
function endsInsideString(text: string): boolean {
  let inside = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (inside && character === "\\") index += 1;
    else if (character === '"') inside = !inside;
  }
  return inside;
}
